//! What a session has under way: one task for each action, cancellable, and never silently gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use agentx_types::{
    Action, ActionBody, ActionId, CondensingFailed, ContentPart, DecideInnerCall, Draft, EnvironmentEvent,
    ErrorOccurred, SessionId, Source, TimerFired, ToolResult, ToolStatus,
};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::DriverParts;
use crate::inner::{ConfigNow, Decisions};
use crate::{EventSink, Said, SessionFold};

/// How long tasks that were cancelled may take to end when the session does.
const ABANDON_GRACE: Duration = Duration::from_secs(2);

pub(super) struct Effects {
    session_id: SessionId,
    queue: mpsc::Sender<Said>,
    tasks: JoinSet<()>,
    by_task: HashMap<Id, ActionId>,
    running: BTreeMap<ActionId, Running>,
}

struct Running {
    action: Arc<Action>,
    cancel: CancellationToken,
    decisions: Decisions,
    config_now: ConfigNow,
}

impl Effects {
    /// Nothing is under way yet; what effectors say goes into `queue`.
    pub(super) fn new(session_id: SessionId, queue: mpsc::Sender<Said>) -> Self {
        Self {
            session_id,
            queue,
            tasks: JoinSet::new(),
            by_task: HashMap::new(),
            running: BTreeMap::new(),
        }
    }

    /// Performs an action.
    pub(super) fn start(&mut self, parts: &DriverParts, action: Arc<Action>) {
        let cancel = CancellationToken::new();
        let (decisions, config_now) = (Decisions::default(), ConfigNow::default());
        let sink = EventSink::for_action(self.queue.clone(), &action)
            .in_session(self.session_id.clone())
            .deciding_by(decisions.clone())
            .with_config(config_now.clone());
        let task = match (&action.body, parts.effectors.get(&action.body.kind())) {
            (ActionBody::StartTimer(timer), _) => {
                let fired = TimerFired { timer: timer.timer };
                let after = Duration::from_millis(timer.after_ms);
                let cancel = cancel.clone();
                self.tasks.spawn(async move {
                    tokio::select! {
                        () = tokio::time::sleep(after) => drop(sink.emit(fired).await),
                        () = cancel.cancelled() => {}
                    }
                })
            }
            (_, Some(effector)) => self
                .tasks
                .spawn(effector.perform(action.clone(), sink, cancel.clone())),
            (_, None) => self.tasks.spawn(async {}),
        };
        self.by_task.insert(task.id(), action.action_id.clone());
        self.running.insert(
            action.action_id.clone(),
            Running {
                action,
                cancel,
                decisions,
                config_now,
            },
        );
    }

    /// Tells a tool that runs what was decided about a call that it wants to make.
    pub(super) fn decide(&self, decide: &DecideInnerCall) {
        if let Some(running) = self.running.get(&decide.action_id) {
            running
                .decisions
                .tell(&decide.tool_call_id, decide.decision.clone());
        }
    }

    /// Tells the tools that run how their agents are configured by now.
    pub(super) fn configure(&self, fold: &SessionFold) {
        for running in self.running.values() {
            let is_tool = matches!(running.action.body, ActionBody::CallTool(_));
            if let Some(agent) = fold.agent(&running.action.agent_state_id).filter(|_| is_tool) {
                running.config_now.set(agent.config());
            }
        }
    }

    /// Asks an action to stop.
    pub(super) fn cancel(&self, id: &ActionId) {
        if let Some(running) = self.running.get(id) {
            running.cancel.cancel();
        }
    }

    /// The next action whose task has ended, also by a panic. Waits for ever while nothing is under way.
    pub(super) async fn ended(&mut self) -> Option<ActionId> {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => {
                tracing::error!(%error, "an effector did not end well");
                error.id()
            }
            None => return std::future::pending().await,
        };
        self.by_task.remove(&id)
    }

    /// Takes an ended action off the books.
    pub(super) fn forget(&mut self, id: &ActionId) -> Option<Arc<Action>> {
        self.running.remove(id).map(|running| running.action)
    }

    /// Cancels everything and waits, within a bound, until it has ended.
    pub(super) async fn abandon(&mut self, parts: &DriverParts) {
        for running in self.running.values() {
            running.cancel.cancel();
        }
        let all_ended = async {
            while self.tasks.join_next().await.is_some() {}
            for effector in parts.effectors.values() {
                effector.session_closed(&self.session_id).await;
            }
        };
        if tokio::time::timeout(ABANDON_GRACE, all_ended).await.is_err() {
            self.tasks.abort_all();
        }
    }
}

/// What is put on record for an action whose effector ended without a last word (it panicked, or there is none).
pub(super) fn silent_end(action: &Action) -> Option<Draft<EnvironmentEvent>> {
    let event: EnvironmentEvent = match &action.body {
        ActionBody::CallModel(call) => ErrorOccurred {
            code: "no_answer".into(),
            message: format!(
                "the environment of {} ended without an answer",
                call.request.model.provider
            ),
            recoverable: true,
        }
        .into(),
        ActionBody::Condense(_) => CondensingFailed {
            code: "no_answer".into(),
            message: "whoever writes summaries ended without one".into(),
            bill: None,
        }
        .into(),
        ActionBody::CallTool(call) => ToolResult {
            tool_call_id: call.tool_call_id.clone(),
            result: vec![ContentPart::text(format!(
                "The tool {} ended without a result; it may or may not have had its effect.",
                call.name
            ))],
            is_error: true,
            status: ToolStatus::Failed,
            details: None,
        }
        .into(),
        _ => return None,
    };
    Some(Draft {
        source: Source::System,
        agent_state_id: Some(action.agent_state_id.clone()),
        run_id: action.run_id.clone(),
        cause: Some(action.action_id.clone()),
        event,
    })
}
