//! Runs a tool outside of any session, to try it. Its session values are forgotten, and nothing is recorded;
//! its output is reported to the caller.
//!
//! The call has the id `call_1` in a session `ses_none_…` that no log has. Its journal has no earlier steps,
//! so a tool that records its steps ([`Journal`]) performs every one of them. Blobs that it makes belong to
//! no session: the next garbage collection of the log removes them, after an hour. When it ends, everything
//! that it left running is ended with it; if the program is killed meanwhile, the next start finds the
//! commands by [`NodeRuntime::has_leftover_commands`] and ends them with
//! [`NodeRuntime::end_leftover_commands`].

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent::approval::{Verdict, decide};
use agentx_runtime::{
    BlobStore, CallApprover, EventSink, FactBatch, Journal, RequestValues, SessionBlobs, Tool, ToolContext,
    ToolOutcome, ToolOutputSink,
};
use agentx_types::{
    Action, ActionBody, ActionId, AgentConfig, AgentStateId, ApprovalMode, CallTool, CallingAgent,
    EnvironmentEvent, EventDraft, LeftRunning, SessionId, ToolCallId, ToolSpec, ToolStatus,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::NodeRuntime;

/// The answers to questions about calls that a call outside of any session makes.
pub(crate) struct QuestionAnswers {
    /// Whether a person agreed to all of them in advance.
    pub(crate) allows_asked: bool,
    /// The approver of each call, if somebody can be asked.
    pub(crate) approver: Option<Arc<dyn CallApprover>>,
}

impl QuestionAnswers {
    fn without_approver(allows_asked: bool) -> Self {
        Self {
            allows_asked,
            approver: None,
        }
    }
}

impl NodeRuntime {
    /// Runs a tool with these arguments, as this agent would in its directory.
    ///
    /// An unknown tool, wrong arguments, and a call that the agent's rules deny are an outcome like any other
    /// failure. Nobody is asked: a call about which a rule asks is refused unless `allows_asked`, and its
    /// details say `needs_approval: true`. `hears` gets the events that the log of a session would have of
    /// the call.
    pub async fn try_tool(
        &self,
        name: &str,
        input: Value,
        agent: AgentConfig,
        allows_asked: bool,
        cancel: CancellationToken,
        hears: impl FnMut(&EnvironmentEvent),
    ) -> ToolOutcome {
        let specs = self.toolbox().specs();
        let spec = specs.iter().find(|spec| spec.name == name);
        if let Some(refused) = spec.and_then(|spec| refused(spec, &input, &agent, allows_asked)) {
            return refused;
        }
        let mut call = tried(name, &input, agent);
        call.outside_workspace = true;
        let outcome = self
            .outside_session(
                call,
                None,
                QuestionAnswers::without_approver(allows_asked),
                self.blobs_of_none(),
                cancel,
                hears,
            )
            .await;
        self.end_client_calls().await;
        outcome
    }

    /// Runs a tool that this runtime does not have itself, such as one of an MCP server, as
    /// [`try_tool`](Self::try_tool) does.
    pub async fn try_foreign_tool(
        &self,
        tool: Arc<dyn Tool>,
        input: Value,
        agent: AgentConfig,
        allows_asked: bool,
        cancel: CancellationToken,
        hears: impl FnMut(&EnvironmentEvent),
    ) -> ToolOutcome {
        if let Some(refused) = refused(&tool.spec(), &input, &agent, allows_asked) {
            return refused;
        }
        let mut call = tried(&tool.spec().name, &input, agent);
        call.outside_workspace = true;
        let outcome = self
            .outside_session(
                call,
                Some(tool),
                QuestionAnswers::without_approver(allows_asked),
                self.blobs_of_none(),
                cancel,
                hears,
            )
            .await;
        self.end_client_calls().await;
        outcome
    }

    /// The placeholder for the session: another one for each data directory, because the commands of a
    /// session that is gone are found by its name among all processes of the user.
    pub(crate) fn no_session(&self) -> SessionId {
        let mut hasher = DefaultHasher::new();
        self.data_dir().hash(&mut hasher);
        SessionId::new(format!("{NO_SESSION}_{:016x}", hasher.finish()))
    }

    /// The blobs of a call that belongs to neither a session nor a client.
    fn blobs_of_none(&self) -> Arc<dyn BlobStore> {
        Arc::new(SessionBlobs::new(self.shared_log(), self.no_session()))
    }

    /// Ends commands that the calls of clients left running.
    pub(crate) async fn end_client_calls(&self) {
        self.toolbox().shutdown(&self.no_session()).await;
    }

    /// Makes a call outside of any session.
    pub(crate) async fn outside_session(
        &self,
        call: CallTool,
        foreign: Option<Arc<dyn Tool>>,
        answers: QuestionAnswers,
        blobs: Arc<dyn BlobStore>,
        cancel: CancellationToken,
        mut hears: impl FnMut(&EnvironmentEvent),
    ) -> ToolOutcome {
        let (queue, mut said) = mpsc::channel(QUEUE);
        let ended = cancel.clone();
        let events = EventSink::for_action(queue, &action(call.clone()));
        let context = ToolContext {
            tool_call_id: call.tool_call_id.clone(),
            workspace: PathBuf::from(&call.workspace),
            outside_workspace: call.outside_workspace,
            output: ToolOutputSink::new(events.clone(), call.tool_call_id.clone()),
            journal: Journal::of_call(events, &call, None)
                .with_answer_to_questions(answers.allows_asked)
                .with_approver(answers.approver),
            blobs,
            session_id: self.no_session(),
            cancel,
            values: RequestValues::default(),
            slots: self.slots().clone(),
        };
        let call = async {
            match foreign {
                Some(tool) => tool.call(call.input.clone(), context).await,
                None => self.toolbox().call(&call.name, call.input.clone(), context).await,
            }
        };
        tokio::pin!(call);
        let mut seq = 0;
        let mut listen = |said: FactBatch| {
            for draft in &said.drafts {
                seq += 1;
                hears(&draft.event);
            }
            let begins = |draft: &EventDraft<EnvironmentEvent>| {
                matches!(draft.event, EnvironmentEvent::EffectStarted(_))
            };
            // A listener of a step may end the call: then the step does not begin.
            let is_refused = ended.is_cancelled() && said.drafts.iter().any(begins);
            let answer = if is_refused {
                Err("the call was ended".to_owned())
            } else {
                Ok(seq)
            };
            // A waiter for the commit is notified at once, because nothing is recorded here.
            said.committed.map(|committed| committed.send(answer))
        };
        let outcome = loop {
            tokio::select! {
                outcome = &mut call => break outcome,
                Some(said) = said.recv() => { listen(said); }
            }
        };
        while let Ok(said) = said.try_recv() {
            listen(said);
        }
        outcome
    }

    /// Returns whether commands of tried tools may be left, according to the records. It is cheap enough for
    /// each start.
    pub fn has_leftover_commands(&self) -> bool {
        self.toolbox().may_have_left(&self.no_session())
    }

    /// Ends the commands of tried tools whose program was killed meanwhile. Returns the ended commands.
    pub async fn end_leftover_commands(&self) -> Vec<LeftRunning> {
        // The interrupted calls are not recorded, so commands that left the terminal's session on purpose
        // stay.
        self.toolbox().end_left_running(&self.no_session(), &[]).await
    }
}

/// The beginning of the placeholder for the session if there is none.
const NO_SESSION: &str = "ses_none";

/// The number of batches that may wait for `hears`; then the tool waits.
const QUEUE: usize = 64;

/// The advice for a call that the rules ask about.
const NOBODY_ASKED: &str =
    "nobody can be asked outside of a session; with `--yes`, `agentx tools run` allows such calls";

/// Returns the refusal of a call that the rules deny, or about which they ask unless the caller allows that.
/// `None` if the call may run: no rule is about it, or one allows it.
///
/// Deny rules hold with `allows_asked` too, and so do the refusals that no setting can lift.
fn refused(tool: &ToolSpec, input: &Value, agent: &AgentConfig, allows_asked: bool) -> Option<ToolOutcome> {
    let refusal = |why: String| ToolOutcome::failed(ToolStatus::Denied, format!("Not allowed: {why}."));
    // The caller wants the call, so only rules count, and not the mode.
    let agent = AgentConfig {
        approval: ApprovalMode::Auto,
        ..agent.clone()
    };
    match decide(&agent, tool, input) {
        Verdict::Deny { reason } => Some(refusal(reason)),
        Verdict::Ask(question) if !allows_asked => Some(ToolOutcome {
            details: Some(json!({ "needs_approval": true })),
            ..refusal(format!("{}; {NOBODY_ASKED}", question.reason))
        }),
        Verdict::Ask(_) | Verdict::Allow { .. } => None,
    }
}

/// The call as a model would request it in a session.
pub(crate) fn tried(name: &str, input: &Value, agent: AgentConfig) -> CallTool {
    CallTool {
        tool_call_id: ToolCallId::new("call_1"),
        name: name.to_owned(),
        input: input.clone(),
        workspace: agent.workspace.clone(),
        outside_workspace: false,
        idempotent: false,
        recorded: Arc::default(),
        caller: Arc::new(CallingAgent {
            config: Some(Arc::new(agent)),
            ..CallingAgent::default()
        }),
    }
}

/// The action by which it would be.
fn action(call: CallTool) -> Action {
    Action {
        action_id: ActionId::new("act_1"),
        agent_state_id: AgentStateId::new("agt_none"),
        run_id: None,
        body: ActionBody::CallTool(call),
    }
}
