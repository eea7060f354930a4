//! The actions of a session in progress: one request for each action, cancellable, and never silently gone.
//!
//! For each action there is a record here from `start` until `take_ended`, and a task that waits for the end
//! of its request. The end shows whether a responder accepted and finished the request. The fold knows
//! whether a terminal event was recorded; if not, the result of [`outcome_of`] is recorded. So each action is
//! settled exactly once (decision 034 in `issues/`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{self as bus, Canceller, RequestError};
use agentx_types::{
    Action, ActionBody, ActionId, CondensingFailed, ContentPart, ContextBuilt, DecideInnerCall,
    EnvironmentEvent, ErrorOccurred, EventDraft, MemoriesProposed, RiskAssessed, RiskVerdict, SessionId,
    Source, StopReason, StreamEnd, ToolResult, ToolStatus,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::parts::DriverParts;
use crate::effects::actions::ActionRequest;
use crate::effects::effect::{EventSink, FactBatch, SessionScope};
use crate::effects::nested_calls::{CurrentConfig, Decisions};
use agentx_session::{SessionFold, settles_action};

/// Time limit for cancelled tasks to end when the session ends.
const ABANDON_GRACE: Duration = Duration::from_secs(2);

/// The longest time for the verdict of an analyzer, if its own time limit is longer.
const LONGEST_VERDICT: Duration = Duration::from_secs(600);
/// The time that an analyzer has to report that its time is over.
const VERDICT_GRACE: Duration = Duration::from_secs(1);

/// Maximum number of lost actions to remember; the latest are kept. [`EventSink`] refuses later events of
/// their responders. Only events that were already queued arrive here, and the queue has fewer slots.
const MOST_LOST: usize = 256;

/// The actions of a session in progress.
pub(super) struct RunningActions {
    /// The session of these actions.
    session_id: SessionId,
    /// The sequencer's queue, which gets the events of responders.
    queue: mpsc::Sender<FactBatch>,
    /// A task for each request, which waits for its end.
    ends: JoinSet<(ActionId, ActionEnd)>,
    /// The actions that have not ended.
    running: BTreeMap<ActionId, RunningAction>,
    /// The latest lost actions, whose later events are refused.
    lost: VecDeque<ActionId>,
}

/// An action in progress, and the ways to its responder.
struct RunningAction {
    action: Arc<Action>,
    /// Whether its responder has recorded the final fact.
    is_settled: bool,
    /// `None` if no responder accepted the request.
    request: Option<Canceller<ActionRequest>>,
    /// Passes decisions about nested calls to the tool.
    decisions: Decisions,
    /// Passes the current configuration of its agent to the tool.
    config_now: CurrentConfig,
}

/// The end of an action, as far as its responder did not report it.
#[derive(Debug)]
pub(super) enum ActionEnd {
    /// The request was accepted by a responder, or waited for one.
    Request(bus::RequestEnd),
    /// No responder took it, for this reason: nothing was done.
    Refused(RequestError),
}

impl RunningActions {
    /// No action is in progress yet; events of responders go into `queue`.
    pub(super) fn new(session_id: SessionId, queue: mpsc::Sender<FactBatch>) -> Self {
        Self {
            session_id,
            queue,
            ends: JoinSet::new(),
            running: BTreeMap::new(),
            lost: VecDeque::new(),
        }
    }

    /// Hands in an action that is committed, with its `action_started`. Never waits: if the responder is
    /// full, the action waits in the dispatcher.
    pub(super) fn start(&mut self, parts: &DriverParts, action: Arc<Action>) {
        let session = SessionScope::new(self.session_id.clone(), parts.slots.clone());
        let (decisions, config_now) = (session.decisions.clone(), session.config_now.clone());
        let sink = EventSink::in_session(self.queue.clone(), &action, session);
        let id = action.action_id.clone();
        let request = ActionRequest::new(self.session_id.clone(), action.clone(), sink);
        let request = match parts.actions.request(request) {
            Ok(ticket) => {
                let canceller = ticket.canceller();
                let (id, limit) = (id.clone(), time_limit(&action));
                self.ends.spawn(async move {
                    let ended = match limit {
                        None => ticket.ended().await,
                        // A dropped ticket abandons the request, and its responder learns of that.
                        Some(limit) => tokio::time::timeout(limit, ticket.ended())
                            .await
                            .unwrap_or(bus::RequestEnd::Lost),
                    };
                    (id, ActionEnd::Request(ended))
                });
                Some(canceller)
            }
            Err(error) => {
                let id = id.clone();
                self.ends.spawn(async move { (id, ActionEnd::Refused(error)) });
                None
            }
        };
        let running = RunningAction {
            action,
            is_settled: false,
            request,
            decisions,
            config_now,
        };
        self.running.insert(id, running);
    }

    /// Passes the decision about a nested call to the running tool.
    pub(super) fn decide(&self, decide: &DecideInnerCall) {
        if let Some(running) = self.running.get(&decide.action_id) {
            running
                .decisions
                .tell(&decide.tool_call_id, decide.decision.clone());
        }
    }

    /// Passes the current configurations of agents to their running tools.
    pub(super) fn configure(&self, fold: &SessionFold) {
        for running in self.running.values() {
            let is_tool = matches!(running.action.body, ActionBody::CallTool(_));
            if let Some(agent) = fold.agent(&running.action.agent_state_id).filter(|_| is_tool) {
                running.config_now.set(agent.config());
            }
        }
    }

    /// Asks an action to stop; the action emits its own outcome. Does nothing if it has already ended.
    pub(super) fn cancel(&self, id: &ActionId) {
        if let Some(request) = self.running.get(id).and_then(|running| running.request.as_ref()) {
            request.cancel();
        }
    }

    /// Returns the next action that has ended. Waits forever while nothing is in progress.
    pub(super) async fn ended(&mut self) -> (ActionId, ActionEnd) {
        loop {
            match self.ends.join_next().await {
                Some(Ok(ended)) => return ended,
                Some(Err(error)) => tracing::error!(%error, "the end of an action was lost"),
                None => return std::future::pending().await,
            }
        }
    }

    /// Removes an ended action; `None` if it was not in progress.
    ///
    /// A lost action is remembered, because later events of its responder are refused.
    pub(super) fn take_ended(&mut self, id: &ActionId, end: &ActionEnd) -> Option<Arc<Action>> {
        if matches!(end, ActionEnd::Request(bus::RequestEnd::Lost)) {
            if self.lost.len() == MOST_LOST {
                self.lost.pop_front();
            }
            self.lost.push_back(id.clone());
        }
        self.running.remove(id).map(|running| running.action)
    }

    /// Returns whether the responder of an action is gone, and its outcome is settled without it.
    pub(super) fn is_lost(&self, id: &ActionId) -> bool {
        self.lost.contains(id)
    }

    /// The action, if it is in progress and not settled; after that, its responder may add nothing to it.
    pub(super) fn open(&self, id: &ActionId) -> Option<&Action> {
        let running = self.running.get(id).filter(|running| !running.is_settled)?;
        Some(&running.action)
    }

    /// Notes an accepted event of a responder: the final one settles its action.
    pub(super) fn note(&mut self, draft: &EventDraft<EnvironmentEvent>) {
        let cause = draft.cause.as_ref();
        if let Some(running) = cause.and_then(|cause| self.running.get_mut(cause)) {
            running.is_settled |= settles_action(running.action.body.kind(), &draft.event);
        }
    }

    /// Cancels everything and waits, within a bound, until it has ended.
    pub(super) async fn abandon(&mut self, parts: &DriverParts) {
        let requests = self
            .running
            .values()
            .filter_map(|running| running.request.as_ref());
        requests.for_each(Canceller::cancel);
        let all_ended = async {
            while self.ends.join_next().await.is_some() {}
            parts.actions.session_closed(&self.session_id).await;
        };
        if tokio::time::timeout(ABANDON_GRACE, all_ended).await.is_err() {
            // Tells responders to drop their open requests.
            self.ends.abort_all();
        }
    }
}

/// The maximum time for an action, whatever its responder does: a call never waits for an analyzer for ever.
/// Responders have their own limits, which are shorter, so that they say what happened.
fn time_limit(action: &Action) -> Option<Duration> {
    match &action.body {
        ActionBody::AssessRisk(assess) => {
            Some(Duration::from_millis(assess.analyzer.timeout_ms).min(LONGEST_VERDICT) + VERDICT_GRACE)
        }
        _ => None,
    }
}

/// The event to record for an action that ended without a terminal event of its responder.
pub(super) fn outcome_of(action: &Action, end: &ActionEnd) -> Option<EventDraft<EnvironmentEvent>> {
    let event: EnvironmentEvent = match &action.body {
        ActionBody::CallModel(call) => match end {
            ActionEnd::Request(bus::RequestEnd::Cancelled) => StreamEnd {
                stop_reason: StopReason::Interrupted,
                raw: None,
            }
            .into(),
            _ => ErrorOccurred {
                code: code(end).into(),
                message: why(
                    end,
                    &format!("the environment of {}", call.request.model.provider),
                    "an answer",
                ),
                recoverable: true,
            }
            .into(),
        },
        ActionBody::Condense(_) => CondensingFailed {
            code: code(end).into(),
            message: why(end, "the condenser", "a summary"),
            bill: None,
        }
        .into(),
        ActionBody::BuildContext(request) => {
            let source = &request.source.name;
            let problem = why(end, &format!("the service of {source}"), "a context");
            ContextBuilt::failed(source, problem).into()
        }
        ActionBody::AssessRisk(assess) => {
            let analyzer = &assess.analyzer.name;
            let why = why(end, &format!("the analyzer {analyzer}"), "a verdict");
            let verdict = RiskVerdict::unknown(analyzer, why);
            RiskAssessed::of(assess.tool_call_id.clone(), verdict, None).into()
        }
        ActionBody::ProposeMemories(_) => {
            MemoriesProposed::failed(why(end, "the service for memories", "proposals")).into()
        }
        ActionBody::CallTool(call) => ToolResult {
            tool_call_id: call.tool_call_id.clone(),
            result: vec![ContentPart::text(of_tool(&call.name, end))],
            is_error: true,
            status: status(end),
            details: None,
        }
        .into(),
        _ => return None,
    };
    Some(EventDraft {
        source: Source::System,
        agent_state_id: Some(action.agent_state_id.clone()),
        run_id: action.run_id.clone(),
        cause: Some(action.action_id.clone()),
        event,
    })
}

/// The code of an action without a terminal event: stable, for programs.
fn code(end: &ActionEnd) -> &'static str {
    match end {
        ActionEnd::Request(bus::RequestEnd::Settled | bus::RequestEnd::Lost) => "no_answer",
        ActionEnd::Request(bus::RequestEnd::Cancelled) => "interrupted",
        ActionEnd::Request(bus::RequestEnd::Unserved) | ActionEnd::Refused(RequestError::Nobody { .. }) => {
            "not_served"
        }
        ActionEnd::Refused(RequestError::Busy { .. }) => "busy",
    }
}

