//! AgentX as an MCP server: the parts that a program offers to others ([`ServedParts`]), behind the pipes of
//! a process ([`serve`]) or one HTTP request at a time ([`HttpMessage`]).
//!
//! Over pipes, one task reads the messages and writes the answers; each request runs in a separate task, so
//! that a long call does not delay others. When the input ends, running requests are stopped, and the server
//! ends.

mod answers;
mod approvals;
mod call_request;
mod completion;
mod connection;
mod content;
mod http_message;
mod live_call;
mod log;
mod message;
mod prompts;
mod questions;
mod refusal;
mod request_context;
mod requests;
mod sent_arguments;
mod served_agents;
mod subscriptions;
mod suspended_calls;
mod tasks;

use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::{Access, EnvironmentEvent, MediaPart, ToolSpec};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use log::LoggedLine;

pub use approvals::ClientApprover;
pub use connection::serve;
pub use http_message::{HttpAnswer, HttpMessage, McpHttpRequest, MirroredHeaders};
pub use log::ClientLogLevel;
pub use questions::{CallQuestions, ClientAnswer, ClientQuestion, ClientResponse, is_askable_session};
pub use request_context::McpRequestContext;
pub use sent_arguments::SentArguments;
pub use served_agents::{
    AGENT_TOOL, TASK_TTL_MS, TASKS_AT_ONCE, agent_tool, is_task_key, session_decision, session_question,
    task_key, token_of_task,
};
pub use suspended_calls::SuspendedCalls;
pub use tasks::{ServedTask, ServedTaskState, ServedTasks, TaskCall};

/// The tools and resources that are served.
pub trait ServedParts: Send + Sync + 'static {
    /// Returns the tools, in a fixed order.
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>>;

    /// Returns the JSON Schema of a tool's results, if they have one that the tool itself checks.
    fn output_schema(&self, _tool: &ToolSpec) -> Option<Value> {
        None
    }

    /// Calls a tool, if the rules allow it. A refusal is an outcome. Media of the outcome have their bytes.
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ToolOutcome>;

    /// Returns where the client's log level is kept; `None` if it is not, and log messages are not served.
    fn log_level(&self) -> Option<&ClientLogLevel> {
        None
    }

    /// Returns the tools that are also prompts, in a fixed order.
    fn prompts(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Writes the words of a prompt.
    ///
    /// # Errors
    /// Returns an error for people if the arguments do not fit, or a rule denies it.
    fn prompt(&self, prompt: &ToolSpec, _input: &Value) -> Result<String, String> {
        Err(format!("{} is not a prompt", prompt.name))
    }

    /// Lists the documents, the latest change first.
    ///
    /// # Errors
    /// Returns an error for people if they cannot be listed.
    fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>>;

    /// The text of a document, as Markdown; `None` if there is none with this address.
    ///
    /// # Errors
    /// Returns an error for people if it cannot be read.
    fn read<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<String>, String>>;

    /// Reads a file to which the result of an earlier call has a link, with its bytes as base64; `None` if
    /// there is none with this address.
    ///
    /// # Errors
    /// Returns an error for people if it cannot be read.
    fn linked_file<'a>(&'a self, _address: &'a str) -> BoxFuture<'a, Result<Option<MediaPart>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The tools that run as tasks; `None` if there are none.
    fn as_tasks(&self) -> Option<&dyn ServedTasks> {
        None
    }
}

/// Returns whether a tool is served: it means something outside of a conversation, and belongs to this
/// machine, not to another server.
pub fn is_for_clients(spec: &ToolSpec) -> bool {
    let reach = spec.reach.as_deref();
    let is_of_server = reach.is_some_and(|reach| reach.mcp.is_some());
    let is_of_file = reach.is_some_and(|reach| reach.file.is_some());
    let is_of_talk = spec.quit || (spec.access == Access::Internal && !is_of_file);
    !is_of_talk && !is_of_server
}

/// A document that clients can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedDocument {
    /// The address, such as `agentx://sessions/ses_1`.
    pub address: String,
    /// The resource's name.
    pub name: String,
    /// The title shown to people.
    pub title: String,
    /// A number that grows with each change of the text.
    pub version: u64,
}

/// A call by a client.
pub struct ServedCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// Ends the call when the client cancels it or goes away.
    pub cancel: CancellationToken,
    /// Sends progress to the client.
    pub progress: CallProgress,
    /// Asks the person at the client.
    pub questions: CallQuestions,
}

/// A report of a running call before its outcome. The request that waits for the call turns it into a
/// message, because each request has its own token and log level.
#[derive(Debug, PartialEq)]
enum CallMessage {
    /// A line of progress, and its number.
    Progress { said: u64, line: String },
    /// A line that the tool logs.
    Log(LoggedLine),
}

/// Forwards progress and log lines of a call to the client. Drops those for which there is no room.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    messages: Option<mpsc::Sender<CallMessage>>,
    said: u64,
}

impl CallProgress {
    fn new(messages: mpsc::Sender<CallMessage>) -> Self {
        Self {
            messages: Some(messages),
            said: 0,
        }
    }

    /// Sends the visible part of a call's event: output of a command, text that a script emits, and its log
    /// lines.
    pub fn hear(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::ToolOutputChunk(chunk) => self.say(&chunk.text),
            EnvironmentEvent::EffectEnded(step) => {
                if let Some(emitted) = step.emitted() {
                    self.say(&emitted.text);
                }
                if let Some(logged) = LoggedLine::of(step) {
                    self.send(CallMessage::Log(logged));
                }
            }
            _ => {}
        }
    }

    /// Sends a line of progress to the client.
    pub fn say(&mut self, line: &str) {
        self.said += 1;
        self.send(CallMessage::Progress {
            said: self.said,
            line: line.to_owned(),
        });
    }

    fn send(&self, message: CallMessage) {
        if let Some(messages) = &self.messages {
            // A client that does not read loses lines, not calls.
            let _ = messages.try_send(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{EffectEnded, EffectOutcome, ToolCallId};
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_a_script_emits_are_progress_and_its_other_steps_are_not() {
        let (said, mut heard) = mpsc::channel(4);
        let mut progress = CallProgress::new(said);
        let step = |kind: &str, input: Value| {
            EnvironmentEvent::EffectEnded(EffectEnded {
                tool_call_id: ToolCallId::new("call_1"),
                step: 1,
                kind: kind.into(),
                input: Some(Box::new(input)),
                outcome: Box::new(EffectOutcome::Done(Value::Null)),
                bill: None,
                details: None,
            })
        };
        progress.hear(&step("http", json!({"chunk": "a request"})));
        progress.hear(&step("emit", json!({"chunk": "half"})));
        let line = "half".to_owned();
        assert_eq!(heard.try_recv(), Ok(CallMessage::Progress { said: 1, line }));
        assert!(heard.try_recv().is_err());
    }
}
