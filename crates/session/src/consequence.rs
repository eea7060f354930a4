//! The fact by which an action is recorded: that it begins, or, if nothing outside is touched, its whole
//! outcome. The driver of a live session and the import of logs of other programs record the same.

use agentx_types::{
    Action, ActionBody, ActionStarted, AgentClosed, AgentSpawned, AgentStateId, EnvironmentEvent,
    ErrorOccurred, EventDraft, InterruptRequested, Interrupted, Report, Source, ToolResult, ToolStatus,
};

/// Returns the fact that follows directly after the one by which an action was requested.
///
/// Returns `None` if the action has no corresponding fact (`cancel`, `decide_inner_call`), and for
/// `check_answer`, whose fact needs a validator of schemas.
pub fn consequence(action: &Action) -> Option<EventDraft<EnvironmentEvent>> {
    let started = |tool_call_id, due_at| {
        ActionStarted {
            kind: action.body.kind(),
            tool_call_id,
            due_at,
        }
        .into()
    };
    let event: EnvironmentEvent = match &action.body {
        ActionBody::CallModel(_)
        | ActionBody::Condense(_)
        | ActionBody::BuildContext(_)
        | ActionBody::AssessRisk(_)
        | ActionBody::ProposeMemories(_) => started(None, None),
        ActionBody::StartTimer(timer) => {
            let wait = timer.wait.as_ref();
            let call = wait.map(|wait| wait.tool_call_id.clone());
            started(call, wait.map(|wait| wait.due_at))
        }
        ActionBody::CallTool(call) => started(Some(call.tool_call_id.clone()), None),
        ActionBody::AnswerCall(answer) => ToolResult {
            tool_call_id: answer.tool_call_id.clone(),
            result: answer.content.clone(),
            is_error: answer.status != ToolStatus::Success,
            status: answer.status,
            details: None,
        }
        .into(),
        ActionBody::Report(Report::Interrupted { reason }) => Interrupted {
            reason: reason.clone(),
        }
        .into(),
        ActionBody::Report(Report::Error { code, message }) => ErrorOccurred {
            code: code.clone(),
            message: message.clone(),
            recoverable: true,
        }
        .into(),
        ActionBody::Report(Report::Fallback(asked)) => asked.clone().into(),
        ActionBody::SpawnAgent(_)
        | ActionBody::SendInput(_)
        | ActionBody::InterruptAgent(_)
        | ActionBody::CloseAgent(_) => return on_another_agent(action),
        ActionBody::CheckAnswer(_) | ActionBody::Cancel(_) | ActionBody::DecideInnerCall(_) => return None,
    };
    Some(EventDraft {
        source: Source::System,
        agent_state_id: Some(action.agent_state_id.clone()),
        run_id: action.run_id.clone(),
        cause: Some(action.action_id.clone()),
        event,
    })
}

/// The fact of an action of one agent on another. It is addressed to the other agent, and recorded before
/// anything follows from it.
///
/// These actions have no effector and no `action_started`: the fact is the whole effect (decision 020 in
/// `issues/`). It names no run, because the addressed agent has its own runs.
fn on_another_agent(action: &Action) -> Option<EventDraft<EnvironmentEvent>> {
    let (to, event): (&AgentStateId, EnvironmentEvent) = match &action.body {
        ActionBody::SpawnAgent(spawn) => {
            let spawned = AgentSpawned {
                agent_state_id: spawn.agent_state_id.clone(),
                parent: action.agent_state_id.clone(),
                config: spawn.config.clone(),
            };
            (&spawn.agent_state_id, spawned.into())
        }
        ActionBody::SendInput(input) => (&input.to, input.message.clone().into()),
        ActionBody::InterruptAgent(interrupt) => {
            let requested = InterruptRequested {
                reason: interrupt.reason.clone(),
                hold: false,
                by: None,
            };
            (&interrupt.to, requested.into())
        }
        ActionBody::CloseAgent(close) => {
            let closed = AgentClosed {
                agent_state_id: close.agent_state_id.clone(),
                reason: close.reason.clone(),
            };
            (&close.agent_state_id, closed.into())
        }
        _ => return None,
    };
    Some(EventDraft {
        source: Source::Agent,
        agent_state_id: Some(to.clone()),
        run_id: None,
        cause: Some(action.action_id.clone()),
        event,
    })
}