/// The status of a call whose responder ended without a result.
fn status(end: &ActionEnd) -> ToolStatus {
    match end {
        // The tool ended without a result: that is a bug in the tool.
        ActionEnd::Request(bus::RequestEnd::Settled) => ToolStatus::Failed,
        ActionEnd::Request(bus::RequestEnd::Lost) => ToolStatus::Unknown,
        ActionEnd::Request(bus::RequestEnd::Cancelled) => ToolStatus::Interrupted,
        ActionEnd::Request(bus::RequestEnd::Unserved) | ActionEnd::Refused(_) => ToolStatus::Failed,
    }
}

/// The advice at the end of errors about actions that nobody serves.
const HOW: &str = "attach a reactor that serves it (`NodeRuntime::attach`)";

/// The reason why `who` returned no `what`, for people.
fn why(end: &ActionEnd, who: &str, what: &str) -> String {
    match end {
        ActionEnd::Request(bus::RequestEnd::Settled) => format!("{who} ended without {what}"),
        ActionEnd::Request(bus::RequestEnd::Lost) => format!("{who} was lost before it ended"),
        ActionEnd::Request(bus::RequestEnd::Cancelled) => format!("stopped before {who} began"),
        ActionEnd::Request(bus::RequestEnd::Unserved) => {
            format!("{who} is gone, and nobody else serves the request; {HOW}")
        }
        ActionEnd::Refused(error @ RequestError::Nobody { .. }) => format!("{error}; {HOW}"),
        ActionEnd::Refused(error) => error.to_string(),
    }
}

