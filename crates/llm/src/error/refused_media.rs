//! Recognises that a provider refuses pictures and other media. Many servers report that as their own failure
//! (500), within a 200, or only with a code; but the same request fails every time.
//!
//! Sources of the codes: OpenAI's Responses name them in the `response.failed` of a stream
//! (<https://openrouter.ai/docs/client-sdks/typescript/models/code>). Sources of the words: llama.cpp answers
//! 500 ("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
//! <https://github.com/ggml-org/llama.cpp/issues/13566>) and, like Ollama, "Failed to load image or audio
//! file" if it cannot read a picture; Ollama 500 ("missing data required for image input"; "Failed to process
//! inputs: image: unknown format", <https://github.com/ollama/ollama/issues/11320>); LM Studio ("Vision model
//! is not loaded. Cannot process images.", <https://github.com/lmstudio-ai/lms/issues/53>; "Model does not
//! support images", <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/908>; with MLX, in a 200,
//! "Vision add-on is not loaded, but images were provided for processing"); OpenRouter 404 ("No endpoints
//! found that support image input"); vLLM ("… is not a multimodal model").
//!
//! Most servers limit the number of pictures in one request. Then the number is refused, and no single
//! picture is at fault: vLLM ("At most 1 image(s) may be provided in one request.",
//! <https://github.com/vllm-project/vllm/issues/13397>), Groq ("Too many images provided. This model supports
//! up to 5 images"), Azure ("Too many images in request. Max is 10.",
//! <https://github.com/the-open-agent/openagent/issues/874>), Anthropic ("too many images and
//! documents: 120 + 0 > 100", "Too much media: 0 document pages + 107 images > 100",
//! <https://github.com/anthropics/claude-code/issues/24541>), Meta ("request contains 52 images, exceeding
//! the maximum of 50 allowed per request", <https://github.com/anomalyco/opencode/issues/47721>), Fireworks
//! ("we currently limit the number of images per conversation to 60"), DeepInfra ("Too many images in
//! request: 11 > 8"), DashScope ("Exceeded limit on max data-uri per request: 250"; these three
//! <https://github.com/NousResearch/hermes-agent/pull/104914>), New API (500 "too many images in the message,
//! max allowed is 16", <https://github.com/QuantumNous/new-api/issues/1233>).

use super::Extracted;

/// Codes, in lower case. `image_content_policy_violation` is a matter of a filter: see `classify`.
const CODES: &[&str] = &[
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "invalid_image_mode",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_file_too_large",
    "image_file_not_found",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
];

/// Pieces of a message, in lower case.
const PHRASES: &[&str] = &[
    "image input is not supported",
    "data required for image input",
    "support image input",
    "does not support images",
    "vision add-on is not loaded",
    "vision model is not loaded",
    "is not a multimodal model",
    "image: unknown format",
    "failed to load image",
    "could not process image",
];

/// Returns whether pictures are refused, with any status. `message` is in lower case.
pub(super) fn is_media_refusal(said: &Extracted, message: &str) -> bool {
    said.words.iter().any(|word| CODES.contains(&word.as_str()))
        || PHRASES.iter().any(|phrase| message.contains(phrase))
}

/// Returns whether it is the number of pictures that is refused; `message` is in lower case.
pub(super) fn is_their_number(message: &str) -> bool {
    const MEDIA: &[&str] = &["image", "picture", "media", "data-uri"];
    const NUMBERS: &[&str] = &[
        "too many images",
        "too many pictures",
        "too much media",
        "number of images",
        "max data-uri",
        "images, exceeding the maximum of",
        "images were provided, but",
        "images provided, but",
    ];
    let has = |pieces: &[&str]| pieces.iter().any(|piece| message.contains(piece));
    has(MEDIA) && !message.contains("per min") && (has(NUMBERS) || at_most(message).is_some())
}

/// The number in vLLM's words.
fn at_most(message: &str) -> Option<u16> {
    let number = number_behind(message, "at most ")?;
    message
        .contains(&format!("at most {number} image"))
        .then_some(number)
}

/// The maximum number of pictures in one request, if their number is refused: 1 if the message does not name
/// it.
pub(super) fn most(message: &str) -> Option<u16> {
    const BEFORE: &[&str] = &[
        "at most ",
        "maximum of ",
        "up to ",
        "max allowed is ",
        "max is ",
        "maximum is ",
        "conversation to ",
        "request to ",
        "data-uri per request: ",
        "limit of ",
        "limit is ",
        " > ",
    ];
    let message = message.to_ascii_lowercase();
    let named = || BEFORE.iter().find_map(|before| number_behind(&message, before));
    is_their_number(&message).then(|| named().unwrap_or(1))
}

/// The number directly after these words, if no unit of size follows.
fn number_behind(message: &str, before: &str) -> Option<u16> {
    const SIZES: &[&str] = &["mb", "kb", "byte", "pixel", "px", "mega"];
    let (_, rest) = message.split_once(before)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(digits);
    let unit = unit.trim_start();
    if SIZES.iter().any(|size| unit.starts_with(size)) {
        return None;
    }
    number.parse().ok()
}
