//! AgentX as an MCP server: what a program offers to others ([`ServedParts`]), behind the pipes of a process
//! ([`serve`]) or one HTTP request at a time ([`HttpMessage`]).
//!
//! Over pipes, one task reads the messages and writes the answers; each request runs in a separate task, so
//! that a long call does not delay others. When the input ends, running requests are stopped, and the server
//! ends.

mod answers;
mod completion;
mod connection;
mod content;
mod http_message;
mod log;
mod message;
mod prompts;
mod requests;
mod subscriptions;

use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::{Access, EnvironmentEvent, ToolSpec};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use log::McpLogLevel;

pub use connection::serve;
pub use http_message::{HttpAnswer, HttpMessage, McpHttpRequest, MirroredHeaders};
pub use log::ClientLogLevel;

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

    /// Returns the tools that are prompts, too, in a fixed order.
    fn prompts(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Writes the words of a prompt.
    ///
    /// # Errors
    /// Returns an error for people if the arguments do not fit, or a rule denies it.
    fn prompt(&self, prompt: &ToolSpec, _input: &Value) -> Result<String, String> {
        Err(format!("{} is no prompt", prompt.name))
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
}

/// Returns whether a tool is served: it means something outside of a conversation, and belongs to this machine,
/// not to another server.
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
}

/// Messages of a call for a client that wants them: its progress, and what it logs. Messages that find no room are dropped.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    messages: Option<mpsc::Sender<Value>>,
    token: Option<Value>,
    log: Option<(McpLogLevel, String)>,
    said: u64,
}

impl CallProgress {
    fn new(token: Option<Value>, messages: mpsc::Sender<Value>) -> Self {
        Self {
            messages: Some(messages),
            token,
            log: None,
            said: 0,
        }
    }

    /// Sends what the tool logs from this level on, if there is one.
    fn with_log(mut self, level: Option<McpLogLevel>, tool: &str) -> Self {
        self.log = level.map(|level| (level, tool.to_owned()));
        self
    }

    /// Sends what an event of the call shows: output of a command, words that a script emits, and what it logs.
    pub fn hear(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::ToolOutputChunk(chunk) => self.say(&chunk.text),
            EnvironmentEvent::EffectEnded(step) => {
                if let Some(emitted) = step.emitted() {
                    self.say(&emitted.text);
                }
                let log = self.log.as_ref();
                if let Some(message) = log.and_then(|(level, tool)| log::message(step, tool, *level)) {
                    self.send(message);
                }
            }
            _ => {}
        }
    }

    /// Sends a line of progress to the client.
    pub fn say(&mut self, line: &str) {
        if let Some(token) = &self.token {
            self.said += 1;
            self.send(answers::progress(token, self.said, line));
        }
    }

    fn send(&self, message: Value) {
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
        let mut progress = CallProgress::new(Some(json!("t")), said);
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
        let message = heard.try_recv().unwrap();
        assert_eq!(
            message["params"],
            json!({"progressToken": "t", "progress": 1, "message": "half"})
        );
        assert!(heard.try_recv().is_err());
    }
}
