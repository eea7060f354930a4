//! Replaces the secrets in the facts of one session, in the order in which they are committed.
//!
//! Text arrives in pieces, and a secret may span several of them. So each text has a separate stream, which
//! holds back a possible beginning of a secret until the next piece, or the event that ends the text. The
//! rest that was held back becomes a separate piece before that event.

use agentx_secrets::{Redactor, StreamRedactor};
use agentx_types::{
    ActionId, EnvironmentEvent, EventDraft, OutputChannel, TextChunk, ThinkingChunk, ToolCallChunk,
    ToolCallId, ToolOutputChunk,
};

use super::event::redact_event;

/// An event without a number.
type Draft = EventDraft<EnvironmentEvent>;

/// A text that arrives in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StreamKind {
    /// Words of an answer.
    Text,
    /// A model's reasoning.
    Thinking,
    /// The arguments of a call, as JSON text.
    Arguments(ToolCallId),
    /// The output of a tool.
    Output(ToolCallId, OutputChannel),
}

/// A text of which further pieces may come.
struct OpenStream {
    kind: StreamKind,
    /// The envelope of its pieces.
    envelope: EventDraft<()>,
    text: StreamRedactor,
    /// Whether a piece of it was passed on.
    is_begun: bool,
}

/// Replaces the secrets in the facts of one session, or in the events of one call outside of a session.
pub struct FactRedactor {
    redactor: Redactor,
    open: Vec<OpenStream>,
    /// Model calls whose latest thought had a secret: the signature of that thought no longer fits.
    unsigned: Vec<ActionId>,
}

/// The drafts that replace an event.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RedactedFacts {
    /// Rests of texts, which come first.
    pub rests: Vec<EventDraft<EnvironmentEvent>>,
    /// The event itself; `None` if all of it is held back, or belongs to the replaced text.
    pub event: Option<EventDraft<EnvironmentEvent>>,
}

impl FactRedactor {
    /// A redactor for events that begin now.
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            open: Vec::new(),
            unsigned: Vec::new(),
        }
    }

    /// Returns the drafts to record instead of `draft`.
    pub fn pass(&mut self, mut draft: EventDraft<EnvironmentEvent>) -> RedactedFacts {
        let rests = self.end_streams(&draft);
        let is_dropped = self.loses_signature(&draft);
        let piece = stream_of(&mut draft.event).map(|(kind, text)| (kind, std::mem::take(text)));
        let event = match piece {
            Some((kind, text)) => self.piece(draft, kind, &text),
            None if is_dropped => None,
            None => {
                redact_event(&self.redactor, &mut draft.event);
                Some(draft)
            }
        };
        RedactedFacts { rests, event }
    }

    /// Ends all texts. Returns their rests.
    pub fn finish(&mut self) -> Vec<EventDraft<EnvironmentEvent>> {
        let mut rests = Vec::new();
        for mut open in self.open.drain(..) {
            let rest = open.text.finish();
            if !rest.is_empty() {
                rests.push(open.with_text(rest));
            }
        }
        rests
    }

    /// Passes a piece of a text through its stream.
    fn piece(&mut self, mut draft: Draft, kind: StreamKind, text: &str) -> Option<Draft> {
        let is_it = |open: &OpenStream| open.kind == kind && open.envelope.cause == draft.cause;
        let at = match self.open.iter().position(is_it) {
            Some(at) => at,
            None => {
                self.open.push(OpenStream {
                    kind: kind.clone(),
                    envelope: envelope_of(&draft),
                    text: self.redactor.stream(),
                    is_begun: false,
                });
                self.open.len() - 1
            }
        };
        let open = self.open.get_mut(at)?;
        let shown = open.text.push(text);
        if shown.is_empty() && !text.is_empty() {
            return None;
        }
        open.is_begun = true;
        if let Some((_, text)) = stream_of(&mut draft.event) {
            *text = shown;
        }
        Some(draft)
    }

    /// Ends the texts that are over with this event. Returns their rests.
    fn end_streams(&mut self, draft: &Draft) -> Vec<Draft> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let (mut rests, mut kept) = (Vec::new(), Vec::new());
        for mut open in self.open.drain(..) {
            if !open.is_ended_by(draft) {
                kept.push(open);
                continue;
            }
            let rest = open.text.finish();
            if let (StreamKind::Thinking, true, Some(call)) =
                (&open.kind, open.text.has_replaced(), &open.envelope.cause)
            {
                self.unsigned.push(call.clone());
            }
            if !rest.is_empty() {
                rests.push(open.with_text(rest));
            }
        }
        self.open = kept;
        rests
    }

    /// Returns whether this is data that belongs to a thought with a replaced secret.
    fn loses_signature(&mut self, draft: &Draft) -> bool {
        use EnvironmentEvent as E;
        let Some(call) = draft.cause.as_ref().filter(|_| !self.unsigned.is_empty()) else {
            return false;
        };
        match &draft.event {
            E::ProviderPart(part) if part.attach => self.unsigned.contains(call),
            E::PartEnd(_) | E::UsageReport(_) => false,
            // Another part begins, or the answer is over.
            _ => {
                self.unsigned.retain(|known| known != call);
                false
            }
        }
    }
}

