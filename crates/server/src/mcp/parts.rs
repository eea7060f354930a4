//! The tools and resources of a caller of `/mcp`: the tools that the caller's own agent would have here,
//! under the same rules, agents of files, and the caller's sessions as documents.
//!
//! A call of a tool that is not an agent runs outside any session. If it needs an approval, it is refused,
//! unless the caller is the operator and their client can be asked: a client answers for the person whose
//! token it has. A member may not allow their own calls.

use std::sync::{Arc, OnceLock};

use agentx_history::transcript::{beginning, markdown_while};
use agentx_mcp::{
    ClientApprover, ClientLogLevel, ServedCall, ServedDocument, ServedParts, ServedTasks, is_for_clients,
};
use agentx_node_runtime::ToolServer;
use agentx_runtime::{
    BoxFuture, CallApprover, LogError, Runtime as _, RuntimeError, SessionQuery, ToolOutcome,
};
use agentx_types::{AgentConfig, EnvironmentEvent, MediaPart, SessionId, ToolSpec, ToolStatus};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::auth::caller::Caller;
use crate::auth::mcp_tokens::McpTokenLogin;
use crate::mcp::client_call_costs::{AdmittedCall, ClientCallCosts};
use crate::mcp::running_call::RunningToolCall;
use crate::members::trust::{choose, default_agent, of_server};
use crate::quota_checks::deleted_blobs::MemberBlobCounter;
use crate::state::ServerState;

/// The beginning of the addresses of sessions.
const SESSIONS: &str = "agentx://sessions/";
/// The most sessions that are listed, the latest first.
const LISTED: usize = 100;

/// The longest text of a session, in bytes.
const LONGEST: usize = 4 << 20;
/// The bytes of messages that are read for it. HTML becomes shorter as text.
const READ: usize = 4 * LONGEST;

