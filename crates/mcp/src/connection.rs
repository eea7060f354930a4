//! A connection to a server that runs: from its start, or the first request, to its end. The protocol itself
//! is that of the crate `rmcp`, which speaks 2026-07-28 and the versions before it.

use std::path::Path;
use std::time::Duration;

use agentx_config::{McpServerSettings, Secret};
use agentx_tools::ProgramEnvironment;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService, ServiceError};
use rmcp::{Peer, RoleClient};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::changed_tools::listen_for_changed_tools;
use crate::error_chain::{chain, without_types};
use crate::failure::McpFailure;
use crate::hidden::HiddenValues;
use crate::known_servers::ServerIdentity;
use crate::limits::{PAGES, PATIENCE, TOOLS};
use crate::listener::{RunningCalls, ServerListener};
use crate::reported_connection::ReportedConnection;
use crate::running_mark::RunningMark;
use crate::server_process::ServerProcess;
use crate::server_start::{ServerStart, lifecycle, misunderstood};
use crate::server_tool::{LeftOutTool, ServerTool, cut};

/// The longest name and version of a server.
const IDENTITY_BYTES: usize = 100;

/// A connection. Dropping it kills the server's program.
pub(crate) struct McpConnection {
    service: RunningService<RoleClient, ServerListener>,
    pub(crate) calls: RunningCalls,
    pub(crate) identity: ServerIdentity,
    process: Option<ServerProcess>,
    /// Shows others that the server runs.
    pub(crate) mark: Option<RunningMark>,
    /// Reports its end on the bus, if the server is attached to a runtime.
    pub(crate) reported: Option<ReportedConnection>,
    /// Whether the version has no handshake, so that each request says what it wants.
    pub(crate) is_stateless: bool,
    /// Listens for changed tools, as long as the connection lasts.
    listening: JoinSet<()>,
}

/// The secrets of the person that a connection needs.
#[derive(Clone, Copy)]
pub(crate) struct ServerAccess<'a> {
    /// The values that no text of the server may show.
    pub(crate) hidden: &'a HiddenValues,
    /// The token of a login.
    pub(crate) token: Option<&'a Secret>,
}

impl McpConnection {
    /// Starts a server, or connects to its address, within `limit`.
    pub(crate) async fn open(
        server: &McpServerSettings,
        usual: &ProgramEnvironment,
        limit: Duration,
        workspace: Option<&Path>,
        access: ServerAccess<'_>,
    ) -> Result<Self, McpFailure> {
        let hidden = access.hidden;
        let calls = RunningCalls::in_workspace(workspace);
        let start = ServerStart {
            server,
            usual,
            token: access.token,
            until: Instant::now() + limit,
        };
        let (mut service, mut process) = start.begin(calls.clone(), lifecycle()).await?;
        if let Ok(Err(error)) = &service
            && misunderstood(error)
        {
            drop(process);
            (service, process) = start
                .begin(calls.clone(), ClientLifecycleMode::Initialize)
                .await?;
        }
        let service = match service {
            Ok(Ok(service)) => service,
            Err(_elapsed) => {
                let said = process.as_ref().map(|process| process.said.explanation(hidden));
                let said = hidden.removed_from(&said.unwrap_or_default());
                let during = "it started";
                return Err(McpFailure::TimedOut { limit, during, said });
            }
            Ok(Err(error)) => return Err(not_begun(&error, process.as_ref(), hidden).await),
        };
        let identity = identity(service.peer(), hidden);
        let mut connection = Self {
            service,
            calls,
            identity,
            process,
            mark: None,
            reported: None,
            is_stateless: false,
            listening: JoinSet::new(),
        };
        connection.listen();
        Ok(connection)
    }

    /// Begins to listen for changed tools, if the server reports them only to those who ask.
    fn listen(&mut self) {
        let Some(info) = self.peer().peer_info() else {
            return;
        };
        self.is_stateless = !info.protocol_version.has_initialize();
        let tools = info.capabilities.tools.as_ref();
        if self.is_stateless && tools.is_some_and(|tools| tools.list_changed == Some(true)) {
            let (peer, calls) = (self.peer().clone(), self.calls.clone());
            self.listening.spawn(listen_for_changed_tools(peer, calls));
        }
    }