impl OpenStream {
    /// Returns whether no further piece of this text comes after this event.
    fn is_ended_by(&self, draft: &Draft) -> bool {
        use EnvironmentEvent as E;
        let is_same_action = self.envelope.cause == draft.cause;
        match (&draft.event, &self.kind) {
            (E::SessionClosed(_) | E::WriterAttached(_), _) => true,
            (E::ToolResult(result), StreamKind::Output(call, _)) => result.tool_call_id == *call,
            (E::StreamEnd(_) | E::ErrorOccurred(_) | E::AttemptFailed(_) | E::StreamStart(_), _)
            | (E::JobEnded(_), StreamKind::Output(..)) => is_same_action,
            (E::Interrupted(_), _) => self.envelope.agent_state_id == draft.agent_state_id,
            (E::ToolCall(call), StreamKind::Arguments(own)) => is_same_action && call.tool_call_id == *own,
            (E::TextChunk(_), StreamKind::Thinking)
            | (E::ThinkingChunk(_), StreamKind::Text)
            | (
                E::PartEnd(_) | E::ToolCallStart(_) | E::ToolCallChunk(_) | E::ToolCall(_),
                StreamKind::Text | StreamKind::Thinking,
            ) => is_same_action,
            // A signature ends a thought. Data that is attached to words needs words to belong to; words that
            // have begun go on after it.
            (E::ProviderPart(_), StreamKind::Thinking) => is_same_action,
            (E::ProviderPart(part), StreamKind::Text) => is_same_action && (!part.attach || !self.is_begun),
            _ => false,
        }
    }

    /// A piece with the rest of the text.
    fn with_text(self, text: String) -> Draft {
        let event: EnvironmentEvent = match self.kind {
            StreamKind::Text => TextChunk { text }.into(),
            StreamKind::Thinking => ThinkingChunk { text }.into(),
            StreamKind::Arguments(tool_call_id) => ToolCallChunk {
                tool_call_id,
                json: text,
            }
            .into(),
            StreamKind::Output(tool_call_id, channel) => ToolOutputChunk {
                tool_call_id,
                channel,
                text,
            }
            .into(),
        };
        let EventDraft {
            source,
            agent_state_id,
            run_id,
            cause,
            event: (),
        } = self.envelope;
        EventDraft {
            source,
            agent_state_id,
            run_id,
            cause,
            event,
        }
    }
}

/// The text of an event that is a piece of one, and which text that is.
fn stream_of(event: &mut EnvironmentEvent) -> Option<(StreamKind, &mut String)> {
    match event {
        EnvironmentEvent::TextChunk(chunk) => Some((StreamKind::Text, &mut chunk.text)),
        EnvironmentEvent::ThinkingChunk(chunk) => Some((StreamKind::Thinking, &mut chunk.text)),
        EnvironmentEvent::ToolCallChunk(chunk) => {
            Some((StreamKind::Arguments(chunk.tool_call_id.clone()), &mut chunk.json))
        }
        EnvironmentEvent::ToolOutputChunk(chunk) => Some((
            StreamKind::Output(chunk.tool_call_id.clone(), chunk.channel),
            &mut chunk.text,
        )),
        _ => None,
    }
}

