//! Recognises that a provider refuses pictures and other media. Many servers call that their own failure (500),
//! say it within a 200, or name nothing but a code; yet the same request fails for ever.
//!
//! Sources of the codes: OpenAI's Responses name them in the `response.failed` of a stream
//! (<https://openrouter.ai/docs/client-sdks/typescript/models/code>). Sources of the words: llama.cpp answers 500
//! ("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
//! <https://github.com/ggml-org/llama.cpp/issues/13566>) and, like Ollama, "Failed to load image or audio file"
//! where it cannot read a picture; Ollama 500 ("missing data required for image input"; "Failed to process
//! inputs: image: unknown format", <https://github.com/ollama/ollama/issues/11320>); LM Studio ("Vision model is
//! not loaded. Cannot process images.", <https://github.com/lmstudio-ai/lms/issues/53>; "Model does not support
//! images", <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/908>; with MLX, in a 200, "Vision add-on
//! is not loaded, but images were provided for processing"); OpenRouter 404 ("No endpoints found that support
//! image input"); vLLM ("… is not a multimodal model").

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

/// Returns whether pictures are refused, whatever the status is. `message` is in lower case.
pub(super) fn is_one(said: &Extracted, message: &str) -> bool {
    said.words.iter().any(|word| CODES.contains(&word.as_str()))
        || PHRASES.iter().any(|phrase| message.contains(phrase))
}
