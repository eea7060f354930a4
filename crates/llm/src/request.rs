//! The parts that all request builders share: the source of media bytes, the options of servers, and
//! [`build`], which selects the builder of a model's API.

use agentx_types::{
    Api, BlobId, InputMedium, MediaPart, MediaSource, ModelRequest, ModelSpec, without_author_tags,
};
use serde::{Deserialize, Serialize};

use crate::pictures::Pictures;
use crate::{answer_schema, anthropic, base64, gemini, gemini_interactions, openai_chat, openai_responses};

/// A source of the bytes of content-addressed blobs, such as pictures. Building a request does no I/O, so the
/// caller reads the blobs first; a `BTreeMap<BlobId, Vec<u8>>` is a source.
pub trait BlobSource {
    /// Returns the bytes of a blob; `None` if they are gone. The model then reads that the medium is missing.
    fn blob(&self, id: &BlobId) -> Option<&[u8]>;

    /// Returns whether requests may contain pictures. If not, a text takes the place of each picture, because
    /// the provider would refuse the whole request and each later one of the conversation. The default is
    /// `true`.
    fn shows_pictures(&self) -> bool {
        true
    }

    /// Returns the reason why this picture is not sent, although the model accepts pictures; `None` if it is
    /// sent, which is the default.
    fn left_out(&self, part: &MediaPart) -> Option<&'static str> {
        let _ = part;
        None
    }

    /// Returns the media type of a medium: the type of its bytes if they are known, otherwise the type that
    /// it claims.
    fn media_type<'p>(&self, part: &'p MediaPart) -> &'p str {
        &part.media_type
    }
}

/// Returns the maximum number of tokens of the answer: see [`ModelSpec::longest_answer`].
pub(crate) fn longest_answer(request: &ModelRequest) -> u64 {
    request.model.longest_answer(request.params.max_output_tokens)
}

/// Joins texts. A single one, the usual case, is not copied.
pub(crate) fn joined<'a>(
    texts: impl Iterator<Item = &'a str>,
    between: &'static str,
) -> std::borrow::Cow<'a, str> {
    texts.fold(std::borrow::Cow::Borrowed(""), |mut all, text| {
        if !all.is_empty() {
            all += between;
        }
        all + text
    })
}

/// Blobs as a model may be shown them.
struct ForModel<'a> {
    blobs: &'a dyn BlobSource,
    model: &'a ModelSpec,
    pictures: Pictures<'a>,
}

impl BlobSource for ForModel<'_> {
    fn blob(&self, id: &BlobId) -> Option<&[u8]> {
        self.blobs.blob(id)
    }

    fn shows_pictures(&self) -> bool {
        self.blobs.shows_pictures() && !self.model.refuses(InputMedium::Image)
    }

    fn left_out(&self, part: &MediaPart) -> Option<&'static str> {
        self.pictures.left_out(part)
    }

    fn media_type<'p>(&self, part: &'p MediaPart) -> &'p str {
        self.pictures.media_type(part)
    }
}

/// A source without blobs, for conversations of text.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBlobs;

impl BlobSource for NoBlobs {
    fn blob(&self, _: &BlobId) -> Option<&[u8]> {
        None
    }
}

impl BlobSource for std::collections::BTreeMap<BlobId, Vec<u8>> {
    fn blob(&self, id: &BlobId) -> Option<&[u8]> {
        self.get(id).map(Vec::as_slice)
    }
}

/// Options in which the servers of one API differ. The catalog has those of each model
/// ([`Catalog::wire_options`](crate::Catalog::wire_options)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WireOptions {
    /// The options of Anthropic Messages.
    pub anthropic: anthropic::AnthropicOptions,
    /// The options of OpenAI Chat Completions and Responses.
    pub chat: openai_chat::ChatOptions,
    /// The options of both Gemini APIs.
    pub gemini: gemini::GeminiOptions,
    /// Whether the model has a mode for answers that fit a JSON Schema. The catalog has this for the model at
    /// its provider. The default is `false`: then the schema is an instruction.
    pub answer_schema: bool,
}