fn envelope_of(draft: &Draft) -> EventDraft<()> {
    EventDraft {
        source: draft.source,
        agent_state_id: draft.agent_state_id.clone(),
        run_id: draft.run_id.clone(),
        cause: draft.cause.clone(),
        event: (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_secrets::{Origin, SecretSet};
    use agentx_types::{Interrupted, ProviderPart, Source, StopReason, StreamEnd, ToolResult, ToolStatus};

    fn redactor() -> FactRedactor {
        let mut set = SecretSet::default();
        assert!(set.add("KEY", Origin::Setting, "made-up-value"));
        FactRedactor::new(Redactor::new(&set))
    }

    /// Returns the recorded JSON payloads for these events of one action.
    fn recorded(redactor: &mut FactRedactor, events: Vec<EnvironmentEvent>) -> Vec<String> {
        use agentx_types::Vocabulary as _;
        let mut recorded = Vec::new();
        for event in events {
            let mut draft = Draft::new(Source::Environment, None, event);
            draft.cause = Some(ActionId::with_suffix("1"));
            let RedactedFacts { rests, event } = redactor.pass(draft);
            for draft in rests.into_iter().chain(event) {
                let payload = String::from_utf8(draft.event.payload_json()).unwrap();
                recorded.push(format!("{} {payload}", draft.event.tag()));
            }
        }
        recorded
    }

    fn text(text: &str) -> EnvironmentEvent {
        TextChunk { text: text.into() }.into()
    }

    fn thinking(text: &str) -> EnvironmentEvent {
        ThinkingChunk { text: text.into() }.into()
    }

    fn signature(signature: &str) -> EnvironmentEvent {
        ProviderPart {
            api: "anthropic".into(),
            attach: true,
            data: serde_json::json!({"signature": signature}),
        }
        .into()
    }

    fn end() -> EnvironmentEvent {
        StreamEnd {
            stop_reason: StopReason::EndTurn,
            raw: None,
        }
        .into()
    }

    #[test]
    fn a_rest_comes_before_the_event_that_ends_its_text() {
        let events = vec![text("it is made-"), text("up"), end()];
        let recorded = recorded(&mut redactor(), events);
        assert_eq!(
            recorded[..2],
            [
                r#"text_chunk {"text":"it is "}"#,
                r#"text_chunk {"text":"made-up"}"#
            ]
        );
        assert!(recorded[2].starts_with("stream_end "));
    }

    #[test]
    fn a_rest_is_recorded_if_the_run_is_stopped() {
        let stopped = Interrupted {
            reason: "a person".into(),
        };
        let recorded = recorded(&mut redactor(), vec![text("made-up-v"), stopped.into()]);
        assert_eq!(recorded[0], r#"text_chunk {"text":"made-up-v"}"#);
        assert!(recorded[1].starts_with("interrupted "));
    }

    #[test]
    fn only_a_thought_with_a_secret_loses_its_signature() {
        let events = vec![
            thinking("the key is made-up-"),
            thinking("value"),
            signature("first"),
            EnvironmentEvent::from(agentx_types::PartEnd {}),
            thinking("nothing is secret here"),
            signature("second"),
            text("well"),
            end(),
        ];
        let recorded = recorded(&mut redactor(), events).concat();
        assert!(recorded.contains("[secret KEY]"), "{recorded}");
        assert!(
            !recorded.contains("first") && recorded.contains("second"),
            "{recorded}"
        );
    }

    #[test]
    fn channels_of_a_tool_do_not_mix() {
        let tool_call_id = ToolCallId::new("call_1");
        let chunk = |channel, text: &str| -> EnvironmentEvent {
            ToolOutputChunk {
                tool_call_id: tool_call_id.clone(),
                channel,
                text: text.into(),
            }
            .into()
        };
        let result = ToolResult {
            tool_call_id: tool_call_id.clone(),
            result: Vec::new(),
            is_error: false,
            status: ToolStatus::Success,
            details: Some(serde_json::json!({"made-up-value": {"id": "made-up-value"}})),
        };
        let events = vec![
            chunk(OutputChannel::Stdout, "made-up"),
            chunk(OutputChannel::Stderr, "made-up"),
            chunk(OutputChannel::Stdout, "-value\n"),
            chunk(OutputChannel::Stderr, "\n"),
            result.into(),
        ];
        let recorded = recorded(&mut redactor(), events);
        assert_eq!(recorded.len(), 3, "{recorded:?}");
        assert!(
            recorded[0].contains(r#""text":"[secret KEY]\n""#),
            "{}",
            recorded[0]
        );
        assert!(recorded[1].contains(r#""text":"made-up\n""#), "{}", recorded[1]);
        assert!(
            recorded[2].contains(r#"{"[secret KEY]":{"id":"[secret KEY]"}}"#),
            "{}",
            recorded[2]
        );
    }

    #[test]
    fn events_without_a_secret_are_recorded_as_they_are() {
        let events = vec![
            text("a task-force, "),
            thinking("and so on"),
            text("sk-learn"),
            end(),
        ];
        let recorded = recorded(&mut redactor(), events);
        // The last word of a text comes when the text is over.
        let texts = ["a task-force, ", "and so ", "on", "sk-learn"];
        assert_eq!(recorded.len(), 5, "{recorded:?}");
        for (event, text) in recorded.iter().zip(texts) {
            assert!(event.contains(text), "{event}");
        }
    }
}
