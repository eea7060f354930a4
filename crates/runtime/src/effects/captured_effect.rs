//! Runs an effector and passes its events to the caller instead of the session log, for a script that asks a
//! model or a model that writes a summary. The caller decides which events become facts.
//!
//! The effector sends its events through a sink, as it does for a session. If it waits until an event is
//! committed, the wait ends immediately.

use std::sync::Arc;
use std::time::Duration;

use agentx_session::settles_action;
use agentx_types::{Action, ActionKind, EnvironmentEvent, EventDraft, SessionId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::effects::call_slots::CallSlots;
use crate::effects::effect::{Effector, EventSink, FactBatch, SessionScope};
use crate::future::BoxFuture;

/// Maximum number of batches that an effector may be ahead of the reader; then it waits.
const AHEAD: usize = 64;
/// The time in which an effector ends after its final event.
const END: Duration = Duration::from_secs(1);

/// An action that is performed while it is listened to. Dropping it drops the effector's work.
pub struct CapturedEffect {
    /// The kind of the action, which decides what its final event is.
    kind: ActionKind,
    /// The work of the effector, which continues while it is listened to.
    performing: BoxFuture<'static, ()>,
    /// Whether that work has ended.
    is_performed: bool,
    /// The events of the effector.
    queue: mpsc::Receiver<FactBatch>,
    /// The rest of the events that it emitted together.
    heard: std::vec::IntoIter<EventDraft<EnvironmentEvent>>,
}

impl CapturedEffect {
    /// Begins `action`; it is performed while [`CapturedEffect::next`] is waited for. Its sink knows
    /// `session`, if one is named.
    pub fn of(
        effector: &dyn Effector,
        action: Arc<Action>,
        session: Option<SessionId>,
        cancel: CancellationToken,
    ) -> Self {
        let (sender, queue) = mpsc::channel(AHEAD);
        let sink = match session {
            Some(session) => {
                EventSink::in_session(sender, &action, SessionScope::new(session, CallSlots::default()))
            }
            None => EventSink::for_action(sender, &action),
        };
        Self {
            kind: action.body.kind(),
            performing: effector.perform(action, sink, cancel),
            is_performed: false,
            queue,
            heard: Vec::new().into_iter(),
        }
    }

    /// Returns the next event; `None` after the last one of an effector that has ended. Dropping the future
    /// loses no event.
    pub async fn next(&mut self) -> Option<EnvironmentEvent> {
        loop {
            let next = self.heard.as_slice().first();
            if next.is_some_and(|draft| settles_action(self.kind, &draft.event)) {
                self.end().await;
            }
            if let Some(draft) = self.heard.next() {
                return Some(draft.event);
            }
            let said = tokio::select! {
                biased;
                said = self.queue.recv() => said?,
                () = &mut self.performing, if !self.is_performed => {
                    self.is_performed = true;
                    continue;
                }
            };
            if let Some(committed) = said.committed {
                // There is no log, so a waiting effector is notified immediately.
                let _ = committed.send(Ok(0));
            }
            self.heard = said.drafts.into_iter();
        }
    }

    /// Lets the effector end before its final event is returned. The caller drops this value then, and a
    /// request over the bus that is dropped before its responder has settled it counts as lost.
    async fn end(&mut self) {
        if self.is_performed {
            return;
        }
        if tokio::time::timeout(END, &mut self.performing).await.is_err() {
            // It breaks the contract of effectors, so drop it.
            self.performing = Box::pin(std::future::ready(()));
        }
        self.is_performed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_testing::fixture;
    use agentx_types::{ActionBody, ActionId, AgentStateId, Cancel, StopReason, StreamEnd, TextChunk};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Emits more than fits, and waits for the log before its last event.
    struct Talker;

    impl Effector for Talker {
        fn perform(&self, _: Arc<Action>, events: EventSink, _: CancellationToken) -> BoxFuture<'static, ()> {
            Box::pin(async move {
                for text in 0..=AHEAD {
                    events
                        .emit(TextChunk {
                            text: text.to_string(),
                        })
                        .await;
                }
                let committed = events.commit(TextChunk { text: "last".into() }).await;
                assert_eq!(committed, Some(0));
            })
        }
    }

    #[tokio::test]
    async fn all_that_is_said_is_heard_in_order_and_nobody_waits_for_a_log() {
        let action_id = ActionId::with_suffix("1");
        let action = Arc::new(Action {
            action_id: action_id.clone(),
            agent_state_id: AgentStateId::new("agt_1"),
            run_id: None,
            body: ActionBody::Cancel(Cancel { action_id }),
        });
        let mut overheard = CapturedEffect::of(&Talker, action, None, CancellationToken::new());
        let mut heard = Vec::new();
        while let Some(event) = overheard.next().await {
            if let EnvironmentEvent::TextChunk(chunk) = event {
                heard.push(chunk.text);
            }
        }
        let said: Vec<String> = (0..=AHEAD).map(|text| text.to_string()).collect();
        assert_eq!(heard[..=AHEAD], said);
        assert_eq!(heard[AHEAD + 1..], ["last"]);
    }

    /// Ends some time after its final event, as a task of a responder does.
    struct EndsLater(Arc<AtomicBool>);

    impl Effector for EndsLater {
        fn perform(&self, _: Arc<Action>, events: EventSink, _: CancellationToken) -> BoxFuture<'static, ()> {
            let has_ended = self.0.clone();
            Box::pin(async move {
                let end = StreamEnd {
                    stop_reason: StopReason::EndTurn,
                    raw: None,
                };
                events.emit(end).await;
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                has_ended.store(true, Ordering::SeqCst);
            })
        }
    }

    #[tokio::test]
    async fn the_final_event_comes_when_the_effector_has_ended() {
        let has_ended = Arc::new(AtomicBool::new(false));
        let effector = EndsLater(has_ended.clone());
        let action = fixture::call_model("hello");
        let mut overheard = CapturedEffect::of(&effector, action, None, CancellationToken::new());
        let event = overheard.next().await;
        assert!(matches!(event, Some(EnvironmentEvent::StreamEnd(_))), "{event:?}");
        assert!(has_ended.load(Ordering::SeqCst), "dropping it now drops no work");
        assert!(overheard.next().await.is_none());
    }
}
