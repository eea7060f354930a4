//! The decoder for all APIs: it decodes the bytes of a model's answer into EnvironmentEvents.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{
    Api, ContentPart, EnvironmentEvent, Message, MessageId, ModelRequest, ToolCallId, UsedIds,
};

use crate::error::{ErrorCode, ModelError};
use crate::event_stream::{EventAnswer, EventStream};
use crate::sse::{self, SseError};
use crate::{anthropic, bedrock, gemini, gemini_interactions, openai_chat, openai_responses};

/// The data about a stream that its decoder needs: ids that are already taken, and the number of the attempt.
#[derive(Clone, Debug)]
pub struct StreamContext {
    /// The id of the message if the provider gives none, or one that the conversation already has.
    pub fallback_message_id: MessageId,
    /// The number of the attempt at this call; the first is 1.
    pub attempt: u32,
    /// The ids of the calls in the answer itself.
    calls: BTreeSet<ToolCallId>,
    /// The request that is answered. Its ids are looked up when an answer has one, not collected for each call.
    request: Option<Arc<ModelRequest>>,
    taken: Arc<UsedIds>,
}

impl StreamContext {
    /// Returns a context without ids of a conversation.
    pub fn new(fallback_message_id: impl AsRef<str>, attempt: u32) -> Self {
        Self {
            fallback_message_id: MessageId::new(fallback_message_id),
            attempt,
            calls: BTreeSet::new(),
            request: None,
            taken: Arc::default(),
        }
    }

    /// Adds the ids in the conversation that is being answered: small servers repeat ids, and an id must be
    /// unique in its session.
    #[must_use]
    pub fn avoid_ids_of(mut self, request: Arc<ModelRequest>) -> Self {
        self.request = Some(request);
        self
    }

    /// Sets the ids of the session that the conversation no longer shows: those of messages that were left
    /// out of the window or condensed, and of attempts that broke off.
    #[must_use]
    pub fn without(mut self, taken: Arc<UsedIds>) -> Self {
        self.taken = taken;
        self
    }

    pub(crate) fn has_message(&self, id: &MessageId) -> bool {
        self.taken.messages.contains(id) || self.conversation().any(|message| message.message_id == *id)
    }

    pub(crate) fn has_call(&self, id: &ToolCallId) -> bool {
        let is_the_call = |part: &ContentPart| match part {
            ContentPart::ToolCall(call) => call.tool_call_id == *id,
            _ => false,
        };
        self.calls.contains(id)
            || self.taken.calls.contains(id)
            || self
                .conversation()
                .any(|message| message.content.iter().any(is_the_call))
    }

    fn conversation(&self) -> impl Iterator<Item = &Message> {
        let messages = self.request.iter().flat_map(|request| &request.messages);
        messages.map(AsRef::as_ref)
    }

    pub(crate) fn take_call(&mut self, id: ToolCallId) {
        self.calls.insert(id);
    }
}

/// The reason why a stream failed. The events before the failure stay valid; the caller ends the stream as
/// broken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StreamError {
    /// The bytes ended before the answer was complete.
    #[error("the answer broke off: the stream ended before its last event")]
    Truncated,
    /// The bytes are not an event stream, but HTML or plain text, for example.
    #[error("the answer is not an event stream: {head}")]
    NotAStream {
        /// The first 300 bytes of the answer, as text.
        head: String,
    },
    /// The provider reports an error inside the stream or in the body of a success.
    #[error("{0}")]
    Provider(ModelError),
    /// An event or the body does not have the form that the API promises.
    #[error("the answer is not what the API promises: {detail}")]
    Malformed {
        /// The error of the reader, with the beginning of the data.
        detail: String,
    },
    /// The arguments of the tool calls exceed the limit.
    #[error("the arguments of the tool calls are longer than {limit} bytes")]
    ArgumentsTooLong {
        /// The limit for all arguments of one answer, in bytes.
        limit: usize,
    },
    /// A line or an event exceeds a limit of [`SseLimits`](sse::SseLimits).
    #[error("{0}")]
    Sse(#[from] SseError),
}

impl StreamError {
    /// Returns the error for malformed data, with the beginning of the data.
    pub(crate) fn malformed(what: impl std::fmt::Display, data: &str) -> Self {
        const SHOWN: usize = 200;
        let (shown, more) = match data.char_indices().nth(SHOWN) {
            Some((end, _)) => (&data[..end], "…"),
            None => (data, ""),
        };
        Self::Malformed {
            detail: format!("{what} in {shown}{more}"),
        }
    }

