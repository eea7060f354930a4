//! The decoder for all APIs: it decodes the bytes of a model's answer into EnvironmentEvents.

use agentx_types::{Api, EnvironmentEvent};

use crate::event_stream::{EventAnswer, EventStream};
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;
use crate::{
    anthropic, bedrock, bedrock_converse, gemini, gemini_interactions, openai_chat, openai_responses, sse,
};

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
    BedrockConverse(Box<bedrock_converse::ConverseDecoder>),
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
            ApiDecoder::BedrockConverse($decoder) => $does,
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
            ApiDecoder::BedrockConverse($decoder) => $does,
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
            Api::BedrockConverse => {
                ApiDecoder::BedrockConverse(Box::new(bedrock_converse::ConverseDecoder::new(context)))
            }
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
    /// The bytes may be cut anywhere, also inside a character. Bytes after the end of the answer, and after
    /// an error, are ignored.
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
    /// bytes are not an event stream, and [`StreamError::Provider`] if its last lines are an error.
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
    if !api.is_at_bedrock() && is_event_stream(body) {
        let mut decoder = StreamDecoder::new(api, context);
        decoder.push(body, out)?;
        return decoder.finish(out);
    }
    match api {
        Api::Anthropic | Api::Bedrock | Api::VertexAnthropic => anthropic::decode_body(context, body, out),
        Api::BedrockConverse => bedrock_converse::decode_body(context, body, out),
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
