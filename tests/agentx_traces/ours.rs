//! Our side: driver events become facts, as a runtime would have committed them, and the fold says what they
//! mean.

use agentx_agent::fixtures;
use agentx_runtime::SessionFold;
use agentx_types::*;
use serde_json::{Value, json};

use crate::upstream::{DriverEvent, tool_names, tool_states};
use crate::{Part, Seen};

/// The result of our fold of a trace.
pub(crate) struct Ours {
    /// All that was derived.
    pub(crate) events: Vec<RuntimeEvent>,
    /// The states that the agent went through, by upstream's own map from events to states.
    pub(crate) states: Vec<String>,
    /// The number of inputs of the trace.
    pub(crate) inputs: usize,
    /// The session as it stands after the trace.
    pub(crate) fold: SessionFold,
}

/// A runtime in small: mints `seq`, folds, and remembers the actions that are open.
struct Session {
    fold: SessionFold,
    seq: u64,
    at: Timestamp,
    model_call: Option<Action>,
    tool_calls: Vec<Action>,
    events: Vec<RuntimeEvent>,
}

/// The stream that is being translated.
#[derive(Default)]
struct Stream {
    message_id: String,
    model: String,
    /// Counts the model calls that upstream took for one message.
    part: u32,
    open: bool,
    call: Option<(String, String)>,
    arguments: String,
}

impl Session {
    fn open(events: &[DriverEvent]) -> Self {
        let fold = SessionFold::new("ses_1".into());
        let mut session = Self {
            fold,
            seq: 0,
            at: Timestamp(0),
            model_call: None,
            tool_calls: vec![],
            events: vec![],
        };
        let tools = tool_names(events)
            .into_iter()
            .map(|name| ToolSpec::new(name, "", json!({"type": "object"}), Access::Internal));
        let config = AgentConfig {
            tools: tools.collect(),
            ..fixtures::config()
        };
        session.push(
            None,
            SessionOpened {
                owner: "own_1".into(),
                config: Box::new(config),
                program: "test".into(),
            },
        );
        session
    }

    /// Commits a fact, then what must stand before the effects of the actions that follow from it.
    fn push(&mut self, action: Option<&Action>, event: impl Into<EnvironmentEvent>) {
        self.seq += 1;
        let mut draft = EventDraft::new(Source::Environment, Some("agt_1".into()), event);
        draft.cause = action.map(|action| action.action_id.clone());
        draft.run_id = action.and_then(|action| action.run_id.clone());
        let fact = draft.into_envelope("ses_1".into(), self.seq, self.at);
        let derived = self.fold.apply(&fact);
        self.events
            .extend(derived.events.into_iter().map(|envelope| envelope.event));
        for action in derived.actions {
            let tool_call_id = match &action.body {
                ActionBody::CallTool(call) => Some(call.tool_call_id.clone()),
                ActionBody::CallModel(_) => None,
                other => panic!("no trace asks for {other:?}"),
            };
            self.push(
                Some(&action),
                ActionStarted {
                    kind: action.body.kind(),
                    tool_call_id,
                    due_at: None,
                },
            );
            match action.body.kind() {
                ActionKind::CallModel => self.model_call = Some(action),
                _ => self.tool_calls.push(action),
            }
        }
    }

    fn model_says(&mut self, event: impl Into<EnvironmentEvent>) {
        let action = self.model_call.clone();
        assert!(action.is_some(), "the model speaks, and nobody asked it");
        self.push(action.as_ref(), event);
    }

    fn begin(&mut self, stream: &mut Stream) {
        if stream.open {
            return;
        }
        stream.open = true;
        stream.part += 1;
        let message_id = MessageId::new(format!("{}_{}", stream.message_id, stream.part));
        self.model_says(StreamStart {
            message_id,
            model: stream.model.clone(),
            attempt: 1,
        });
    }

