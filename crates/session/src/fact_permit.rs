//! The facts that the responder of an action may record. Responders are tools, models and services that a
//! program attaches; without a closed table, one of them could record a person's decision, a configuration or
//! the result of another action, because a log has no other way to tell who wrote a fact.

use agentx_types::{
    Action, ActionBody, ActionId, ActionKind, AgentStateId, EnvironmentEvent, EventDraft, Source, StopReason,
    ToolCallId, Vocabulary as _,
};

/// Decides which facts the responder of one action may record.
///
/// | action | about the agent of the action | final fact |
/// | --- | --- | --- |
/// | `call_model` | the stream of an answer, `attempt_failed` | `stream_end` unless `broken`, or `error` |
/// | `condense` | `attempt_failed` | `context_condensed` or `condensing_failed` |
/// | `build_context` | nothing | `context_built` |
/// | `assess_risk` | nothing | `risk_assessed` |
/// | `propose_memories` | nothing | `memories_proposed` |
/// | `call_tool` | `tool_output_chunk`, steps, `inner_call_asked`, `job_ended` | `tool_result` |
/// | `start_timer` | nothing | `timer_fired` |
/// | any other | nothing | none |
///
/// Facts of a tool name its own call, or a call inside it, and a verdict names the assessed call. A tool may
/// also create agents below its own, send them inputs, interrupt them and close them; such a fact has
/// [`Source::Agent`] and names no person. Every fact has the action as its cause, and none has the source of
/// a person or of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactPermit {
    action_id: ActionId,
    agent_state_id: AgentStateId,
    kind: ActionKind,
    /// The call, if the action calls a tool or assesses a call.
    tool_call_id: Option<ToolCallId>,
}

impl FactPermit {
    /// The permit for the responder of `action`.
    pub fn of(action: &Action) -> Self {
        Self {
            action_id: action.action_id.clone(),
            agent_state_id: action.agent_state_id.clone(),
            kind: action.body.kind(),
            tool_call_id: match &action.body {
                ActionBody::CallTool(call) => Some(call.tool_call_id.clone()),
                ActionBody::AssessRisk(assess) => Some(assess.tool_call_id.clone()),
                _ => None,
            },
        }
    }

    /// Checks a fact of the responder. It does not check whether the action is still open.
    ///
    /// # Errors
    /// Returns the reason, for people, if the responder may not record the fact.
    pub fn check(&self, draft: &EventDraft<EnvironmentEvent>) -> Result<(), String> {
        let is_own = draft.agent_state_id.as_ref() == Some(&self.agent_state_id);
        let is_permitted = draft.cause.as_ref() == Some(&self.action_id)
            && match draft.source {
                Source::Environment => is_own && self.may_answer(&draft.event),
                Source::Agent => !is_own && self.may_direct(draft),
                Source::User | Source::System => false,
            };
        if is_permitted {
            return Ok(());
        }
        Err(format!(
            "the responder of {} may not record this `{}`; the documentation of `Effector` lists the facts \
             that answer an action",
            self.action_id,
            draft.event.tag()
        ))
    }

    /// Returns whether `event` is a fact about the action's own agent that answers the action.
    fn may_answer(&self, event: &EnvironmentEvent) -> bool {
        use EnvironmentEvent as E;
        match self.kind {
            ActionKind::CallModel => is_of_an_answer(event),
            ActionKind::Condense => matches!(
                event,
                E::AttemptFailed(_) | E::ContextCondensed(_) | E::CondensingFailed(_)
            ),
            ActionKind::BuildContext => matches!(event, E::ContextBuilt(_)),
            ActionKind::AssessRisk => {
                matches!(event, E::RiskAssessed(said) if self.tool_call_id.as_ref() == Some(&said.tool_call_id))
            }
            ActionKind::ProposeMemories => matches!(event, E::MemoriesProposed(_)),
            ActionKind::StartTimer => matches!(event, E::TimerFired(_)),
            ActionKind::CallTool => match event {
                E::ToolResult(result) => self.tool_call_id.as_ref() == Some(&result.tool_call_id),
                E::ToolOutputChunk(chunk) => self.is_inside(&chunk.tool_call_id),
                E::EffectStarted(step) => self.is_inside(&step.tool_call_id),
                E::EffectEnded(step) => self.is_inside(&step.tool_call_id),
                E::InnerCallAsked(asked) => self.is_inside(&asked.tool_call_id),
                E::JobEnded(_) => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether the fact is one by which a tool directs another agent.
    fn may_direct(&self, draft: &EventDraft<EnvironmentEvent>) -> bool {
        use EnvironmentEvent as E;
        let Some(to) = &draft.agent_state_id else {
            return false;
        };
        self.kind == ActionKind::CallTool
            && match &draft.event {
                E::AgentSpawned(spawned) => {
                    spawned.agent_state_id == *to && spawned.parent == self.agent_state_id
                }
                E::AgentClosed(closed) => closed.agent_state_id == *to,
                E::UserMessage(message) => message.by.is_none(),
                E::InterruptRequested(requested) => requested.by.is_none(),
                _ => false,
            }
    }

    /// Returns whether `id` is the tool's own call, or a call inside it.
    fn is_inside(&self, id: &ToolCallId) -> bool {
        let own = self.tool_call_id.as_ref();
        own.is_some_and(|own| id == own || id.is_inside(own))
    }
}

/// Returns whether `event` is a part of a model's answer, or of an attempt to get one.
fn is_of_an_answer(event: &EnvironmentEvent) -> bool {
    use EnvironmentEvent as E;
    matches!(
        event,
        E::StreamStart(_)
            | E::TextChunk(_)
            | E::ThinkingChunk(_)
            | E::PartEnd(_)
            | E::ToolCallStart(_)
            | E::ToolCallChunk(_)
            | E::ToolCall(_)
            | E::ProviderPart(_)
            | E::UsageReport(_)
            | E::ModelFellBack(_)
            | E::StreamEnd(_)
            | E::AttemptFailed(_)
            | E::ErrorOccurred(_)
    )
}

/// Returns whether `event`, recorded by the responder of an action of this kind, settles the action.
pub fn settles_action(kind: ActionKind, event: &EnvironmentEvent) -> bool {
    use EnvironmentEvent as E;
    match (kind, event) {
        (ActionKind::CallModel, E::StreamEnd(end)) => end.stop_reason != StopReason::Broken,
        (ActionKind::CallModel, E::ErrorOccurred(_))
        | (ActionKind::Condense, E::ContextCondensed(_) | E::CondensingFailed(_))
        | (ActionKind::BuildContext, E::ContextBuilt(_))
        | (ActionKind::AssessRisk, E::RiskAssessed(_))
        | (ActionKind::ProposeMemories, E::MemoriesProposed(_))
        | (ActionKind::CallTool, E::ToolResult(_))
        | (ActionKind::StartTimer, E::TimerFired(_)) => true,
        _ => false,
    }
}
