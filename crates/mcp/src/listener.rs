//! Handles a server's own messages: progress and log messages go to the calls that run; every request is
//! refused with the reason.
#![expect(
    deprecated,
    reason = "servers of earlier versions still ask for roots and samples, and send log messages"
)]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion, RootsCapabilities, SamplingCapability, TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::limits::{LINES_BETWEEN_CALLS, OUTPUT_LINE_BYTES, OUTPUT_QUEUE};
use crate::server_requests::{ServerRequests, roots_of};
use crate::server_tool::cut;

/// Progress that came before its call was known: the answer of a server may be faster than the note about who
/// asked.
const EARLY: usize = 64;

/// The calls of a connection that run. Clones refer to the same.
#[derive(Clone, Default)]
pub(crate) struct RunningCalls(Arc<CallsInner>);

#[derive(Default)]
struct CallsInner {
    calls: Mutex<CallTable>,
    /// Whether the server said that it has other tools now.
    tools_changed: AtomicBool,
    /// The messages since the last call began.
    messages: AtomicU64,
    /// Fires when they are too many.
    flooded: CancellationToken,
}

#[derive(Default)]
struct CallTable {
    /// The running calls, which began in this order, with the tokens of their progress.
    running: Vec<CallChannel>,
    early: VecDeque<(String, String)>,
    /// The workspace of the call for which the server was started.
    workspace: Option<PathBuf>,
}

struct CallChannel {
    token: String,
    lines: mpsc::Sender<String>,
    requests: Arc<ServerRequests>,
}

impl RunningCalls {
    /// Receives the server's messages about a call until the returned value is dropped.
    pub(crate) fn hear(&self, token: String, requests: Arc<ServerRequests>) -> HeardCall {
        let (sender, lines) = mpsc::channel(OUTPUT_QUEUE);
        let mut table = self.lock();
        let (early, others): (Vec<_>, Vec<_>) = table.early.drain(..).partition(|(of, _)| *of == token);
        table.early = others.into();
        for (_, line) in early {
            // There is room for all of them.
            let _ = sender.try_send(line);
        }
        table.running.push(CallChannel {
            token: token.clone(),
            lines: sender,
            requests,
        });
        drop(table);
        HeardCall {
            calls: self.clone(),
            token,
            lines,
        }
    }

    /// No calls yet, on a connection that is opened for one in this workspace.
    pub(crate) fn in_workspace(workspace: Option<&Path>) -> Self {
        let calls = Self::default();
        calls.lock().workspace = workspace.map(Path::to_owned);
        calls
    }

    /// Returns the call that began last, to which the server's requests belong: before version 2026-07-28 a
    /// request does not name its call.
    fn last(&self) -> Option<Arc<ServerRequests>> {
        self.lock().running.last().map(|call| call.requests.clone())
    }

    /// Begins a call: messages of the server are counted from now on.
    pub(crate) fn call_begins(&self) {
        self.0.messages.store(0, Ordering::Relaxed);
    }

    /// Waits until the server has sent too many messages. A program's output is counted as it is read; this
    /// also counts messages over HTTP.
    pub(crate) async fn flooded(&self) {
        self.0.flooded.cancelled().await;
    }

    fn count(&self) {
        if self.0.messages.fetch_add(1, Ordering::Relaxed) >= LINES_BETWEEN_CALLS {
            self.0.flooded.cancel();
        }
    }

    /// Notes that the server has other tools now.
    pub(crate) fn note_changed_tools(&self) {
        self.0.tools_changed.store(true, Ordering::Release);
    }

    /// Returns whether the server has reported other tools since the last check.
    pub(crate) fn tools_changed(&self) -> bool {
        self.0.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// Passes on a line about one call. If there is no room, the line is dropped.
    fn progress(&self, token: String, line: String) {
        self.count();
        let mut table = self.lock();
        if let Some(running) = table.running.iter().find(|call| call.token == token) {
            let _ = running.lines.try_send(line);
        } else if table.early.len() < EARLY {
            table.early.push_back((token, line));
        }
    }

    /// Passes on a line that does not name its call.
    fn log(&self, line: &str) {
        self.count();
        for running in &self.lock().running {
            let _ = running.lines.try_send(line.to_owned());
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
        self.calls.lock().running.retain(|call| call.token != self.token);
    }
}

/// The client's side of a connection.
pub(crate) struct ServerListener {
    pub(crate) calls: RunningCalls,
    /// Whether the person lets it ask our model.
    pub(crate) may_sample: bool,
}

impl ClientHandler for ServerListener {
    async fn create_message(
        &self,
        asked: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let sampled = match self.calls.last() {
            Some(call) => call.sample(asked).await,
            None => Err("sampling is answered only while a call runs".to_owned()),
        };
        sampled.map_err(|why| ErrorData::new(ErrorCode::INVALID_REQUEST, why, None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        if let Some(call) = self.calls.last() {
            return Ok(call.roots());
        }
        let workspace = self.calls.lock().workspace.clone();
        Ok(workspace
            .map(|workspace| roots_of(&workspace))
            .unwrap_or_default())
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.calls.last() {
            Some(call) => Ok(call.elicit(asked).await),
            // No open call could have caused this question.
            None => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
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
        self.calls.note_changed_tools();
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("agentx", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let form = ElicitationCapability::new().with_form(FormElicitationCapability::new());
        capabilities.elicitation = Some(form.with_url(UrlElicitationCapability::new()));
        capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), Map::new())].into());
        capabilities.sampling = self.may_sample.then(SamplingCapability::default);
        let mut config = ClientConfig::new(capabilities, own);
        // Newer versions have no handshake, and are not negotiated by this value.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }
}