/// Returns a text of at most [`LONGEST`] bytes, and a sentence about the omitted part.
fn shortened(mut text: String, is_all: bool, id: &SessionId) -> String {
    if text.len() > LONGEST || !is_all {
        let end = (0..=LONGEST.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push_str(&format!(
            "\n\n[The rest is left out: a client gets {} MiB. `agentx sessions export {id}` writes all of it.]\n",
            LONGEST >> 20
        ));
    }
    text
}

/// The outcome of a call that needed an approval and did not get one.
fn not_allowed(reason: &str, was_asked: bool) -> ToolOutcome {
    let how = if was_asked {
        "it was not allowed at the client"
    } else {
        "nobody can be asked here"
    };
    let text = format!("Not allowed: {reason}; {how}. A rule of the server's operator can allow it.");
    ToolOutcome::failed(ToolStatus::Denied, text)
}

/// The tools and sessions of one caller.
pub(crate) struct CallerParts {
    pub(super) state: Arc<ServerState>,
    pub(super) caller: Caller,
    /// The agent of a new session of the caller: its rules decide about calls.
    agent: AgentConfig,
    log_level: Option<Arc<ClientLogLevel>>,
    /// The credential with which the caller opened `/mcp`.
    pub(super) login: McpTokenLogin,
}

impl CallerParts {
    /// Returns what this caller is served now, to whom `login` opened `/mcp`.
    ///
    /// # Errors
    /// Returns an error if the model of the settings is not known, or the caller's directory cannot be made.
    pub(crate) fn of(
        state: Arc<ServerState>,
        caller: Caller,
        login: McpTokenLogin,
    ) -> Result<Self, RuntimeError> {
        let agent = default_agent(&state, &caller)?;
        let agent = of_server(&state, &caller, agent)?;
        let log_level = state.client_calls.log_level(&caller.person);
        Ok(Self {
            state,
            caller,
            agent,
            log_level,
            login,
        })
    }

    /// The tools that mean something outside of a conversation, and belong to this machine.
    pub(super) fn own_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.agent.tools.iter().filter(|spec| is_for_clients(spec))
    }

    /// The tools of the caller, whose calls read what results of their earlier calls named.
    fn tool_server(&self) -> ToolServer {
        let (state, person) = (&self.state, &self.caller.person);
        let counter = MemberBlobCounter {
            state: state.clone(),
            person: person.clone(),
        };
        let blobs = state.client_calls.blobs(person).counted_by(Arc::new(counter));
        ToolServer::new(state.runtime_of(person)).with_blobs(blobs)
    }

    /// Checks that the caller may call this tool now.
    async fn admitted(&self, tools: &ToolServer, spec: &ToolSpec) -> Result<AdmittedCall, RuntimeError> {
        let person = &self.caller.person;
        if !tools.may_call_models(spec) {
            // It costs nothing itself.
            self.state.check_bills(person).await?;
            return Ok(AdmittedCall::default());
        }
        Ok(AdmittedCall {
            unbilled: self.state.check_cost(person).await?,
            budget: self.state.call_budget(person).await?,
        })
    }

    async fn call_tool(&self, mut call: ServedCall, stop: &CancellationToken) -> ToolOutcome {
        let Some(spec) = self.own_tools().find(|spec| spec.name == call.tool) else {
            return ToolOutcome::failed(ToolStatus::Invalid, format!("There is no tool {:?}.", call.tool));
        };
        let person = &self.caller.person;
        let tools = self.tool_server();
        let admitted = match self.admitted(&tools, spec).await {
            Ok(admitted) => admitted,
            Err(error) => {
                return ToolOutcome::failed(ToolStatus::Denied, format!("Not allowed: {error}."));
            }
        };
        let unlisted = &self.state.kept.unlisted;
        let (settings, models) = (self.state.settings(), self.state.runtime_of(person).models());
        let named = |name: &str| choose(&settings, &models, name).ok();
        let mut costs = ClientCallCosts::new(unlisted, person, &self.agent.model, &named, admitted);
        let input = Value::Object(call.arguments);
        let (cancel, refused) = (call.cancel.child_token(), OnceLock::new());
        let hears = |event: &EnvironmentEvent| {
            call.progress.hear(event);
            match event {
                EnvironmentEvent::EffectStarted(step) => match costs.begun(step, self.state.now()) {
                    Ok(true) => self.state.keep_unlisted_soon(),
                    Ok(false) => {}
                    Err(why) => {
                        refused.get_or_init(|| why);
                        cancel.cancel();
                    }
                },
                // A kill would lose a bill that the disk does not have.
                EnvironmentEvent::EffectEnded(step) if costs.ended(step, self.state.now()) => {
                    self.state.keep_unlisted_soon();
                }
                _ => {}
            }
        };
        let may_allow = self.caller.operator;
        let asks = ClientApprover::of(call.questions).filter(|_| may_allow);
        let approver = asks.clone().map(|asks| asks as Arc<dyn CallApprover>);
        let called = tools.call(spec, input, &self.agent, approver, cancel.clone(), hears);
        tokio::pin!(called);
        let called = tokio::select! {
            ended = &mut called => ended,
            () = stop.cancelled() => {
                // It also ends a question at the client.
                call.cancel.cancel();
                called.await
            }
        };
        self.state.keep_unlisted().await;
        if let Some(why) = refused.get() {
            return ToolOutcome::failed(ToolStatus::Denied, format!("Stopped: {why}."));
        }
        if stop.is_cancelled()
            && let Some(why) = self.why_stopped().await
        {
            return ToolOutcome::failed(ToolStatus::Denied, format!("Stopped: {why}."));
        }
        called.unwrap_or_else(|question| {
            let was_asked = asks.is_some_and(|asks| asks.was_asked());
            not_allowed(&question.reason, was_asked)
        })
    }

    /// Returns why the server stopped a call: its caller is no longer let in, or their money is used up.
    pub(super) async fn why_stopped(&self) -> Option<String> {
        let closed = self.state.auth().closed_mcp(&self.login, self.state.now_ms());
        if let Some(why) = closed {
            return Some(why.to_owned());
        }
        let checked = self.state.check_bills(&self.caller.person).await;
        checked.err().map(|error| error.to_string())
    }

    /// Lists the caller's sessions. A stream of subscriptions lists them for minutes, so it ends when what
    /// opened it does not count any more.
    async fn sessions(&self) -> Result<Vec<ServedDocument>, RuntimeError> {
        let person = &self.caller.person;
        if let Some(why) = self.state.auth().closed_mcp(&self.login, self.state.now_ms()) {
            return Err(RuntimeError::Refused(why.into()));
        }
        let asked = SessionQuery {
            owner: person.clone(),
            workspace: None,
            limit: LISTED,
            before: None,
        };
        let sessions = self.state.runtime_of(person).sessions(asked).await?;
        let document = |session: agentx_runtime::SessionInfo| ServedDocument {
            address: format!("{SESSIONS}{}", session.session_id),
            name: session.session_id.to_string(),
            title: session.title,
            version: session.last_seq,
        };
        Ok(sessions.into_iter().map(document).collect())
    }

    /// Returns the text of a session, up to [`LONGEST`]. A long text takes time and memory, so the work waits
    /// for a turn and does not run on a thread that serves connections. It ends when nobody waits for it any
    /// more.
    async fn session(&self, id: &SessionId) -> Result<Option<String>, RuntimeError> {
        let access = match self.state.access(&self.caller, id).await {
            Ok(access) => access,
            Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        let turn = self.state.check_turns().take(&self.caller.line).await;
        let (read, is_all) = beginning(&*access.runtime, id, READ).await?;
        let id = id.clone();
        let gone = CancellationToken::new();
        let _is_waited_for = gone.clone().drop_guard();
        let written = tokio::task::spawn_blocking(move || {
            let text = markdown_while(&read, || !gone.is_cancelled());
            let text = text.map(|text| shortened(text, is_all, &id));
            drop(turn);
            text
        });
        written.await.map_err(|lost| {
            RuntimeError::Refused(format!("the session could not be written as text: {lost}"))
        })
    }
}

impl ServedParts for CallerParts {
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        Box::pin(async {
            let mut tools: Vec<ToolSpec> = self.own_tools().cloned().collect();
            tools.extend(self.agent_tools().await);
            tools
        })
    }

    fn output_schema(&self, tool: &ToolSpec) -> Option<Value> {
        self.tool_server().output_schema(tool)
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let running = RunningToolCall::begin(&self.state, &self.caller.person, &self.login);
            let agent = self.agent_of(&call.tool).map(str::to_owned);
            let outcome = match agent {
                Some(agent) => self.ask_agent(&agent, call, running.stop()).await,
                None => self.call_tool(call, running.stop()).await,
            };
            running.end().await;
            outcome
        })
    }

    fn log_level(&self) -> Option<&ClientLogLevel> {
        self.log_level.as_deref()
    }

    /// The operator wrote the prompts, or trusts the folder that has them. Members may use the tools, not
    /// read their words.
    fn prompts(&self) -> Vec<ToolSpec> {
        let tools = self.tool_server();
        let specs = self.agent.tools.iter().filter(|_| self.caller.operator);
        specs.filter(|spec| tools.is_prompt(spec)).cloned().collect()
    }

    fn prompt(&self, prompt: &ToolSpec, input: &Value) -> Result<String, String> {
        self.tool_server().prompt(prompt, input, &self.agent)
    }

    fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>> {
        Box::pin(async { self.sessions().await.map_err(|error| error.to_string()) })
    }

    fn read<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let Some(id) = address.strip_prefix(SESSIONS).map(SessionId::new) else {
                return Ok(None);
            };
            self.session(&id).await.map_err(|error| error.to_string())
        })
    }

    fn linked_file<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<MediaPart>, String>> {
        Box::pin(async move { self.tool_server().blob(address).await })
    }

    fn as_tasks(&self) -> Option<&dyn ServedTasks> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_the_border_of_a_character_and_says_so() {
        let id = SessionId::new("ses_1");
        assert_eq!(shortened("short".into(), true, &id), "short");
        assert!(shortened("short".into(), false, &id).contains("The rest is left out"));
        let cut = shortened("é".repeat(LONGEST), true, &id);
        assert!(cut.len() < LONGEST + 200 && cut.contains("agentx sessions export ses_1"));
    }
}
