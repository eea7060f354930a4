//! Finds the part of the conversation that a refusal names by its place in the body of the request.
//!
//! Builders merge, split and add messages, so an index in the body says little about the conversation. The
//! request is therefore built once more with a mark in place of each text, result and input; the mark at the
//! named place tells the part. No part is returned if the place has no mark or texts of several messages, or
//! if the marked body has another form: then nothing is certain. Some builders send several messages of a
//! person as one text. Then the earliest counts that was not replaced after an earlier refusal, so that the
//! newest, which the model is to answer, stays as long as possible.

use std::sync::Arc;

use agentx_types::{ContentPart, EARLIER_MESSAGES, LEFT_OUT_PART, Message, MessagePlace, ModelRequest};
use serde_json::{Value, json};

use crate::error::{PlaceStep, place_steps};
use crate::media::BlobSource;
use crate::request::build;
use crate::wire_options::WireOptions;

/// The beginning of each mark. Letters and digits alone, so that no encoding changes it.
const MARK: &str = "agentxmark";

/// Returns the part of the conversation at a [place](crate::ModelError::place) in the body of a request;
/// `None` if that is not certain.
///
/// Thinking, media and parts of a provider are never returned: they are left out as a kind.
///
/// ```
/// use agentx_llm::{Catalog, NoBlobs, named_part};
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
/// let place = named_part(&request, &options, &NoBlobs, "messages.0.content.0").unwrap();
/// assert_eq!((place.message_id.as_str(), place.part), ("msg_1", Some(0)));
/// ```
pub fn named_part(
    request: &ModelRequest,
    options: &WireOptions,
    blobs: &dyn BlobSource,
    place: &str,
) -> Option<MessagePlace> {
    let steps = place_steps(place);
    let sent: Value = serde_json::from_slice(&build(request, options, blobs)).ok()?;
    let marked: Value = serde_json::from_slice(&build(&with_marks(request), options, blobs)).ok()?;
    let at = find(&sent, &marked, &steps)?;
    let mut texts = Vec::new();
    collect_marks(at, &mut texts);
    let is_one_text = texts.len() == 1;
    let mut marks = texts.concat();
    marks.sort_unstable();
    marks.dedup();
    let (message, part) = *marks.first()?;
    if !is_one_text && marks.iter().any(|(other, _)| *other != message) {
        return None;
    }
    marks.retain(|(other, _)| *other == message);
    let part = if marks.len() == 1 {
        u32::try_from(part).ok()
    } else {
        None
    };
    Some(MessagePlace {
        message_id: request.messages.get(message)?.message_id.clone(),
        part,
    })
}

/// The request with a mark in place of each text, result and input of the conversation.
fn with_marks(request: &ModelRequest) -> ModelRequest {
    let marked = |(index, message): (usize, &Arc<Message>)| {
        let mut message = Message::clone(message);
        if message.message_id.as_str() == EARLIER_MESSAGES {
            return Arc::new(message);
        }
        for (at, part) in message.content.iter_mut().enumerate() {
            put_mark(part, &format!("{MARK}{index}x{at}x"));
        }
        Arc::new(message)
    };
    ModelRequest {
        messages: request.messages.iter().enumerate().map(marked).collect(),
        ..request.clone()
    }
}

/// Builders leave blank texts out, so these stay; so do the words in place of what was refused earlier.
fn put_mark(part: &mut ContentPart, mark: &str) {
    match part {
        ContentPart::Text(text) if !text.text.trim().is_empty() && text.text != LEFT_OUT_PART => {
            mark.clone_into(&mut text.text);
        }
        ContentPart::ToolCall(call) => call.input = json!({ "mark": mark }),
        ContentPart::ToolResult(result) => {
            for part in &mut result.content {
                if part.as_text().is_some() {
                    put_mark(part, mark);
                }
            }
        }
        _ => {}
    }
}

/// Returns the marked value at a place, if the lists on the way to it have the same lengths in both bodies.
fn find<'a>(sent: &Value, marked: &'a Value, steps: &[PlaceStep]) -> Option<&'a Value> {
    let (mut sent, mut marked) = (sent, marked);
    for step in steps {
        (sent, marked) = match (step, sent, marked) {
            (PlaceStep::Index(index), Value::Array(sent), Value::Array(marked))
                if sent.len() == marked.len() =>
            {
                (sent.get(*index)?, marked.get(*index)?)
            }
            // A text is one value in some APIs: `content[0].text` is then the text itself.
            (_, Value::String(_), Value::String(_)) => break,
            (PlaceStep::Key(key), Value::Object(object), Value::Object(other)) => {
                match (object.get(key), other.get(key)) {
                    (Some(value), Some(other)) => (value, other),
                    // Inside of the arguments of a call, which a mark replaces as a whole.
                    (Some(_), None) => break,
                    // Anthropic names the type of a block as if it were a key: `content.0.tool_result`.
                    (None, _) if object.get("type").and_then(Value::as_str) == Some(key.as_str()) => {
                        (sent, marked)
                    }
                    (None, _) => return None,
                }
            }
            _ => return None,
        };
    }
    Some(marked)
}

/// Collects the message and the part of each mark in a value, by the texts that have marks.
fn collect_marks(value: &Value, texts: &mut Vec<Vec<(usize, usize)>>) {
    match value {
        Value::String(text) => {
            let marks: Vec<_> = text.split(MARK).skip(1).filter_map(read_mark).collect();
            texts.extend((!marks.is_empty()).then_some(marks));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_marks(value, texts)),
        Value::Object(object) => object.values().for_each(|value| collect_marks(value, texts)),
        _ => {}
    }
}

fn read_mark(text: &str) -> Option<(usize, usize)> {
    let mut numbers = text.splitn(3, 'x');
    let message = numbers.next()?.parse().ok()?;
    let part = numbers.next()?.parse().ok()?;
    Some((message, part))
}