    /// Converts the error to a [`ModelError`], for callers that treat every failure alike. Streams that broke
    /// off or are malformed are retryable; streams that exceed a limit are not.
    pub fn into_model_error(self) -> ModelError {
        let (code, retryable) = match &self {
            Self::Provider(error) => return error.clone(),
            Self::Truncated => (ErrorCode::StreamBroken, true),
            Self::NotAStream { .. } | Self::Malformed { .. } => (ErrorCode::BadResponse, true),
            Self::Sse(_) | Self::ArgumentsTooLong { .. } => (ErrorCode::BadResponse, false),
        };
        ModelError {
            code,
            message: self.to_string(),
            retryable,
            retry_after_ms: None,
            status: None,
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
        }
    }
}

/// Decodes the stream of one answer.
///
/// Order of calls: [`push`](Self::push) with the bytes as they come, then [`finish`](Self::finish) when they
/// end. After an error the decoder emits no more events. `stream_start` comes first and at most once,
/// `stream_end` comes last and only if the answer is complete; a `tool_call` comes only if the provider ended
/// the call.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::OpenaiChat, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let chunk = br#"data: {"id":"c1","model":"m","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
/// decoder.push(chunk, &mut events)?;
/// decoder.push(b"\n\ndata: [DONE]\n\n", &mut events)?;
/// assert!(decoder.is_done());
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StreamDecoder(ApiDecoder);

/// The decoder of each API.
#[derive(Clone, Debug)]
enum ApiDecoder {
    Anthropic(Box<EventStream<anthropic::MessageState>>),
    OpenaiChat(Box<EventStream<openai_chat::CompletionState>>),
    OpenaiResponses(Box<EventStream<openai_responses::ResponseState>>),
    Gemini(Box<EventStream<gemini::GeminiState>>),
    GeminiInteractions(Box<EventStream<gemini_interactions::InteractionState>>),
    Bedrock(Box<bedrock::BedrockDecoder>),
}

/// Evaluates an expression with the decoder of the API, which has the same methods for all of them.
macro_rules! with_decoder {
    ($self:ident, $decoder:ident => $does:expr) => {
        match &$self.0 {
            ApiDecoder::Anthropic($decoder) => $does,
            ApiDecoder::OpenaiChat($decoder) => $does,
            ApiDecoder::OpenaiResponses($decoder) => $does,
            ApiDecoder::Gemini($decoder) => $does,
            ApiDecoder::GeminiInteractions($decoder) => $does,
            ApiDecoder::Bedrock($decoder) => $does,
        }
    };
    (mut $self:ident, $decoder:ident => $does:expr) => {
        match &mut $self.0 {
            ApiDecoder::Anthropic($decoder) => $does,
            ApiDecoder::OpenaiChat($decoder) => $does,
            ApiDecoder::OpenaiResponses($decoder) => $does,
            ApiDecoder::Gemini($decoder) => $does,
            ApiDecoder::GeminiInteractions($decoder) => $does,
            ApiDecoder::Bedrock($decoder) => $does,
        }
    };
}

impl StreamDecoder {
    /// Returns a decoder for one stream of this API. The scripted environment has no wire format: its decoder
    /// reads Chat Completions.
    pub fn new(api: Api, context: StreamContext) -> Self {
        Self(match api {
            Api::Anthropic | Api::VertexAnthropic => {
                ApiDecoder::Anthropic(boxed(anthropic::MessageState::new(context)))
            }
            Api::Bedrock => ApiDecoder::Bedrock(Box::new(bedrock::BedrockDecoder::new(context))),
            Api::OpenaiResponses => {
                ApiDecoder::OpenaiResponses(boxed(openai_responses::ResponseState::new(context)))
            }
            Api::Gemini => ApiDecoder::Gemini(boxed(gemini::GeminiState::new(context))),
            Api::GeminiInteractions => {
                ApiDecoder::GeminiInteractions(boxed(gemini_interactions::InteractionState::new(context)))
            }
            Api::OpenaiChat | Api::Scripted | Api::Unknown => {
                ApiDecoder::OpenaiChat(boxed(openai_chat::CompletionState::new(context)))
            }
        })
    }

