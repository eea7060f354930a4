//! The tools of a runtime for clients outside of any session, such as programs that speak MCP. Their calls
//! run as those of [`NodeRuntime::try_tool`] do, under the rules of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_agent::approval::{Question, Verdict, decide, is_outside_workspace};
use agentx_agent::arguments::argument_error;
use agentx_runtime::{CallApprover, CallInQuestion, FactRedactor, ToolOutcome, redact_outcome};
use agentx_types::{
    AgentConfig, CallTool, ContentPart, EnvironmentEvent, EventDraft, MediaPart, Source, ToolCallId,
    ToolSpec, ToolStatus,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::NodeRuntime;
use crate::client_blobs::{CallBlobs, ClientBlobs};
use crate::try_tool::{QuestionAnswers, tried};

/// The tools of a runtime for clients outside of any session, such as programs that speak MCP.
///
/// A server is cheap to make, and clones share the runtime. Calls are decided by the rules of the agent that
/// each call names; a call that the rules ask about runs only if its `approver` allows it. Nothing is
/// recorded: a client keeps its own history. What a call stores is readable for the client through
/// [`blob`](Self::blob) for an hour.
#[derive(Clone)]
pub struct ToolServer {
    runtime: Arc<NodeRuntime>,
    blobs: ClientBlobs,
}

impl ToolServer {
    /// Creates a server of the tools of `runtime`.
    pub fn new(runtime: Arc<NodeRuntime>) -> Self {
        let blobs = ClientBlobs::default();
        Self { runtime, blobs }
    }

    /// Runs a tool of this agent, as [`NodeRuntime::try_tool`] does, if the agent's rules allow the call
    /// without a question, or `approver` allows the call. Calls may run at the same time. Commands that a
    /// call leaves running stay until [`end`](Self::end). A client has no session to read blobs from, so the
    /// outcome has the bytes of its media as base64, 4 MiB at most, and a link to each other blob that it
    /// names ([`blob`](Self::blob)).
    ///
    /// `approver` is also asked about calls that the tool itself makes.
    ///
    /// # Errors
    /// Returns the question if the rules ask about the call and it was not allowed; then it has not run.
    pub async fn call(
        &self,
        tool: &ToolSpec,
        input: Value,
        agent: &AgentConfig,
        approver: Option<Arc<dyn CallApprover>>,
        cancel: CancellationToken,
        hears: impl FnMut(&EnvironmentEvent),
    ) -> Result<ToolOutcome, Question> {
        if let Some(wrong) = argument_error(tool, &input) {
            return Ok(ToolOutcome::failed(ToolStatus::Invalid, wrong));
        }
        let outside_workspace = match decide(agent, tool, &input) {
            Verdict::Allow { outside_workspace } => outside_workspace,
            Verdict::Deny { reason } => {
                let text = format!("Not allowed: {reason}.");
                return Ok(ToolOutcome::failed(ToolStatus::Denied, text));
            }
            Verdict::Ask(question) => {
                let asked = CallInQuestion {
                    tool: Box::new(tool.clone()),
                    input: input.clone(),
                    reason: question.reason.clone(),
                    by: None,
                };
                let is_allowed = match &approver {
                    Some(approver) => approver.approve(asked).await,
                    None => false,
                };
                if !is_allowed {
                    return Err(question);
                }
                is_outside_workspace(agent, tool, &input)
            }
        };
        let mut call = tried(&tool.name, &input, agent.clone());
        call.outside_workspace = outside_workspace;
        let blobs = self.blobs.clone();
        Ok(self
            .runtime
            .serve_call(call, approver, blobs, cancel, hears)
            .await)
    }

    /// Returns whether a call of this tool may call models. So may one of a tool that is not known here.
    pub fn may_call_models(&self, tool: &ToolSpec) -> bool {
        let known = self.runtime.toolbox().get(&tool.name);
        known.is_none_or(|known| known.may_call_models())
    }

    /// Returns the JSON Schema of this tool's results, if they have one.
    pub fn output_schema(&self, tool: &ToolSpec) -> Option<Value> {
        self.runtime.toolbox().get(&tool.name)?.output_schema()
    }

    /// Returns whether a call of this tool only puts words to a model, so that another program may do so,
    /// too.
    pub fn is_prompt(&self, tool: &ToolSpec) -> bool {
        let known = self.runtime.toolbox().get(&tool.name);
        known.is_some_and(|known| known.prompt().is_some())
    }

    /// Writes the words that a call of this tool puts to a model. Nothing runs, so a rule that asks about the
    /// call does not ask.
    ///
    /// # Errors
    /// Returns an error for people if the tool is not a prompt, the arguments do not fit, or a rule denies
    /// the call.
    pub fn prompt(&self, tool: &ToolSpec, input: &Value, agent: &AgentConfig) -> Result<String, String> {
        let known = self.runtime.toolbox().get(&tool.name);
        let write = known.and_then(|known| known.prompt());
        let write = write.ok_or_else(|| format!("{} is not a prompt", tool.name))?;
        if let Some(wrong) = argument_error(tool, input) {
            return Err(wrong);
        }
        if let Verdict::Deny { reason } = decide(agent, tool, input) {
            return Err(format!("not allowed: {reason}"));
        }
        let mut written = ToolOutcome::success(write(input)?);
        if let Some(redactor) = self.runtime.redactor() {
            redact_outcome(redactor, &mut written);
        }
        Ok(written.content.iter().filter_map(ContentPart::as_text).collect())
    }

    /// Ends commands that the calls left running.
    pub async fn end(&self) {
        self.runtime.end_client_calls().await;
    }

    /// Sets the blobs that results of earlier calls named, and who counts those that calls store. By default
    /// a server knows those of its own calls and of its clones.
    #[must_use]
    pub fn with_blobs(mut self, blobs: ClientBlobs) -> Self {
        self.blobs = blobs;
        self
    }

    /// Reads a blob that a result named within an hour, by the address `agentx://blob/ID` of its link: the
    /// bytes as base64, of a text the first 4 MiB. `None` if there is none, or the address is of another
    /// kind.
    ///
    /// # Errors
    /// Returns an error for people if it is not text and larger, or cannot be read.
    pub async fn blob(&self, address: &str) -> Result<Option<MediaPart>, String> {
        let Some(media) = self.blobs.read(&*self.runtime.shared_log(), address).await? else {
            return Ok(None);
        };
        let mut read = ToolOutcome {
            content: vec![ContentPart::File(media)],
            ..ToolOutcome::success("")
        };
        if let Some(redactor) = self.runtime.redactor() {
            redact_outcome(redactor, &mut read);
        }
        Ok(read.content.into_iter().find_map(|part| match part {
            ContentPart::File(media) => Some(media),
            _ => None,
        }))
    }
}

impl NodeRuntime {
    /// Makes a call of a client outside of any session; calls may run at the same time.
    ///
    /// The client gets no secrets: they are replaced in the events of the call, as they are in those of a
    /// session, and in its outcome. A runtime without a redactor replaces nothing.
    async fn serve_call(
        &self,
        mut call: CallTool,
        approver: Option<Arc<dyn CallApprover>>,
        client: ClientBlobs,
        cancel: CancellationToken,
        mut hears: impl FnMut(&EnvironmentEvent),
    ) -> ToolOutcome {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        call.tool_call_id = ToolCallId::new(format!("call_{number}"));
        let answers = QuestionAnswers {
            allows_asked: false,
            approver,
        };
        let blobs = Arc::new(CallBlobs::new(self.shared_log(), self.no_session(), client));
        let Some(redactor) = self.redactor() else {
            let called = self.outside_session(call, None, answers, blobs.clone(), cancel, hears);
            return blobs.for_client(called.await).await;
        };
        let mut facts = FactRedactor::new(redactor.clone());
        let without_secrets = |event: &EnvironmentEvent| {
            let passed = facts.pass(EventDraft::new(Source::Environment, None, event.clone()));
            for draft in passed.rests.iter().chain(&passed.event) {
                hears(&draft.event);
            }
        };
        let called = self.outside_session(call, None, answers, blobs.clone(), cancel, without_secrets);
        let outcome = called.await;
        for draft in facts.finish() {
            hears(&draft.event);
        }
        let mut outcome = blobs.for_client(outcome).await;
        redact_outcome(redactor, &mut outcome);
        outcome
    }
}
