//! Acting over the bus: a committed action is a request, and the responder that serves it answers with facts.
//!
//! The driver of a session hands in each action after its `action_started` is committed. Responders are
//! attached and detached while sessions run; most of them are [`Effector`]s.
//!
//! ```text
//! driver ── ActionRequest (topic, key) ──▶ Dispatcher ──▶ one responder ──▶ Effector::perform ──▶ EventSink ──▶ driver
//!                                              │
//!                                              └─ nobody serves it: the action has failed
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agentx_bus::{
    Addressed, Claim, Dispatcher, Grace, KeyPattern, RequestError, ResponderId, ResponderInfo, Serve, Ticket,
};
use agentx_types::{Action, ActionBody, ActionKind, LeftRunning, SessionId, TimerFired, ToolCallId, topic};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::effects::commands::CommandDispatcher;
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Maximum number of actions that an effector performs at once. An effector may have lower bounds, as tools
/// have with [`CallSlots`](crate::CallSlots).
const AT_ONCE: usize = 4_096;
/// Maximum number of actions that wait for an effector.
const WAITING: usize = 65_536;

/// An action on its way to the responder that performs it.
///
/// Its topic and key are how a responder is found: `tools.requests` and the tool's name, `llm.requests` and
/// `provider/model`.
#[derive(Debug)]
pub struct ActionRequest {
    session: SessionId,
    action: Arc<Action>,
    events: EventSink,
    key: String,
}

impl ActionRequest {
    /// A request for an action; the key follows from its body.
    pub(crate) fn new(session: SessionId, action: Arc<Action>, events: EventSink) -> Self {
        let key = key_of(&action.body);
        Self {
            session,
            action,
            events,
            key,
        }
    }

    /// The requested action.
    pub fn action(&self) -> &Arc<Action> {
        &self.action
    }

    /// The sink for the facts that answer it.
    pub fn events(&self) -> &EventSink {
        &self.events
    }
}

impl Addressed for ActionRequest {
    fn topic(&self) -> &str {
        topic::of_action(self.action.body.kind())
    }

    fn key(&self) -> &str {
        &self.key
    }

    fn session(&self) -> &str {
        self.session.as_str()
    }
}

/// Returns the key on the topic of an action: the tool's name, or `provider/model`; nothing for others.
fn key_of(body: &ActionBody) -> String {
    let model = |model: &agentx_types::ModelSpec| format!("{}/{}", model.provider, model.id);
    match body {
        ActionBody::CallModel(call) => model(&call.request.model),
        ActionBody::Condense(condense) => model(&condense.request.model),
        ActionBody::ProposeMemories(propose) => model(&propose.request.model),
        ActionBody::BuildContext(request) => request.source.name.clone(),
        ActionBody::AssessRisk(assess) => assess.analyzer.name.clone(),
        ActionBody::CallTool(call) => call.name.clone(),
        _ => String::new(),
    }
}

/// The responders that perform the actions of sessions. Clones share the same state.
#[derive(Clone)]
pub struct ActionDispatcher(Arc<ActionsInner>);

/// A handle on an [`ActionDispatcher`] that does not keep it alive: an effector that the dispatcher owns may
/// hold one.
pub(crate) struct WeakDispatcher(Weak<ActionsInner>);

impl WeakDispatcher {
    /// The dispatcher; `None` if its runtime is gone.
    pub(crate) fn upgrade(&self) -> Option<ActionDispatcher> {
        self.0.upgrade().map(ActionDispatcher)
    }
}

struct ActionsInner {
    requests: Dispatcher<ActionRequest>,
    /// The effectors that are notified when sessions come and go.
    effectors: Mutex<BTreeMap<ResponderId, AttachedEffector>>,
    /// The commands that reactors serve.
    commands: CommandDispatcher,
}

/// An effector that is attached.
struct AttachedEffector {
    /// The effector, which is notified when sessions come and go.
    effector: Arc<dyn Effector>,
    /// The tasks that it performs.
    work: TaskTracker,
}

impl ActionDispatcher {
    /// Performs timers, and nothing else yet.
    pub fn new() -> Self {
        let actions = Self(Arc::new(ActionsInner {
            requests: Dispatcher::new(),
            effectors: Mutex::new(BTreeMap::new()),
            commands: CommandDispatcher::default(),
        }));
        actions.serve(ActionKind::StartTimer, Arc::new(Timers));
        actions
    }

    /// Also attaches `effector` for all actions of a kind that nobody serves more specifically.
    #[must_use]
    pub fn with(self, kind: ActionKind, effector: Arc<dyn Effector>) -> Self {
        self.serve(kind, effector);
        self
    }

    /// Attaches an effector for all actions of a kind that nobody serves more specifically.
    pub fn serve(&self, kind: ActionKind, effector: Arc<dyn Effector>) -> ResponderId {
        let serve = Serve::new(kind_word(kind)).on(topic::of_action(kind), KeyPattern::any());
        self.serve_as(serve.capacity(AT_ONCE).waiting(WAITING), effector)
    }

