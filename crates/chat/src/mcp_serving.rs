//! `agentx mcp serve`: the tools of this machine, the agents of files and the sessions of this folder, for a
//! program that speaks the Model Context Protocol over standard input and output.
//!
//! | served | as | decided by |
//! | --- | --- | --- |
//! | a tool | a tool of the same name | the rules and the approval mode, as in a session; what would ask is asked at the client (elicitation), or refused |
//! | an agent of a file | `agent__NAME` {prompt}: a session, from its prompt to its last answer; a task, if the client knows tasks | the same, for each of its calls |
//! | a tool of a file that only asks a model | a prompt: its words, for the client's model | the rules that deny it |
//! | what a result names because it is too long for it | the resource `agentx://blob/ID`, for an hour | – |
//! | a session of this folder | the resource `agentx://sessions/ID`, its conversation as Markdown | – |
//!
//! If an agent's tool or MCP server started this process, no agents are served. Tools of other MCP servers
//! are never passed on. Tools that only mean something inside a conversation are not, either.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx::config::Settings;
use agentx::mcp::{
    AGENT_TOOL, CallProgress, CallQuestions, ClientAnswer, ClientApprover, ClientLogLevel, ServedCall,
    ServedDocument, ServedParts, ServedTask, ServedTasks, TaskCall, agent_tool, is_for_clients, serve,
    session_decision, session_question,
};
use agentx::runtime::{BoxFuture, CallApprover, Delivery, Runtime, Session, ToolOutcome, UserInput, View};
use agentx::types::{
    AgentConfig, EnvironmentEvent, MediaPart, RunId, RuntimeEvent, SessionId, ToolSpec, ToolStatus,
};
use agentx::{CancellationToken, ToolServer};
use serde_json::Value;
use tokio::io::BufReader;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::headless::{RunOutcomeCollector, command_that_allows};
use crate::mcp_tasks::{AgentTasks, outcome};
use crate::models::default_model::no_model;
use crate::place::Place;
use crate::place::follow::AnyFollower;
use crate::session_opening::{self, CommandLineOverrides};
use crate::sessions::export::{self, SessionFileFormat};
use crate::sessions::sessions_here::SessionsHere;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;

/// The beginning of the addresses of sessions.
const SESSIONS: &str = "agentx://sessions/";
/// The most sessions that are listed, the latest first.
const LISTED: usize = 100;

/// Serves the program at the other end of standard input and output until that ends, or a signal comes.
///
/// # Errors
/// Returns an error if standard input cannot be read, or nothing can be written.
pub async fn serve_stdio(
    runtime: Arc<dyn Runtime>,
    tools: ToolServer,
    settings: Settings,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if console.terminal.input {
        console.say(
            "note: this speaks the Model Context Protocol; a program starts it, as `agentx mcp serve`\n",
        );
    }
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let place = Place::of_process(runtime.clone());
    let agent = session_opening::new_agent(&place, &settings, &CommandLineOverrides::default()).await;
    // Most tools call no model, so they also run without one.
    let agent = agent.map_or_else(
        |_| settings.agent(no_model(), runtime.tools()),
        |agent| (*agent.config).clone(),
    );
    let parts = Arc::new(MachineParts {
        tasks: AgentTasks::new(runtime.clone(), settings.clone()),
        place,
        agent,
        sessions: SessionsHere::of(&settings),
        settings,
        runtime,
        tools: tools.clone(),
        log_level: ClientLogLevel::default(),
    });
    let served = serve(
        parts.clone(),
        BufReader::new(tokio::io::stdin()),
        tokio::io::stdout(),
        stop.clone(),
    );
    tokio::pin!(served);
    let (ended, exit) = tokio::select! {
        ended = &mut served => (ended, Exit::Ok),
        exit = signals.next() => {
            stop.cancel();
            (served.await, exit)
        }
    };
    parts.tasks.end().await;
    tools.end().await;
    match ended {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::BrokenPipe),
        ended => Ok(ended.map(|()| exit)?),
    }
}

/// The parts of this machine that are served.
struct MachineParts {
    runtime: Arc<dyn Runtime>,
    tools: ToolServer,
    place: Place,
    settings: Settings,
    sessions: SessionsHere,
    tasks: AgentTasks,
    /// The agent of a new session here: its rules decide about calls.
    agent: AgentConfig,
    log_level: ClientLogLevel,
}

