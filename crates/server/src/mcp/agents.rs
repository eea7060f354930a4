//! Agents of files as tools of `/mcp`: a call makes a session of the caller, sends its prompt, and answers
//! with the last answer.
//!
//! The session has the rules, bounds and quotas of any other session of the caller. Questions that the caller
//! may answer are asked at the client. All others are declined in a call, because a client cannot wait for
//! somebody else; in a task they wait.

use std::sync::Arc;

use agentx_mcp::{AGENT_TOOL, CallQuestions, ServedCall, agent_tool, session_decision, session_question};
use agentx_runtime::{
    AgentInfo, ApprovalInput, NamedAgent, PendingApproval, Runtime as _, RuntimeError, ToolOutcome,
};
use agentx_types::wire::{ApprovalFrame, UserInputFrame};
use agentx_types::{
    ApprovalDecision, ApprovalMode, ContentPart, InputMode, RuntimeEvent, SessionId, ToolSpec, ToolStatus,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::actions::call_decisions::CallDecider;
use crate::actions::session_actions::to_problem;
use crate::mcp::client_run::{ClientRun, ClientRunStep};
use crate::mcp::parts::CallerParts;
use crate::members::trust::named_of_server;
use crate::state::ServerState;

/// A session that was made for a call, and the input that began its run.
pub(super) struct BegunRun {
    pub(super) session: SessionId,
    pub(super) input: u64,
}

/// The words of an error for a client, without paths of the server's disk.
pub(super) fn words(error: &RuntimeError) -> String {
    to_problem(error).detail
}

/// Stops the run of a session, whoever drives it.
pub(super) async fn halt(state: &Arc<ServerState>, session: &SessionId, why: &str) {
    let halted = match state.open(session).await {
        Ok(open) => open.halt(Some(why.to_owned())).await,
        Err(error) => Err(error),
    };
    if let Err(error) = halted {
        tracing::debug!(%session, %error, "cannot stop session");
    }
}

impl CallerParts {
    /// The agents of files as tools.
    pub(super) async fn agent_tools(&self) -> Vec<ToolSpec> {
        let agents = self.state.runtime_of(&self.caller.person).agents().await;
        let agents = agents.inspect_err(|error| tracing::warn!(%error, "cannot list the agents of files"));
        let tool = |agent: &AgentInfo| agent_tool(&agent.name, &agent.description);
        agents.iter().flatten().map(tool).collect()
    }

    /// Returns the agent that a tool is, if it is one.
    pub(super) fn agent_of<'a>(&self, tool: &'a str) -> Option<&'a str> {
        let is_own = self.own_tools().any(|spec| spec.name == tool);
        tool.strip_prefix(AGENT_TOOL).filter(|_| !is_own)
    }

    /// Makes a session of an agent and sends it the prompt. If nobody can be `asked`, the session refuses
    /// calls that need an approval.
    ///
    /// # Errors
    /// Returns an error if the agent does not exist, or a quota does not allow the session or its run.
    pub(super) async fn begin_agent(
        &self,
        agent: &str,
        prompt: &str,
        asked: bool,
        key: Option<&str>,
    ) -> Result<BegunRun, RuntimeError> {
        let (state, caller) = (&self.state, &self.caller);
        let mut config = named_of_server(state, caller, NamedAgent::new(agent))?;
        if config.approval.asks() && !asked {
            config.approval = ApprovalMode::Deny;
        }
        let counted = state.check_create(&caller.person).await?;
        let session = state.create_by(caller, config).await?;
        drop(counted);
        let frame = UserInputFrame {
            session_id: session.clone(),
            content: vec![ContentPart::text(prompt)],
            mode: InputMode::default(),
            idempotency_key: key.map(str::to_owned),
            client_timestamp_utc: None,
            client_timezone_offset: None,
            wheel_epoch: None,
            answer_schema: None,
        };
        match state.say(caller, frame).await {
            Ok(input) => Ok(BegunRun { session, input }),
            Err(error) => {
                // Nothing happened in it.
                if let Err(error) = state.delete(caller, &session).await {
                    tracing::debug!(%session, %error, "cannot delete the session of a refused call");
                }
                Err(error)
            }
        }
    }

    /// Runs an agent with the prompt of a call; its last answer is the outcome.
    pub(super) async fn ask_agent(
        &self,
        agent: &str,
        mut call: ServedCall,
        stop: &CancellationToken,
    ) -> ToolOutcome {
        let Some(Value::String(prompt)) = call.arguments.remove("prompt") else {
            return ToolOutcome::failed(ToolStatus::Invalid, "`prompt` must be a text");
        };
        let begun = match self
            .begin_agent(agent, &prompt, call.questions.can_ask(), None)
            .await
        {
            Ok(begun) => begun,
            Err(error) => return ToolOutcome::failed(ToolStatus::Failed, words(&error)),
        };
        let cancel = call.cancel.clone();
        let answered = self.answer_of(begun, call);
        tokio::pin!(answered);
        let outcome = tokio::select! {
            outcome = &mut answered => outcome,
            () = stop.cancelled() => {
                // It also ends a question at the client.
                cancel.cancel();
                answered.await
            }
        };
        if stop.is_cancelled()
            && let Some(why) = self.why_stopped().await
        {
            return ToolOutcome::failed(ToolStatus::Denied, format!("Stopped: {why}."));
        }
        outcome
    }

    /// Follows a run to its end. A cancelled call stops it.
    async fn answer_of(&self, begun: BegunRun, mut call: ServedCall) -> ToolOutcome {
        let BegunRun { session, input } = begun;
        let mut run = ClientRun::new(self.state.clone(), session.clone(), input);
        let mut is_stopped = false;
        loop {
            let step = tokio::select! {
                step = run.next() => step,
                () = call.cancel.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    halt(&self.state, &session, "the client cancelled the call").await;
                    continue;
                }
            };
            let event = match step {
                Ok(ClientRunStep::Event(event)) => event,
                Ok(ClientRunStep::Ended(end)) => return end.outcome(&session),
                Err(error) => return ToolOutcome::failed(ToolStatus::Failed, words(&error)),
            };
            match &event.event {
                RuntimeEvent::ToolCallRequested(asked) => call.progress.say(&format!("calls {}", asked.name)),
                RuntimeEvent::ApprovalRequested(_) => {
                    if let Err(error) = self.answer_questions(&session, &call.questions).await {
                        tracing::debug!(%session, %error, "cannot answer the questions of an agent");
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks the client the questions of a session that the caller may answer, and declines the others, so
    /// that no call waits for ever.
    async fn answer_questions(
        &self,
        session: &SessionId,
        questions: &CallQuestions,
    ) -> Result<(), RuntimeError> {
        for (asked, is_theirs) in self.questions_of(session).await? {
            let answer = if is_theirs {
                questions.ask(session_question(&asked)).await
            } else {
                None
            };
            let decided = answer.and_then(|answer| session_decision(&asked, &answer));
            let declined = || ApprovalInput::new(asked.tool_call_id.clone(), ApprovalDecision::Deny);
            self.decide(session, decided.unwrap_or_else(declined)).await?;
        }
        Ok(())
    }

    /// Returns the open questions of a session of the caller, and for each whether the caller may answer it
    /// with yes.
    pub(super) async fn questions_of(
        &self,
        session: &SessionId,
    ) -> Result<Vec<(PendingApproval, bool)>, RuntimeError> {
        let access = self.state.access(&self.caller, session).await?;
        let room = self.state.rooms().find(session).await;
        let now = match room.as_ref().and_then(|room| room.session()) {
            Some(open) => open.state().await?,
            None => access.runtime.state(session).await?,
        };
        let decider = CallDecider::new(&self.state, &self.caller, &access, &now.sharing);
        let is_theirs = |asked: &PendingApproval| {
            let answers = asked.answers.as_ref();
            answers.is_none_or(|answers| answers.contains(&ApprovalDecision::Once))
        };
        let waiting = decider.offer(now).pending_approvals.into_iter();
        Ok(waiting
            .map(|asked| {
                let may_allow = is_theirs(&asked);
                (asked, may_allow)
            })
            .collect())
    }

    /// Decides about a call of a session as the caller.
    pub(super) async fn decide(&self, session: &SessionId, input: ApprovalInput) -> Result<(), RuntimeError> {
        let frame = ApprovalFrame {
            session_id: session.clone(),
            tool_call_id: input.tool_call_id,
            decision: input.decision,
            note: input.note,
            rule: None,
        };
        self.state.approve(&self.caller, frame).await.map(drop)
    }
}