    /// Decodes the next bytes of the body and adds the events to `out`. If it returns an error, `out` has the
    /// events before the error.
    ///
    /// The bytes may be cut anywhere, also inside a character. Bytes after the end of the answer, and after an
    /// error, are ignored.
    ///
    /// # Errors
    /// Returns [`StreamError::Provider`] if the provider reports an error or blocked the prompt,
    /// [`StreamError::Malformed`] if an event does not have the form that the API promises, and
    /// [`StreamError::Sse`] or [`StreamError::ArgumentsTooLong`] if a limit is exceeded.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        with_decoder!(mut self, decoder => decoder.push(bytes, out))
    }

    /// Ends the stream: the server has closed the connection. An answer that has its stop reason is complete,
    /// even without the event that should end it. An event that the end of the bytes cut in two is ignored.
    ///
    /// # Errors
    /// Returns [`StreamError::Truncated`] if the answer is not complete, [`StreamError::NotAStream`] if its
    /// bytes are no event stream, and [`StreamError::Provider`] if its last lines are an error.
    pub fn finish(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        with_decoder!(mut self, decoder => decoder.finish(out))
    }

    /// Returns whether `stream_end` is among the events. Bytes after it do not matter.
    pub fn is_done(&self) -> bool {
        with_decoder!(self, decoder => decoder.is_done())
    }

    /// Returns whether the answer has its stop reason. At most its usage follows, and
    /// [`finish`](Self::finish) completes it: some servers leave the connection open after it.
    pub fn has_stop_reason(&self) -> bool {
        with_decoder!(self, decoder => decoder.has_stop_reason())
    }
}

fn boxed<A: EventAnswer>(answer: A) -> Box<EventStream<A>> {
    Box::new(EventStream::new(answer))
}

/// Decodes an answer that came as one JSON body, and adds the same events to `out` as a stream would give. A
/// body that is an event stream is decoded as a stream.
///
/// # Errors
/// Returns [`StreamError::Provider`] if the body is an error of the provider, and [`StreamError::Malformed`]
/// if it is not an answer of the API.
pub fn decode_body(
    api: Api,
    context: StreamContext,
    body: &[u8],
    out: &mut Vec<EnvironmentEvent>,
) -> Result<(), StreamError> {
    let body = body.strip_prefix(sse::BOM).unwrap_or(body);
    if api != Api::Bedrock && is_event_stream(body) {
        let mut decoder = StreamDecoder::new(api, context);
        decoder.push(body, out)?;
        return decoder.finish(out);
    }
    match api {
        Api::Anthropic | Api::Bedrock | Api::VertexAnthropic => anthropic::decode_body(context, body, out),
        Api::OpenaiResponses => openai_responses::decode_body(context, body, out),
        Api::Gemini => gemini::decode_body(context, body, out),
        Api::GeminiInteractions => gemini_interactions::decode_body(context, body, out),
        Api::OpenaiChat | Api::Scripted | Api::Unknown => openai_chat::decode_body(context, body, out),
    }
}

/// Returns whether a body is an event stream, regardless of its content type.
fn is_event_stream(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    ["data:", "event:", ": ", "id:"]
        .iter()
        .any(|field| body.starts_with(field.as_bytes()))
}

/// The beginning of an answer, which is kept until the first event for the message of
/// [`StreamError::NotAStream`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    bytes: Vec<u8>,
    event_seen: bool,
}

impl Head {
    const KEPT: usize = 300;

    pub(crate) fn note(&mut self, bytes: &[u8]) {
        if !self.event_seen && self.bytes.len() < Self::KEPT {
            let room = Self::KEPT - self.bytes.len();
            self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    pub(crate) fn event(&mut self) {
        self.event_seen = true;
    }

    /// Returns the error for a stream that ended before the answer was complete.
    pub(crate) fn broken(&self) -> StreamError {
        if self.event_seen || self.bytes.is_empty() {
            return StreamError::Truncated;
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let looks_like_sse = text.lines().any(|line| {
            ["data:", "event:", ":", "id:", "retry:"]
                .iter()
                .any(|field| line.starts_with(field) || (!line.is_empty() && field.starts_with(line)))
        });
        if looks_like_sse {
            StreamError::Truncated
        } else {
            StreamError::NotAStream {
                head: text.trim().to_owned(),
            }
        }
    }
}