impl ServedParts for MachineParts {
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        Box::pin(async {
            let mut tools: Vec<ToolSpec> = self.own_tools().cloned().collect();
            let agents = self.runtime.agents().await.unwrap_or_default();
            let of_agents = agents
                .iter()
                .map(|agent| agent_tool(&agent.name, &agent.description));
            tools.extend(of_agents);
            tools
        })
    }

    fn output_schema(&self, tool: &ToolSpec) -> Option<Value> {
        self.tools.output_schema(tool)
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let input = Value::Object(call.arguments);
            match self.own_tools().find(|spec| spec.name == call.tool) {
                Some(spec) => {
                    let asks = ClientApprover::of(call.questions);
                    self.call_tool(spec, input, asks, call.cancel, call.progress)
                        .await
                }
                None => {
                    let agent = call.tool.strip_prefix(AGENT_TOOL).unwrap_or_default();
                    self.ask_agent(
                        agent,
                        &input,
                        AgentClient::of(call.questions, call.cancel, call.progress),
                    )
                    .await
                }
            }
        })
    }

    fn log_level(&self) -> Option<&ClientLogLevel> {
        Some(&self.log_level)
    }

    fn prompts(&self) -> Vec<ToolSpec> {
        let tools = self.agent.tools.iter().filter(|spec| self.tools.is_prompt(spec));
        tools.cloned().collect()
    }

    fn prompt(&self, prompt: &ToolSpec, input: &Value) -> Result<String, String> {
        self.tools.prompt(prompt, input, &self.agent)
    }

    fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>> {
        Box::pin(async {
            let sessions = self.sessions.list(&*self.runtime, LISTED).await;
            let sessions = sessions.map_err(|error| error.to_string())?;
            let document = |session: agentx::runtime::SessionInfo| ServedDocument {
                address: format!("{SESSIONS}{}", session.session_id),
                name: session.session_id.to_string(),
                title: session.title,
                version: session.last_seq,
            };
            Ok(sessions.into_iter().map(document).collect())
        })
    }

    fn read<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let Some(id) = address.strip_prefix(SESSIONS).map(SessionId::new) else {
                return Ok(None);
            };
            // Sessions of other folders, or of a folder that was here before, can be neither listed nor read.
            match self.runtime.info(&id).await {
                Ok(info) if self.sessions.has(&info) => {}
                _ => return Ok(None),
            }
            let text = export::text(&*self.runtime, &id, SessionFileFormat::Markdown).await;
            text.map(|written| Some(written.text))
                .map_err(|error| error.to_string())
        })
    }

    fn linked_file<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<MediaPart>, String>> {
        Box::pin(self.tools.blob(address))
    }

    fn as_tasks(&self) -> Option<&dyn ServedTasks> {
        Some(self)
    }
}

impl ServedTasks for MachineParts {
    fn begin(&self, call: TaskCall) -> BoxFuture<'_, Result<Option<ServedTask>, String>> {
        Box::pin(async move {
            if self.own_tools().any(|spec| spec.name == call.tool) {
                return Ok(None);
            }
            let prompt = call.arguments.get("prompt").and_then(Value::as_str);
            // An invalid call gets its error without a task.
            let (Some(agent), Some(prompt)) = (call.tool.strip_prefix(AGENT_TOOL), prompt) else {
                return Ok(None);
            };
            let opening = Box::pin(self.open(agent, call.can_be_asked));
            let begun = self.tasks.begin(opening, prompt).await;
            begun.map(Some).map_err(|error| error.to_string())
        })
    }

    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ServedTask>, String>> {
        Box::pin(async move { self.tasks.task(id).await.map_err(|error| error.to_string()) })
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        answers: BTreeMap<String, ClientAnswer>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let answered = self.tasks.answer(id, &answers).await;
            answered.map_err(|error| error.to_string())
        })
    }

    fn cancel<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move { self.tasks.cancel(id).await.map_err(|error| error.to_string()) })
    }
}

