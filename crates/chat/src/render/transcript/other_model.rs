//! The line about an answer of another model than the configured one: a fallback of the agent, or a model
//! that the provider lets continue the answer. The model name in a server's answer does not show this,
//! because gateways have names of their own.

use agentx::types::{ContextChange, RuntimeEvent, StopReason};

use super::TranscriptRenderer;
use crate::render::clean::visible;

/// The model that answers in place of the configured one.
#[derive(Debug, Default)]
pub(super) struct OtherModel {
    /// The fallback that is asked until the run ends.
    asked: Option<String>,
    /// The model that continues the answer in progress.
    continues: Option<String>,
    /// The model of the answer before, if it was another one.
    named: Option<String>,
}

impl OtherModel {
    /// Reads the next event. Returns the model to name behind it, if it ends an answer of another model and
    /// the answer before it was not of the same one.
    fn take(&mut self, event: &RuntimeEvent) -> Option<String> {
        match event {
            RuntimeEvent::ContextChanged(changed) => {
                if let ContextChange::FellBack { to, .. } = &changed.change {
                    self.asked = Some(visible(to));
                }
            }
            RuntimeEvent::MessageStart(_) => self.continues = None,
            RuntimeEvent::FallbackAnswers(fallback) => self.continues = Some(visible(&fallback.model)),
            RuntimeEvent::MessageStop(stop) if stop.stop_reason != StopReason::Broken => {
                let model = self.continues.take().or_else(|| self.asked.clone());
                let before = std::mem::replace(&mut self.named, model.clone());
                return model.filter(|model| before.as_ref() != Some(model));
            }
            RuntimeEvent::RunFinished(_) => *self = Self::default(),
            _ => {}
        }
        None
    }
}

impl TranscriptRenderer {
    /// Prints the model that answered, behind an answer of another one than the configured.
    pub(super) fn tell_other_model(&mut self, event: &RuntimeEvent) {
        if let Some(model) = self.other_model.take(event) {
            let line = self.style.dim(&format!("answered by {model}"));
            self.aside(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        ContextChanged, FallbackAnswers, MessageStart, MessageStop, RunFinished, RunStatus, TextDelta, Usage,
    };

    use super::*;
    use crate::render::style::AnsiStyle;

    fn fell_back() -> RuntimeEvent {
        let change = ContextChange::FellBack {
            from: "stone/opal".into(),
            to: "slate/flint".into(),
            code: "overloaded".into(),
            message: "made up".into(),
            unpriced: false,
        };
        ContextChanged { change }.into()
    }

    /// An answer that `other` continues, if there is one.
    fn answer(other: Option<&str>, stop_reason: StopReason) -> Vec<RuntimeEvent> {
        let start = MessageStart {
            message_id: "msg_1".into(),
            model: "opal".into(),
            attempt: 1,
        };
        let continues = other.map(|model| {
            RuntimeEvent::from(FallbackAnswers {
                message_id: "msg_1".into(),
                model: model.into(),
                prices: None,
            })
        });
        let text = TextDelta { text: "so".into() };
        let stop = MessageStop {
            message_id: "msg_1".into(),
            stop_reason,
            usage: Usage::default(),
        };
        let mut events = vec![start.into()];
        events.extend(continues);
        events.extend([text.into(), stop.into()]);
        events
    }

    fn finished() -> RuntimeEvent {
        let finished = RunFinished {
            run_id: "run_1".into(),
            status: RunStatus::Completed,
            reason: None,
            iterations: 1,
        };
        finished.into()
    }

    /// The models that are named behind these events.
    fn named(events: &[RuntimeEvent]) -> Vec<String> {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        events.iter().for_each(|event| transcript.event(event));
        let text: String = transcript.take().into_iter().map(|piece| piece.text).collect();
        let lines = text.lines().filter_map(|line| line.strip_prefix("answered by "));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_fallback_is_named_behind_its_first_answer_in_each_run() {
        let answer = || answer(None, StopReason::EndTurn);
        assert!(named(&answer()).is_empty());
        let run = [vec![fell_back()], answer(), answer(), vec![finished()]].concat();
        assert_eq!(named(&run), ["slate/flint"]);
        assert_eq!(
            named(&[run.clone(), answer()].concat()),
            ["slate/flint"],
            "the own model again"
        );
        assert_eq!(named(&[run.clone(), run].concat()), ["slate/flint"; 2]);
    }

    #[test]
    fn a_model_that_continues_an_answer_is_named_behind_it() {
        let own = || answer(None, StopReason::EndTurn);
        let other = || answer(Some("flint"), StopReason::EndTurn);
        assert_eq!(named(&[other(), other()].concat()), ["flint"]);
        assert_eq!(named(&[other(), own(), other()].concat()), ["flint"; 2]);
        assert!(named(&answer(Some("flint"), StopReason::Broken)).is_empty());
    }
}