    /// The other end.
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Returns whether the server is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Begins a call: messages of the server are counted from now on.
    pub(crate) fn call_begins(&self) {
        self.calls.call_begins();
        if let Some(process) = &self.process {
            process.said.call_begins();
        }
    }

    /// Waits briefly until the standard error of a program that has ended is read completely.
    pub(crate) async fn settle(&self) {
        if let Some(process) = &self.process {
            process.said.settle().await;
        }
    }

    /// Returns an explanation of why the connection ended, to append to the error.
    pub(crate) fn explanation(&self, hidden: &HiddenValues) -> String {
        self.process
            .as_ref()
            .map_or_else(String::new, |process| process.said.explanation(hidden))
    }

    /// All tools, within limits, and those that are left out.
    pub(crate) async fn tools(
        &self,
        hidden: &HiddenValues,
    ) -> Result<(Vec<ServerTool>, Vec<LeftOutTool>), ServiceError> {
        let (mut tools, mut left_out) = (Vec::<ServerTool>::new(), Vec::new());
        let mut cursor = None;
        for page in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let listed = self.peer().list_tools((page > 0).then_some(params)).await?;
            for tool in listed.tools {
                let name = crate::server_tool::shown(&hidden.removed_from(&tool.name));
                let why = match ServerTool::of(tool, hidden) {
                    Err(why) => why,
                    Ok(tool) if tools.iter().any(|known| known.name == tool.name) => LeftOutTool {
                        name,
                        why: "another tool has the same name".into(),
                    },
                    Ok(_) if tools.len() >= TOOLS => LeftOutTool {
                        name,
                        why: format!("the server has more than {TOOLS} tools"),
                    },
                    Ok(tool) => {
                        tools.push(tool);
                        continue;
                    }
                };
                if left_out.len() < TOOLS {
                    left_out.push(why);
                }
            }
            cursor = listed.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok((tools, left_out))
    }

    /// Ends the connection, and the program: politely, then for certain.
    pub(crate) async fn close(mut self) {
        self.listening.shutdown().await;
        // Its last messages do not matter, only its end.
        let _ = self.service.close_with_timeout(PATIENCE).await;
        if let Some(process) = &self.process
            && let Some(program) = process.program.lock().await.take()
        {
            program.stop(PATIENCE).await;
        }
    }
}

fn identity(peer: &Peer<RoleClient>, hidden: &HiddenValues) -> ServerIdentity {
    let short = |text: &str| {
        cut(
            &crate::server_tool::shown(&hidden.removed_from(text)),
            IDENTITY_BYTES,
        )
    };
    let Some(info) = peer.peer_info() else {
        return ServerIdentity::default();
    };
    let own = info.server_info.as_ref();
    ServerIdentity {
        name: own.map_or_else(String::new, |own| short(&own.name)),
        version: own.map_or_else(String::new, |own| short(&own.version)),
        protocol: short(info.protocol_version.as_str()),
    }
}

/// Returns the error behind one of a start, which does not name it as its cause.
fn reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => chain(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => reason(fallback),
        _ => chain(error),
    }
}

/// The failure of a connection that did not come about. A program that has just ended may still be saying
/// why.
async fn not_begun(
    error: &ClientInitializeError,
    process: Option<&ServerProcess>,
    hidden: &HiddenValues,
) -> McpFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return McpFailure::Unauthorized;
    }
    let Some(process) = process else {
        return McpFailure::Connection(hidden.removed_from(&without_types(&reason(error))));
    };
    let mut how = String::new();
    if let Some(program) = process.program.lock().await.as_mut()
        && let Some(status) = program.ended_within(PATIENCE).await
    {
        how = format!("it ended ({status})");
        process.said.settle().await;
    }
    let what = if how.is_empty() {
        without_types(&reason(error))
    } else {
        how
    };
    McpFailure::Connection(hidden.removed_from(&format!("{what}{}", process.said.explanation(hidden))))
}
