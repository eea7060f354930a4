//! Builds requests: [`build`] selects the builder of a model's API, and shows it only the blobs that the
//! model may see.

use std::borrow::Cow;
use std::sync::Arc;

use agentx_types::{Api, BlobId, ContentPart, InputMedium, MediaPart, Message, ModelRequest, ModelSpec};

use crate::media::{BlobSource, NoBlobs};
use crate::pictures::Pictures;
use crate::wire_options::WireOptions;
use crate::{
    answer_schema, anthropic, bedrock_converse, gemini, gemini_interactions, openai_chat, openai_responses,
};

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
    let request = &*with_temperature(request, options);
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
        Api::BedrockConverse => bedrock_converse::build(request, options, &blobs),
        Api::OpenaiResponses => openai_responses::build(request, &options.chat, &blobs),
        Api::Gemini => gemini::build(request, options, &blobs),
        Api::GeminiInteractions => gemini_interactions::build(request, options, &blobs),
        Api::OpenaiChat | Api::Scripted | Api::Unknown => openai_chat::build(request, &options.chat, &blobs),
    }
}

/// The request with the temperature that a person set for its model, unless it names one itself.
fn with_temperature<'a>(request: &'a ModelRequest, options: &WireOptions) -> Cow<'a, ModelRequest> {
    match (request.params.temperature, options.temperature) {
        (None, Some(hundredths)) => {
            let mut request = request.clone();
            request.params.temperature = Some(f64::from(hundredths) / 100.0);
            Cow::Owned(request)
        }
        _ => Cow::Borrowed(request),
    }
}

/// Returns whether the reasoning of earlier answers is in the body of a request. A conversation may have some
/// that is not sent: that of another model, or any if the server has no field for it.
///
/// `true` for Gemini, whose signatures are on other parts too.
pub fn sends_thinking(request: &ModelRequest, options: &WireOptions) -> bool {
    if matches!(request.model.api, Api::Gemini | Api::GeminiInteractions) {
        return true;
    }
    let messages = request.messages.iter().filter_map(without_thinking).collect();
    let without = ModelRequest {
        messages,
        ..request.clone()
    };
    build(&without, options, &NoBlobs) != build(request, options, &NoBlobs)
}

/// The message without its reasoning in any form; `None` if nothing is left of it.
fn without_thinking(message: &Arc<Message>) -> Option<Arc<Message>> {
    let is_thinking = |part: &ContentPart| match part {
        ContentPart::Thinking(_) => true,
        ContentPart::Opaque(part) => {
            let data = &part.provider.data;
            part.provider.api != anthropic::API || data["type"] == "redacted_thinking"
        }
        _ => false,
    };
    if !message.content.iter().any(is_thinking) {
        return Some(message.clone());
    }
    let mut message = Message::clone(message);
    message.content.retain(|part| !is_thinking(part));
    (!message.content.is_empty()).then(|| Arc::new(message))
}

/// Returns the header that this request needs besides those of its provider, as name and value; `None` if it
/// needs none.
pub fn header(request: &ModelRequest, options: &WireOptions) -> Option<(&'static str, &'static str)> {
    let beta = match request.model.api {
        Api::Anthropic | Api::VertexAnthropic => anthropic::beta(request, &options.anthropic),
        // Its body names them.
        Api::Bedrock
        | Api::BedrockConverse
        | Api::OpenaiChat
        | Api::OpenaiResponses
        | Api::Gemini
        | Api::GeminiInteractions
        | Api::Scripted
        | Api::Unknown => None,
    };
    beta.map(|beta| ("anthropic-beta", beta))
}