    fn end(&mut self, stream: &mut Stream, stop_reason: StopReason, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.model_says(UsageReport { usage });
        }
        if std::mem::take(&mut stream.open) {
            self.model_says(StreamEnd {
                stop_reason,
                raw: None,
            });
        }
    }

    fn result(&mut self, event: &DriverEvent) {
        let id = ToolCallId::new(event.call_id());
        let is_ours =
            |action: &Action| matches!(&action.body, ActionBody::CallTool(call) if call.tool_call_id == id);
        let at = self.tool_calls.iter().position(is_ours);
        let action = self
            .tool_calls
            .remove(at.unwrap_or_else(|| panic!("{id} is answered and does not run")));
        let is_error = event.data["isError"].as_bool().unwrap_or(false);
        let status = if is_error {
            ToolStatus::Failed
        } else {
            ToolStatus::Success
        };
        let result = vec![ContentPart::text(event.result_text())];
        self.push(
            Some(&action),
            ToolResult {
                tool_call_id: id,
                result,
                is_error,
                status,
                details: None,
            },
        );
    }
}

impl Ours {
    /// Folds the facts that the driver's events stand for.
    pub(crate) fn fold(events: &[DriverEvent]) -> Self {
        let mut session = Session::open(events);
        let mut stream = Stream::default();
        let mut inputs = 0;
        for (index, event) in events.iter().enumerate() {
            session.at.0 += event.delay_ms * 1_000;
            match event.kind() {
                "message_start" => {
                    if session.model_call.is_none() {
                        inputs += 1;
                        session.push(None, input(inputs));
                    }
                    stream = Stream {
                        message_id: event.message_id(),
                        model: event.model(),
                        ..Stream::default()
                    };
                    session.begin(&mut stream);
                }
                "message_stop" => {
                    session.end(&mut stream, event.stop_reason(), usage_of(events, index));
                    if event.stop_reason() != StopReason::ToolUse {
                        session.model_call = None;
                    }
                }
                "tool_result" => {
                    session.end(&mut stream, StopReason::ToolUse, None);
                    session.result(event);
                }
                _ => part(&mut session, &mut stream, event),
            }
        }
        let events = session.events;
        let states = tool_states(&events);
        Self {
            events,
            states,
            inputs,
            fold: session.fold,
        }
    }
}

/// The parts of a stream. It opens a new stream at a model call that upstream counts as the same message.
fn part(session: &mut Session, stream: &mut Stream, event: &DriverEvent) {
    match event.kind() {
        "text_delta" => {
            session.begin(stream);
            session.model_says(TextChunk {
                text: event.data["text"].as_str().unwrap().to_owned(),
            });
        }
        "thinking_delta" => {
            session.begin(stream);
            let text = event.data["text"].as_str().unwrap().to_owned();
            session.model_says(ThinkingChunk { text });
        }
        "tool_use_start" => {
            session.begin(stream);
            let (id, name) = (event.call_id(), event.call_name());
            session.model_says(ToolCallStart {
                tool_call_id: id.as_str().into(),
                name: name.clone(),
            });
            stream.call = Some((id, name));
            stream.arguments.clear();
        }
        "input_json_delta" => {
            let json = event.data["partialJson"].as_str().unwrap().to_owned();
            stream.arguments.push_str(&json);
            let tool_call_id = ToolCallId::new(&stream.call.as_ref().unwrap().0);
            session.model_says(ToolCallChunk { tool_call_id, json });
        }
        "tool_use_stop" => {
            let (id, name) = stream.call.take().unwrap();
            let written = event.data.get("input").cloned();
            let input =
                written.unwrap_or_else(|| serde_json::from_str(&stream.arguments).unwrap_or(json!({})));
            session.model_says(ToolCall {
                tool_call_id: ToolCallId::new(id),
                name,
                input,
                invalid: None,
            });
        }
        "text_block_start" | "text_block_stop" | "message_delta" => {}
        other => panic!("no translation for {other}"),
    }
}