/// The text for the model about a call whose responder ended without a result.
fn of_tool(name: &str, end: &ActionEnd) -> String {
    match end {
        ActionEnd::Request(bus::RequestEnd::Settled) => {
            format!("The tool {name} ended without a result; it may or may not have had its effect.")
        }
        ActionEnd::Request(bus::RequestEnd::Lost) => {
            format!("The tool {name} was lost before it ended; it may or may not have had its effect.")
        }
        ActionEnd::Request(bus::RequestEnd::Cancelled) => "Stopped before it began.".to_owned(),
        ActionEnd::Request(bus::RequestEnd::Unserved) | ActionEnd::Refused(RequestError::Nobody { .. }) => {
            format!(
                "Nobody serves the tool {name} in this program any more; nothing was done. To have it, {HOW}."
            )
        }
        ActionEnd::Refused(error @ RequestError::Busy { .. }) => format!("{error}; nothing was done."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_serves_says_how_to_attach_who_does() {
        let nobody = ActionEnd::Refused(RequestError::Nobody {
            topic: "llm.requests".into(),
            key: "test/model".into(),
        });
        let gone = ActionEnd::Request(bus::RequestEnd::Unserved);
        let said = [
            why(&nobody, "the environment of test", "an answer"),
            why(&gone, "the condenser", "a summary"),
            of_tool("read", &nobody),
            of_tool("read", &gone),
        ];
        for said in said {
            assert!(said.contains("serves") && said.contains(HOW), "{said}");
        }
    }

    #[tokio::test]
    async fn no_more_actions_are_remembered_than_may_still_speak() {
        let (queue, _said) = mpsc::channel(1);
        let mut effects = RunningActions::new(SessionId::new("ses_1"), queue);
        let id = |seq| ActionId::following(seq, 0);
        for seq in 0..10_000 {
            effects.take_ended(&id(seq), &ActionEnd::Request(bus::RequestEnd::Lost));
        }
        assert_eq!(effects.lost.len(), MOST_LOST);
        assert!(effects.is_lost(&id(9_999)) && effects.is_lost(&id(9_744)));
        assert!(!effects.is_lost(&id(9_743)));
        effects.take_ended(&id(10_000), &ActionEnd::Request(bus::RequestEnd::Settled));
        assert!(!effects.is_lost(&id(10_000)));
    }
}
