//! `agentx debug`: decodes a response body into the events that the log would contain.

use std::io::Read as _;
use std::path::Path;

use agentx::llm::{AnswerRecorder, StreamContext, StreamDecoder, StreamError, decode_body};
use agentx::types::{Api, EnvironmentEvent};
use serde_json::json;

use crate::args::{ApiArg, DebugCommand};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::named_file::open_named;

const MAX_BYTES: u64 = 256 << 20;

pub(crate) fn run(command: &DebugCommand, console: &mut Console) -> Result<Exit, ChatError> {
    let DebugCommand::Decode { api, file } = command;
    let api = match api {
        ApiArg::Anthropic => Api::Anthropic,
        ApiArg::OpenaiChat => Api::OpenaiChat,
        ApiArg::OpenaiResponses => Api::OpenaiResponses,
        ApiArg::Gemini => Api::Gemini,
        ApiArg::GeminiInteractions => Api::GeminiInteractions,
        ApiArg::Bedrock => Api::Bedrock,
        ApiArg::BedrockConverse => Api::BedrockConverse,
    };
    decode(api, &read(file)?, console)
}

fn read(file: &Path) -> Result<Vec<u8>, ChatError> {
    let failed = |error: std::io::Error| ChatError::File {
        path: file.display().to_string(),
        what: error.to_string(),
    };
    let mut bytes = Vec::new();
    let mut source: Box<dyn std::io::Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(open_named(file).map_err(failed)?)
    };
    source
        .by_ref()
        .take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// Prints the events, a line each, and the message that they make, also the partial one of a broken stream.
fn decode(api: Api, bytes: &[u8], console: &mut Console) -> Result<Exit, ChatError> {
    let mut events = Vec::new();
    let decoded = events_of(api, bytes, &mut events);
    let mut whole = AnswerRecorder::default();
    for event in &events {
        whole.push(event);
        console.out_json(event)?;
    }
    if let Some(whole) = whole.finish() {
        console.out_json(&json!({
            "type": "message",
            "message": whole.message,
            "model": whole.model,
            "stop_reason": whole.stop_reason,
            "raw": whole.raw,
            "usage": whole.usage,
        }))?;
    }
    console.flush()?;
    decoded.map(|()| Exit::Ok).map_err(|error| {
        let error = error.into_model_error();
        ChatError::Body {
            code: error.code.as_str().to_owned(),
            message: error.message,
        }
    })
}

fn events_of(api: Api, bytes: &[u8], events: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
    let context = StreamContext::new("msg_decoded", 1);
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return decode_body(api, context, bytes, events);
    }
    let mut decoder = StreamDecoder::new(api, context);
    decoder.push(bytes, events)?;
    decoder.finish(events)
}
