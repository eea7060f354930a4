//! AgentX as an MCP server: what a program offers to others ([`ServedParts`]), behind the pipes of a process.
//!
//! One task reads the messages and writes the answers; each request runs in a task of its own, so that a long
//! call does not delay others. When the input ends, running requests are stopped, and the server ends.

mod answers;
mod connection;
mod message;

use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::ToolSpec;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use connection::serve;

/// The tools and resources that are served.
pub trait ServedParts: Send + Sync + 'static {
    /// Returns the tools, in a fixed order.
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>>;

    /// Calls a tool, if the rules allow it. A refusal is an outcome.
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ToolOutcome>;

    /// Lists the documents.
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

/// A document that clients can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedDocument {
    /// The address, such as `agentx://sessions/ses_1`.
    pub address: String,
    /// The resource's name.
    pub name: String,
    /// The title shown to people.
    pub title: String,
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

/// Progress messages of a call for a client that wants them. Messages that find no room are dropped.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    heard: Option<(Value, mpsc::Sender<Value>)>,
    said: u64,
}

impl CallProgress {
    fn new(token: Option<Value>, messages: mpsc::Sender<Value>) -> Self {
        Self {
            heard: token.map(|token| (token, messages)),
            said: 0,
        }
    }

    /// Sends a line.
    pub fn say(&mut self, line: &str) {
        if let Some((token, messages)) = &self.heard {
            self.said += 1;
            // A client that does not read loses lines, not calls.
            let _ = messages.try_send(answers::progress(token, self.said, line));
        }
    }
}
