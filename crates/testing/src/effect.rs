//! Runs an effector on one action, outside of any session, and collects its events.

use std::sync::Arc;

use agentx_runtime::{CallSlots, Effector, EventSink, FactBatch as SaidAtOnce, SessionScope};
use agentx_types::{Action, ActionKind, EnvironmentEvent, Vocabulary as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fixture;

/// Performs `action` to its end.
pub async fn perform(effector: &dyn Effector, action: Arc<Action>) -> EffectorOutput {
    start(effector, action).finish().await
}

/// Gives it one action of each kind but `performs`, and it has to end without a word.
///
/// # Panics
/// Panics if the effector emits anything.
pub async fn check_others(effector: &dyn Effector, performs: ActionKind) {
    for action in fixture::actions() {
        let kind = action.body.kind();
        if kind != performs {
            let said = perform(effector, action).await;
            assert_eq!(said, EffectorOutput::default(), "an action of the kind {kind:?}");
        }
    }
}

/// Begins to perform `action`; the test reads the events, and may stop it.
pub fn start(effector: &dyn Effector, action: Arc<Action>) -> Performance {
    let (queue, drafts) = mpsc::channel(4);
    let sink = EventSink::for_action(queue, &action);
    start_with(effector, action, sink, drafts)
}

/// Performs `action` to its end, as a part of the session of all fixtures.
pub async fn perform_in_session(effector: &dyn Effector, action: Arc<Action>) -> EffectorOutput {
    let (queue, drafts) = mpsc::channel(4);
    let session = SessionScope::new(fixture::session_id(), CallSlots::default());
    let sink = EventSink::in_session(queue, &action, session);
    start_with(effector, action, sink, drafts).finish().await
}

fn start_with(
    effector: &dyn Effector,
    action: Arc<Action>,
    sink: EventSink,
    drafts: mpsc::Receiver<SaidAtOnce>,
) -> Performance {
    let cancel = CancellationToken::new();
    let task = tokio::spawn(effector.perform(action.clone(), sink, cancel.clone()));
    Performance {
        action,
        drafts,
        cancel,
        task,
        said: EffectorOutput::default(),
    }
}

/// An action that is being performed.
#[derive(Debug)]
pub struct Performance {
    action: Arc<Action>,
    drafts: mpsc::Receiver<SaidAtOnce>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
    said: EffectorOutput,
}

impl Performance {
    /// Waits until an event with this tag is emitted; `false` if it ended without one.
    pub async fn wait_for(&mut self, tag: &str) -> bool {
        while !self.said.events.iter().any(|event| event.tag() == tag) {
            if !self.receive().await {
                return false;
            }
        }
        true
    }

    /// Waits for the next events, and returns how many came together; `None` at the end.
    pub async fn next(&mut self) -> Option<usize> {
        if self.receive().await {
            self.said.batches.last().copied()
        } else {
            None
        }
    }

    /// Returns the events that [`Self::wait_for`] or [`Self::next`] have received.
    pub fn output(&self) -> &EffectorOutput {
        &self.said
    }

    /// Asks it to stop.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Drops the receiver as a closed session does. Waits until the effector has ended.
    ///
    /// # Panics
    /// Panics if the effector panicked.
    pub async fn hang_up(self) {
        drop(self.drafts);
        self.task
            .await
            .unwrap_or_else(|error| panic!("the effector failed: {error}"));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Panics if the effector panicked, or emitted something under another action's id.
    pub async fn finish(mut self) -> EffectorOutput {
        while self.receive().await {}
        self.task
            .await
            .unwrap_or_else(|error| panic!("the effector failed: {error}"));
        self.said
    }

    async fn receive(&mut self) -> bool {
        let Some(SaidAtOnce {
            drafts, committed, ..
        }) = self.drafts.recv().await
        else {
            return false;
        };
        if let Some(committed) = committed {
            // There is no log; emitted events count as stored.
            let _ = committed.send(Ok(0));
        }
        self.said.batches.push(drafts.len());
        for draft in drafts {
            assert_eq!(
                draft.cause.as_ref(),
                Some(&self.action.action_id),
                "under the id of its action"
            );
            assert_eq!(draft.run_id, self.action.run_id, "in the run of its action");
            self.said.events.push(draft.event);
        }
        true
    }
}

/// The events that an effector emitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectorOutput {
    /// The events, in order.
    pub events: Vec<EnvironmentEvent>,
    /// The sizes of the batches, in order.
    pub batches: Vec<usize>,
}

impl EffectorOutput {
    /// Returns the tags, one for each event.
    pub fn all_tags(&self) -> Vec<&str> {
        self.events.iter().map(EnvironmentEvent::tag).collect()
    }

    /// Returns the tags, with equal tags in a row counted once.
    pub fn tags(&self) -> Vec<&str> {
        let mut tags = self.all_tags();
        tags.dedup();
        tags
    }

    /// Returns all text chunks, joined.
    pub fn text(&self) -> String {
        let text = |event: &EnvironmentEvent| match event {
            EnvironmentEvent::TextChunk(chunk) => Some(chunk.text.clone()),
            _ => None,
        };
        self.events.iter().filter_map(text).collect()
    }

    /// Everything as JSON, for searching.
    pub fn json(&self) -> String {
        // Events are plain data with string keys; writing them to memory has no way to fail.
        serde_json::to_string(&self.events).unwrap_or_default()
    }
}
