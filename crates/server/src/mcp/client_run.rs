//! One run of a session, followed to its end through whatever cuts its reader off.

use std::sync::Arc;

use agentx_runtime::{Delivery, RuntimeError, Subscription, ToolOutcome, View};
use agentx_types::{Envelope, RunId, RunStatus, RuntimeEvent, SessionId, StopReason, ToolStatus};

use crate::state::ServerState;

/// The number of cuts without an event between them, after which a run is not followed any more.
const MOST_CUTS: u32 = 8;

/// The end of a run, as its client gets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunEnd {
    /// The status; `None` while it runs.
    status: Option<RunStatus>,
    /// The last answer, as far as it came.
    text: String,
    /// The reason of a failure.
    why: Option<String>,
    /// Whether the last answer reached its maximum length.
    is_cut: bool,
}

impl RunEnd {
    /// Adds an event of the session of `run`. Returns whether the run is over.
    pub(crate) fn add(&mut self, run: &RunId, event: &Envelope<RuntimeEvent>) -> bool {
        if event.run_id.as_ref().is_some_and(|of| of != run) {
            return false;
        }
        match &event.event {
            RuntimeEvent::MessageStart(_) => self.text.clear(),
            RuntimeEvent::TextDelta(delta) => self.text.push_str(&delta.text),
            RuntimeEvent::MessageStop(stop) => self.is_cut = stop.stop_reason == StopReason::MaxTokens,
            RuntimeEvent::ErrorRaised(error) if error.retry_in_ms.is_none() => {
                self.why = Some(error.message.clone());
            }
            RuntimeEvent::TurnResponse(turn) if turn.run_id == *run => self.text.clone_from(&turn.text),
            RuntimeEvent::RunFinished(finished) if finished.run_id == *run => {
                self.status = Some(finished.status);
                if self.why.is_none() {
                    self.why.clone_from(&finished.reason);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    /// Returns whether the run was stopped from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        self.status == Some(RunStatus::Interrupted)
    }

    /// The outcome of the call that began the run.
    pub(crate) fn outcome(self, session: &SessionId) -> ToolOutcome {
        let why = match self.status {
            Some(RunStatus::Completed) if !self.is_cut => {
                return ToolOutcome::success(format!("{}\n\n[session {session}]", self.text));
            }
            Some(RunStatus::Completed) => "the answer is cut off: it reached the maximum length".to_owned(),
            Some(RunStatus::Interrupted) => "the run was stopped".to_owned(),
            Some(RunStatus::TimedOut) => self
                .why
                .unwrap_or_else(|| "a limit of the run was reached".into()),
            _ => self.why.unwrap_or_else(|| "the run failed".into()),
        };
        let text = format!("{why}\n{}\n\n[session {session}]", self.text);
        ToolOutcome::failed(ToolStatus::Failed, text)
    }
}

/// A step of a followed run.
pub(crate) enum ClientRunStep {
    /// An event of its session.
    Event(Arc<Envelope<RuntimeEvent>>),
    /// The run is over.
    Ended(RunEnd),
}

/// A run that is followed. A reader that is cut off continues from its last event.
pub(crate) struct ClientRun {
    state: Arc<ServerState>,
    session: SessionId,
    run: RunId,
    /// The last event from which on it is read again.
    after: u64,
    events: Option<Subscription>,
    end: RunEnd,
    cuts: u32,
}

impl ClientRun {
    /// Follows the run that the input with this `seq` begins.
    pub(crate) fn new(state: Arc<ServerState>, session: SessionId, input: u64) -> Self {
        Self {
            state,
            session,
            run: RunId::of_input(input),
            after: input.saturating_sub(1),
            events: None,
            end: RunEnd::default(),
            cuts: 0,
        }
    }

    /// Returns the next step. Nothing is lost if this future is dropped.
    ///
    /// # Errors
    /// Returns an error if the session cannot be followed, for example because it was deleted.
    pub(crate) async fn next(&mut self) -> Result<ClientRunStep, RuntimeError> {
        loop {
            let events = match &mut self.events {
                Some(events) => events,
                None => {
                    let open = self.state.open(&self.session).await?;
                    let events = open.subscribe(self.after, View::Runtime).await?;
                    self.events.insert(events)
                }
            };
            match events.next().await {
                Some(Delivery::Runtime(event)) => {
                    self.cuts = 0;
                    // A fact has several events, of which only some may have come before a cut.
                    self.after = event.seq.saturating_sub(1);
                    if self.end.add(&self.run, &event) {
                        return Ok(ClientRunStep::Ended(std::mem::take(&mut self.end)));
                    }
                    return Ok(ClientRunStep::Event(event));
                }
                Some(Delivery::Environment(_) | Delivery::CaughtUp(_)) => {}
                Some(Delivery::CutOff(_)) | None => {
                    self.events = None;
                    self.cuts += 1;
                    if self.cuts > MOST_CUTS {
                        let session = self.session.clone();
                        let why = "its events end before its run does".to_owned();
                        return Err(RuntimeError::Gone { session, why });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{
        ContentPart, ErrorRaised, EventDraft, MessageId, MessageStart, MessageStop, RunFinished, Source,
        TextDelta, Timestamp, Usage,
    };

    use super::*;

    fn run() -> RunId {
        RunId::of_input(3)
    }

    /// An event of this run.
    fn event(run: RunId, event: RuntimeEvent) -> Envelope<RuntimeEvent> {
        let draft = EventDraft {
            run_id: Some(run),
            ..EventDraft::new(Source::Agent, None, event)
        };
        draft.into_envelope(SessionId::new("ses_1"), 4, Timestamp(1))
    }

    fn finished(status: RunStatus, reason: Option<&str>) -> RuntimeEvent {
        RuntimeEvent::RunFinished(RunFinished {
            run_id: run(),
            status,
            reason: reason.map(str::to_owned),
            iterations: 0,
        })
    }

    fn said(text: &str) -> Vec<RuntimeEvent> {
        let message_id = MessageId::new("msg_1");
        let start = MessageStart {
            message_id,
            model: String::new(),
            attempt: 1,
        };
        let text = text.to_owned();
        vec![
            RuntimeEvent::MessageStart(start),
            RuntimeEvent::TextDelta(TextDelta { text }),
        ]
    }

    fn stopped(stop_reason: StopReason) -> RuntimeEvent {
        RuntimeEvent::MessageStop(MessageStop {
            message_id: MessageId::new("msg_1"),
            stop_reason,
            usage: Usage::default(),
        })
    }

    fn outcome_of(events: Vec<RuntimeEvent>) -> (ToolStatus, String) {
        let (mut end, last) = (RunEnd::default(), events.len() - 1);
        for (index, next) in events.into_iter().enumerate() {
            assert_eq!(end.add(&run(), &event(run(), next)), index == last);
        }
        let outcome = end.outcome(&SessionId::new("ses_1"));
        let text = outcome.content.iter().filter_map(ContentPart::as_text).collect();
        (outcome.status, text)
    }

    #[test]
    fn a_client_gets_the_last_answer_or_why_there_is_none() {
        let two = [
            said("first"),
            said("second"),
            vec![stopped(StopReason::EndTurn), finished(RunStatus::Completed, None)],
        ];
        let answered = outcome_of(two.concat());
        assert_eq!(
            answered,
            (ToolStatus::Success, "second\n\n[session ses_1]".to_owned())
        );
        let cut = [
            said("half"),
            vec![
                stopped(StopReason::MaxTokens),
                finished(RunStatus::Completed, None),
            ],
        ];
        let (status, text) = outcome_of(cut.concat());
        assert!(
            status == ToolStatus::Failed
                && text.starts_with("the answer is cut off")
                && text.contains("half")
        );
        let error = RuntimeEvent::ErrorRaised(ErrorRaised {
            code: "overloaded".into(),
            message: "the model is overloaded".into(),
            recoverable: true,
            retry_in_ms: None,
            gives_up_in_ms: None,
            status: None,
        });
        let failed = vec![error, finished(RunStatus::Failed, Some("it failed"))];
        assert!(outcome_of(failed).1.starts_with("the model is overloaded"));
        let limited = vec![finished(RunStatus::TimedOut, Some("the limit"))];
        assert!(outcome_of(limited).1.starts_with("the limit"));
    }

    #[test]
    fn what_another_run_of_the_session_says_is_not_the_answer() {
        let mut end = RunEnd::default();
        for next in said("of an agent below") {
            assert!(!end.add(&run(), &event(RunId::of_input(9), next)));
        }
        assert_eq!(end, RunEnd::default());
    }
}