impl MachineParts {
    /// The tools that mean something outside of a conversation, and belong to this machine.
    fn own_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.agent.tools.iter().filter(|spec| is_for_clients(spec))
    }

    /// Calls a tool, if the rules allow it without a question.
    async fn call_tool(
        &self,
        spec: &ToolSpec,
        input: Value,
        asks: Option<Arc<ClientApprover>>,
        cancel: CancellationToken,
        mut progress: CallProgress,
    ) -> ToolOutcome {
        let approver = asks.clone().map(|asks| asks as Arc<dyn CallApprover>);
        let allow = command_that_allows(&spec.name, &input);
        let hears = |event: &EnvironmentEvent| progress.hear(event);
        let called = self
            .tools
            .call(spec, input, &self.agent, approver, cancel, hears)
            .await;
        called.unwrap_or_else(|question| {
            let how = match asks {
                Some(asks) if asks.was_asked() => "it was not allowed at the client",
                _ => "nobody can be asked here",
            };
            let why = format!(
                "{}; {how}. A person can allow it with `{allow}` and start this server again",
                question.reason
            );
            denied(&why)
        })
    }

    /// Runs an agent of a file with a prompt in a new session; its last answer is the outcome.
    async fn ask_agent(&self, name: &str, input: &Value, client: AgentClient) -> ToolOutcome {
        let Some(prompt) = input.get("prompt").and_then(Value::as_str) else {
            return ToolOutcome::failed(ToolStatus::Invalid, "`prompt` must be a text");
        };
        let session = match self.open(name, client.questions.can_ask()).await {
            Ok(session) => session,
            Err(error) => return ToolOutcome::failed(ToolStatus::Failed, error.to_string()),
        };
        let answered = answer(&session, prompt, client).await;
        session.close().await;
        answered.unwrap_or_else(|error| ToolOutcome::failed(ToolStatus::Failed, error.to_string()))
    }

    /// Opens a session of an agent. Without a client that can be asked, the session refuses calls that need
    /// an approval.
    async fn open(&self, name: &str, can_be_asked: bool) -> Result<Arc<dyn Session>, ChatError> {
        let wanted = CommandLineOverrides {
            agent: Some(name.to_owned()),
            ..CommandLineOverrides::default()
        };
        let mut agent = session_opening::new_agent(&self.place, &self.settings, &wanted).await?;
        if agent.config.approval.asks() && !can_be_asked {
            agent.refuse();
        }
        Ok(agent.open(&*self.runtime).await?)
    }
}

fn denied(reason: &str) -> ToolOutcome {
    ToolOutcome::failed(ToolStatus::Denied, format!("Not allowed: {reason}."))
}

/// The client that waits for an agent.
struct AgentClient {
    questions: CallQuestions,
    cancel: CancellationToken,
    progress: CallProgress,
}

impl AgentClient {
    fn of(questions: CallQuestions, cancel: CancellationToken, progress: CallProgress) -> Self {
        Self {
            questions,
            cancel,
            progress,
        }
    }

    /// Passes the questions of the session to the client. Declines unanswered ones, so that no call waits
    /// forever.
    async fn answer_questions(&self, session: &Arc<dyn Session>) -> Result<(), ChatError> {
        for asked in session.state().await?.pending_approvals {
            let answer = self.questions.ask(session_question(&asked)).await;
            let declined = ClientAnswer::Declined;
            let decided = session_decision(&asked, answer.as_ref().unwrap_or(&declined));
            if let Some(decision) = decided.or_else(|| session_decision(&asked, &declined)) {
                // It may have been settled meanwhile; then there is nothing to decide.
                let _ = session.approve(decision).await;
            }
        }
        Ok(())
    }
}

/// Sends a prompt to a new session and waits for the end of its run. A client that cancels stops the run.
async fn answer(
    session: &Arc<dyn Session>,
    prompt: &str,
    mut client: AgentClient,
) -> Result<ToolOutcome, ChatError> {
    let mut events = AnyFollower::new(session.clone(), 0, View::Runtime).await?;
    let run_id = RunId::of_input(session.send(UserInput::text(prompt)).await?);
    let mut ending = RunOutcomeCollector::new(run_id.clone());
    let mut is_stopped = false;
    while !ending.is_over() {
        let delivery = tokio::select! {
            delivery = events.next() => delivery?,
            () = client.cancel.cancelled(), if !is_stopped => {
                is_stopped = true;
                session.interrupt(Some("the client cancelled the call".into())).await?;
                continue;
            }
        };
        let Some(delivery) = delivery else { break };
        let Delivery::Runtime(envelope) = delivery else {
            continue;
        };
        match &envelope.event {
            RuntimeEvent::ToolCallRequested(call) => client.progress.say(&format!("calls {}", call.name)),
            RuntimeEvent::ApprovalRequested(_) => client.answer_questions(session).await?,
            _ => {}
        }
        if envelope.run_id.as_ref().is_none_or(|of| *of == run_id) {
            ending.event(&envelope.event);
        }
    }
    Ok(outcome(ending.into_result(None), session.id()))
}