fn input(number: usize) -> UserMessage {
    UserMessage {
        message_id: MessageId::with_suffix(format_args!("input_{number}")),
        content: vec![ContentPart::text("(the traces do not have the inputs)")],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
}

/// The usage of the message that stops at `index`: the driver says it before the stop, or after the results
/// of its calls.
fn usage_of(events: &[DriverEvent], index: usize) -> Option<Usage> {
    let is_edge = |event: &&DriverEvent| !matches!(event.kind(), "message_start" | "message_stop");
    let before = events[..index].iter().rev().take_while(is_edge);
    let after = events[index + 1..].iter().take_while(is_edge);
    let own = before
        .take_while(|event| event.kind() != "tool_result")
        .chain(after);
    own.filter(|event| event.kind() == "message_delta")
        .last()
        .map(DriverEvent::usage)
}

impl Ours {
    /// Returns the number of events with this tag.
    pub(crate) fn count(&self, tag: &str) -> usize {
        self.events.iter().filter(|event| event.tag() == tag).count()
    }

    /// Answers and results, in order.
    pub(crate) fn messages(&self) -> Vec<Seen> {
        self.events.iter().filter_map(seen).collect()
    }

    /// The texts of all results.
    pub(crate) fn result_texts(&self) -> Vec<String> {
        let text = |seen| {
            if let Seen::Result { text, .. } = seen {
                Some(text)
            } else {
                None
            }
        };
        self.messages().into_iter().filter_map(text).collect()
    }

    /// Returns the number of answers with text.
    pub(crate) fn answers_with_text(&self) -> usize {
        let has_text = |seen: &Seen| matches!(seen, Seen::Answer(parts) if parts.iter().any(|part| matches!(part, Part::Text(_))));
        self.messages().iter().filter(|seen| has_text(seen)).count()
    }

    /// Whether each result comes after the answer that has its call.
    pub(crate) fn every_result_follows_its_call(&self) -> bool {
        let messages = self.messages();
        let called_before = |at: usize, wanted: &str| {
            messages[..at].iter().any(|seen| {
                matches!(seen, Seen::Answer(parts) if parts.iter().any(|part| matches!(part, Part::Call { id, .. } if id == wanted)))
            })
        };
        messages.iter().enumerate().all(|(at, seen)| match seen {
            Seen::Result { id, .. } => called_before(at, id),
            Seen::Answer(_) => true,
        })
    }

    /// Tokens of all turns.
    pub(crate) fn turn_usage(&self) -> Usage {
        self.turns().fold(Usage::default(), |mut sum, turn| {
            sum += turn.usage;
            sum
        })
    }

    /// Money of all turns.
    pub(crate) fn turn_cost(&self) -> NanoUsd {
        self.turns().fold(NanoUsd(0), |mut sum, turn| {
            sum += turn.cost;
            sum
        })
    }

    fn turns(&self) -> impl Iterator<Item = &TurnResponse> {
        self.events.iter().filter_map(|event| match event {
            RuntimeEvent::TurnResponse(turn) => Some(turn),
            _ => None,
        })
    }
}

fn seen(event: &RuntimeEvent) -> Option<Seen> {
    let (message, is_answer) = match event {
        RuntimeEvent::AssistantMessageAdded(added) => (&added.message, true),
        RuntimeEvent::ToolResultMessageAdded(added) => (&added.message, false),
        _ => return None,
    };
    if is_answer {
        return Some(Seen::Answer(
            message.content.iter().filter_map(part_of_answer).collect(),
        ));
    }
    message.content.iter().find_map(|part| match part {
        ContentPart::ToolResult(result) => Some(Seen::Result {
            id: result.tool_call_id.to_string(),
            name: result.name.clone(),
            text: result.content.iter().filter_map(ContentPart::as_text).collect(),
            is_error: result.is_error,
        }),
        _ => None,
    })
}

/// Upstream's machine keeps no reasoning.
fn part_of_answer(part: &ContentPart) -> Option<Part> {
    match part {
        ContentPart::Text(text) => Some(Part::Text(text.text.clone())),
        ContentPart::ToolCall(call) => {
            let (id, name, input) = (
                call.tool_call_id.to_string(),
                call.name.clone(),
                call.input.clone(),
            );
            Some(Part::Call { id, name, input })
        }
        ContentPart::Thinking(_) => None,
        other => panic!("no trace has {other:?}"),
    }
}

/// Written as JavaScript writes it.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