/// Returns the JSON body of a request, in the API of its model. Equal requests give equal bytes.
///
/// ```
/// use agentx_llm::{Catalog, NoBlobs, build};
/// use agentx_types::{ContentPart, Message, ModelParams, ModelRequest, Role};
///
/// let catalog = Catalog::builtin();
/// let model = catalog.resolve("anthropic/mock").unwrap();
/// let options = catalog.wire_options(&model);
/// let hello = Message { message_id: "msg_1".into(), role: Role::User, content: vec![ContentPart::text("hello")], by: None };
/// let request = ModelRequest {
///     model,
///     params: ModelParams::default(),
///     system: vec!["Be brief.".into()],
///     messages: vec![hello.into()],
///     tools: [].into(),
///     plain: false,
///     turns: false,
///     without: Vec::new(),
///     answer_schema: None,
/// };
/// let body: serde_json::Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
/// assert_eq!(body["stream"], true);
/// assert_eq!(body["messages"][0]["content"][0]["text"], "hello");
/// ```
pub fn build(request: &ModelRequest, options: &WireOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let request = &*answer_schema::fitted(request, options);
    let blobs = ForModel {
        blobs,
        model: &request.model,
        pictures: Pictures::of(request, blobs),
    };
    match request.model.api {
        Api::Anthropic | Api::Bedrock | Api::VertexAnthropic => {
            anthropic::build(request, &options.anthropic, &blobs)
        }
        Api::OpenaiResponses => openai_responses::build(request, &options.chat, &blobs),
        Api::Gemini => gemini::build(request, options, &blobs),
        Api::GeminiInteractions => gemini_interactions::build(request, options, &blobs),
        Api::OpenaiChat | Api::Scripted | Api::Unknown => openai_chat::build(request, &options.chat, &blobs),
    }
}

/// Returns the header that this request needs besides those of its provider, as name and value; `None` if it
/// needs none.
pub fn header(request: &ModelRequest, options: &WireOptions) -> Option<(&'static str, &'static str)> {
    let beta = match request.model.api {
        Api::Anthropic | Api::VertexAnthropic => anthropic::beta(request, &options.anthropic),
        // Its body names them.
        Api::Bedrock
        | Api::OpenaiChat
        | Api::OpenaiResponses
        | Api::Gemini
        | Api::GeminiInteractions
        | Api::Scripted
        | Api::Unknown => None,
    };
    beta.map(|beta| ("anthropic-beta", beta))
}

/// The bytes of a medium in the form of the wire.
pub(crate) enum Media<'a> {
    /// The bytes as base64.
    Base64(std::borrow::Cow<'a, str>),
    /// An address.
    Url(&'a str),
    /// The reason why the medium is not sent: the blob is gone, or the model does not support pictures.
    Missing(&'static str),
}

impl<'a> Media<'a> {
    pub(crate) fn of(part: &'a MediaPart, blobs: &dyn BlobSource) -> Self {
        if !blobs.shows_pictures() && media_kind(&part.media_type) == MediaKind::Image {
            return Self::Missing("a picture, and this model takes none");
        }
        if let Some(why) = blobs.left_out(part) {
            return Self::Missing(why);
        }
        match &part.source {
            MediaSource::Base64(data) => Self::Base64(data.as_str().into()),
            MediaSource::Url(url) => Self::Url(url),
            MediaSource::Blob(id) => match blobs.blob(id) {
                Some(bytes) => Self::Base64(base64::encode(bytes).into()),
                None => Self::Missing("it is no longer stored"),
            },
        }
    }

    /// The text in it, if it is text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Base64(data) => {
                let bytes = base64::decode(data)?;
                Some(without_author_tags(&String::from_utf8_lossy(&bytes)).into_owned())
            }
            Self::Url(_) | Self::Missing(_) => None,
        }
    }
}

/// The name of a tool in a form that every API accepts: `^[a-zA-Z0-9_-]{1,64}$` for OpenAI, up to 128
/// characters for Anthropic. Models invent names (`functions.bash`, an empty one), get the result that there
/// is no such tool, and read their own call again.
pub(crate) fn tool_name(name: &str, longest: usize) -> std::borrow::Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=longest).contains(&name.len()) && name.chars().all(fits) {
        return name.into();
    }
    let name: String = name
        .chars()
        .take(longest)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    if name.is_empty() {
        "unnamed".into()
    } else {
        name.into()
    }
}

/// The kind of a media type that an API knows by heart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image,
    Pdf,
    Text,
    Audio,
    Other,
}

pub(crate) fn media_kind(media_type: &str) -> MediaKind {
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => MediaKind::Image,
        "application/pdf" => MediaKind::Pdf,
        "application/json"
        | "application/xml"
        | "application/yaml"
        | "application/toml"
        | "application/javascript" => MediaKind::Text,
        text if text.starts_with("text/") => MediaKind::Text,
        audio if audio.starts_with("audio/") => MediaKind::Audio,
        _ => MediaKind::Other,
    }
}

/// Returns the text that the model reads in place of a part that cannot be sent.
pub(crate) fn placeholder(part: &MediaPart, why: &str) -> String {
    let words = match &part.name {
        Some(name) => format!("[{name} ({}): {why}]", part.media_type),
        None => format!("[{}: {why}]", part.media_type),
    };
    without_author_tags(&words).into_owned()
}
