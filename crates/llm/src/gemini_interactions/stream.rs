//! Decodes the answer of the Interactions API as it streams.

use agentx_types::{EnvironmentEvent, StopReason, Usage};

use super::steps::Steps;
use super::wire::{InteractionEvent, InteractionUsage, InteractionWire, parse};
use crate::emitter::Emitter;
use crate::event_stream::EventAnswer;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;
use crate::{error, gemini};

/// Reads one stream of the Interactions API event by event.
///
/// The answer has ended when `interaction.completed` came. A stream that ends without it broke off.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::GeminiInteractions, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let start = br#"data: {"event_type":"step.start","index":0,"step":{"type":"model_output"}}"#;
/// let delta = br#"data: {"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hi"}}"#;
/// let end = br#"data: {"event_type":"interaction.completed","interaction":{"status":"completed"}}"#;
/// for event in [&start[..], &delta[..], &end[..]] {
///     decoder.push(event, &mut events)?;
///     decoder.push(b"\n\n", &mut events)?;
/// }
/// assert!(decoder.is_done());
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct InteractionState {
    emitter: Emitter,
    steps: Steps,
}

impl EventAnswer for InteractionState {
    fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    // Decodes the data of one server-sent event. Its name is the `event_type` of the data, if the data have
    // none.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.emitter.ended() || data.is_empty() || data.trim() == "[DONE]" {
            return Ok(());
        }
        let event: InteractionEvent<'_> = parse(data)?;
        let kind = event.event_type.as_deref().unwrap_or(name);
        if kind == "error" || (kind.is_empty() && event.error.is_some_and(error::is_reported)) {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        let interaction = event.interaction.map(|interaction| parse(interaction.get()));
        let interaction: InteractionWire<'_> = interaction.transpose()?.unwrap_or_default();
        if kind == "interaction.completed" {
            let is_empty = interaction.steps.is_none()
                && !matches!(interaction.status.as_deref(), Some("failed" | "cancelled"));
            if is_empty && !self.emitter.started() {
                return Err(StreamError::malformed("the answer ended before it began", data));
            }
            return self.close(&interaction, out);
        }
        self.begin(&interaction, out);
        let index = event.index.unwrap_or_default().number;
        let (steps, emitter) = (&mut self.steps, &mut self.emitter);
        match (kind, event.step, event.delta) {
            ("step.start", Some(step), _) => steps.begin(index, step.get(), emitter, out)?,
            ("step.delta", _, Some(delta)) => steps.delta(index, delta.get(), emitter, out)?,
            ("step.stop", ..) => steps.end(index, emitter, out),
            _ => {}
        }
        // An answer that breaks off costs its last counts.
        if let Some(usage) = event.usage {
            self.emitter.usage(usage.tokens(), out);
        }
        self.emitter.check()
    }

    fn give_up(&mut self, _out: &mut Vec<EnvironmentEvent>) {
        self.emitter.stop();
    }
}

impl InteractionState {
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            steps: Steps::default(),
        }
    }

    fn begin(&mut self, interaction: &InteractionWire<'_>, out: &mut Vec<EnvironmentEvent>) {
        let id = interaction.id.as_deref().unwrap_or_default();
        let model = interaction.model.as_deref().unwrap_or_default();
        self.emitter.start(id, model, out);
    }

    /// Ends the answer with the interaction as a whole, unless it failed.
    pub(super) fn close(
        &mut self,
        interaction: &InteractionWire<'_>,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let status = interaction.status.as_deref().unwrap_or("completed");
        if matches!(status, "failed" | "cancelled") {
            self.usage(interaction, out);
            let errors = interaction.errors.iter().flatten();
            let said = errors.chain(&interaction.error).next();
            let said = said.map_or(r#"{"message":"the interaction failed"}"#, |error| error.get());
            return Err(StreamError::Provider(error::from_stream(said)));
        }
        self.begin(interaction, out);
        for (index, step) in (0..).zip(interaction.steps.iter().flatten()) {
            self.steps.whole(index, step.get(), &mut self.emitter, out)?;
        }
        self.steps.end_open(&mut self.emitter, out);
        self.emitter.check()?;
        self.usage(interaction, out);
        let stop_reason = match status {
            // The server asks the client to fetch the rest of a stored interaction: nothing is stored here.
            "incomplete" | "continuation_required" => StopReason::MaxTokens,
            "completed" | "requires_action" if self.steps.has_calls() => StopReason::ToolUse,
            "completed" => StopReason::EndTurn,
            _ => StopReason::Other,
        };
        self.emitter.end(stop_reason, Some(status.to_owned()), out);
        self.emitter.check()
    }

    /// Emits the usage, even of an answer that failed, if any was begun.
    fn usage(&mut self, interaction: &InteractionWire<'_>, out: &mut Vec<EnvironmentEvent>) {
        if let Some(usage) = &interaction.usage
            && self.emitter.started()
        {
            self.emitter.usage(usage.tokens(), out);
        }
    }
}

impl InteractionUsage {
    fn tokens(&self) -> Usage {
        let read = [
            self.total_input_tokens,
            self.total_cached_tokens,
            self.total_tool_use_tokens,
        ];
        gemini::tokens(read, [self.total_output_tokens, self.total_thought_tokens])
    }
}