    /// Attaches an effector for the actions that `serve` names. Must be called inside a tokio runtime if
    /// sessions are open.
    pub fn serve_as(&self, serve: Serve, effector: Arc<dyn Effector>) -> ResponderId {
        let (performs, work) = (Arc::clone(&effector), TaskTracker::new());
        let tasks = work.clone();
        let perform = move |claim: Claim<ActionRequest>| {
            let effector = Arc::clone(&performs);
            tasks.spawn(async move {
                let (action, over) = (Arc::clone(claim.action()), claim.abandoned_token().clone());
                let events = claim.events().closed_by(over);
                let work = effector.perform(action, events, claim.cancel_token().clone());
                tokio::select! {
                    biased;
                    () = claim.abandoned() => {}
                    () = work => claim.settle(),
                }
            });
        };
        let id = self.0.requests.serve_with(serve, perform);
        self.effectors().insert(id, AttachedEffector { effector, work });
        id
    }

    /// A handle that does not keep the dispatcher alive.
    pub(crate) fn downgrade(&self) -> WeakDispatcher {
        WeakDispatcher(Arc::downgrade(&self.0))
    }

    /// Detaches a responder: nothing new reaches it.
    pub fn detach(&self, responder: ResponderId, grace: Grace) {
        self.0.requests.detach(responder, grace);
        let gone = self.effectors().remove(&responder);
        // Dropping it may run its code, so the lock is released first.
        drop(gone);
    }

    /// Detaches a responder, and completes when it has ended all its requests.
    pub(crate) async fn finish(&self, responder: ResponderId) {
        self.0.requests.detach(responder, Grace::Finish);
        let gone = self.effectors().remove(&responder);
        if let Some(gone) = gone {
            gone.work.close();
            gone.work.wait().await;
        }
    }

    /// The commands that reactors serve.
    pub fn commands(&self) -> &CommandDispatcher {
        &self.0.commands
    }

    /// The responders, with the requests that they serve and how many of them.
    pub fn responders(&self) -> Vec<ResponderInfo> {
        self.0.requests.responders()
    }

    /// Hands a request to its responder, or queues it.
    ///
    /// # Errors
    /// Returns an error if nobody serves it, or too many wait.
    pub(crate) fn request(&self, request: ActionRequest) -> Result<Ticket<ActionRequest>, RequestError> {
        self.0.requests.request(request)
    }

    /// Ends the pause before the next retry.
    pub(crate) fn retry_now(&self, session: &SessionId) {
        for effector in self.all() {
            effector.retry_now(session);
        }
    }

    /// This process takes over a session from another one: ends the commands that the other one left running.
    pub(crate) async fn session_taken_over(
        &self,
        session: &SessionId,
        open: &[ToolCallId],
    ) -> Vec<LeftRunning> {
        let mut ended = Vec::new();
        for effector in self.all() {
            ended.extend(effector.session_taken_over(session, open.to_vec()).await);
        }
        ended
    }

    /// Notifies every effector that this process gives up a session.
    pub(crate) async fn session_closed(&self, session: &SessionId) {
        for effector in self.all() {
            effector.session_closed(session).await;
        }
    }

    /// Copies the current effectors, so that none is called under the lock.
    fn all(&self) -> Vec<Arc<dyn Effector>> {
        let attached = self.effectors();
        attached.values().map(|known| known.effector.clone()).collect()
    }

    fn effectors(&self) -> MutexGuard<'_, BTreeMap<ResponderId, AttachedEffector>> {
        self.0.effectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ActionDispatcher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ActionDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActionDispatcher({} responders)", self.responders().len())
    }
}

/// The name of the responder for all actions of a kind, as errors have it.
fn kind_word(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::CallModel => "models",
        ActionKind::Condense => "condenser",
        ActionKind::BuildContext => "context",
        ActionKind::AssessRisk => "security",
        ActionKind::ProposeMemories => "learning",
        ActionKind::CallTool => "tools",
        ActionKind::StartTimer => "timers",
        _ => "actions",
    }
}

/// Waits until it is time.
struct Timers;

impl Effector for Timers {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::StartTimer(timer) = &action.body else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(timer.after_ms)) => {
                    events.emit(TimerFired { timer: timer.timer }).await;
                }
                () = cancel.cancelled() => {}
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;
    use tokio::sync::mpsc;

    use super::*;
    use crate::log::log_in_memory::MemoryLog;
    use crate::tools::served_tool::{ServedTool, ToolCallRunner};
    use crate::tools::tool::{Tool, ToolContext, ToolOutcome};

    struct Echo;

    impl Tool for Echo {
        fn spec(&self) -> agentx_types::ToolSpec {
            fixture::tool("echo", "text", agentx_types::Access::Internal)
        }

        fn call(&self, _: serde_json::Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
            Box::pin(std::future::ready(ToolOutcome::success("echo")))
        }
    }

    /// `check_others` of `agentx-testing` does so for the effectors that other crates see.
    #[tokio::test]
    async fn effectors_of_the_runtime_are_silent_about_actions_of_other_kinds() {
        let calls = ToolCallRunner::new(Arc::new(MemoryLog::new()));
        let effectors: [(ActionKind, Box<dyn Effector>); 2] = [
            (ActionKind::StartTimer, Box::new(Timers)),
            (
                ActionKind::CallTool,
                Box::new(ServedTool::new(Arc::new(Echo), calls)),
            ),
        ];
        for (kind, effector) in &effectors {
            for action in fixture::actions() {
                let (queue, mut said) = mpsc::channel(4);
                let sink = EventSink::for_action(queue, &action);
                effector
                    .perform(action.clone(), sink, CancellationToken::new())
                    .await;
                let is_its_own = action.body.kind() == *kind;
                assert_eq!(
                    said.recv().await.is_some(),
                    is_its_own,
                    "{kind:?} was given {action:?}"
                );
            }
        }
    }
}
