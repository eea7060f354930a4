//! Handles a server's own messages: progress and log messages go to the calls that run; every request is
//! refused with the reason.
#![expect(
    deprecated,
    reason = "servers of earlier versions still ask for roots and samples, and send log messages"
)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ErrorCode, ErrorData, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::limits::{OUTPUT_LINE_BYTES, OUTPUT_QUEUE};
use crate::server_tool::cut;

/// Progress that came before its call was known: the answer of a server may be faster than the note about who
/// asked.
const EARLY: usize = 64;

/// The calls of a connection that run. Clones refer to the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningCalls(Arc<CallsInner>);

#[derive(Debug, Default)]
struct CallsInner {
    calls: Mutex<CallTable>,
    /// Whether the server said that it has other tools now.
    tools_changed: AtomicBool,
}

#[derive(Debug, Default)]
struct CallTable {
    /// By the token of their progress.
    running: BTreeMap<String, mpsc::Sender<String>>,
    early: VecDeque<(String, String)>,
}

impl RunningCalls {
    /// Hears what the server says about a call, until what this returns is dropped.
    pub(crate) fn hear(&self, token: String) -> HeardCall {
        let (sender, lines) = mpsc::channel(OUTPUT_QUEUE);
        let mut table = self.lock();
        let (early, others): (Vec<_>, Vec<_>) = table.early.drain(..).partition(|(of, _)| *of == token);
        table.early = others.into();
        for (_, line) in early {
            // There is room for all of them.
            let _ = sender.try_send(line);
        }
        table.running.insert(token.clone(), sender);
        drop(table);
        HeardCall {
            calls: self.clone(),
            token,
            lines,
        }
    }

    /// Returns whether the server said since the last question that it has other tools.
    pub(crate) fn tools_changed(&self) -> bool {
        self.0.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// A line about one call. What finds no room is lost, as what scrolls by too fast.
    fn progress(&self, token: String, line: String) {
        let mut table = self.lock();
        if let Some(running) = table.running.get(&token) {
            let _ = running.try_send(line);
        } else if table.early.len() < EARLY {
            table.early.push_back((token, line));
        }
    }

    /// A line that says nothing about whose it is.
    fn log(&self, line: &str) {
        for running in self.lock().running.values() {
            let _ = running.try_send(line.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallTable> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A progress or log message of a running call.
pub(crate) struct HeardCall {
    calls: RunningCalls,
    token: String,
    pub(crate) lines: mpsc::Receiver<String>,
}

impl Drop for HeardCall {
    fn drop(&mut self) {
        self.calls.lock().running.remove(&self.token);
    }
}

/// The client's side of a connection.
pub(crate) struct ServerListener {
    pub(crate) calls: RunningCalls,
}

/// Refuses a request of a server.
fn refused(what: &str) -> ErrorData {
    let why = format!("AgentX does not take part in {what}; the client declares no such capability");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

impl ClientHandler for ServerListener {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refused("sampling"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(refused("roots"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refused("elicitation"))
    }

    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let done = match said.total {
            Some(total) => format!("{} of {total}", said.progress),
            None => said.progress.to_string(),
        };
        let line = match said.message {
            Some(message) => format!("{done}: {message}"),
            None => done,
        };
        self.calls
            .progress(said.progress_token.0.to_string(), cut(&line, OUTPUT_LINE_BYTES));
    }

    async fn on_logging_message(
        &self,
        said: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let data = match said.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.calls.log(&cut(&data, OUTPUT_LINE_BYTES));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.calls.0.tools_changed.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("agentx", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(Default::default(), own)
    }
}
