//! One configured server: started by its first call; its tool list is compared with the cached one; each call
//! has one outcome, even if the server dies.

use std::path::Path;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use agentx_config::{McpServerSettings, Secret};
use agentx_runtime::{Effector, SystemBus, ToolContext, ToolOutcome, TransportReports};
use agentx_tools::ProgramEnvironment;
use agentx_types::ToolStatus;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};

use crate::call::{RemoteCall, RemoteCallEnd};
use crate::call_report::CallReport;
use crate::connection::{McpConnection, ServerAccess};
use crate::described_tool::{DescribedTool, DescribedTools};
use crate::failure::McpFailure;
use crate::hidden::HiddenValues;
use crate::known_servers::{KnownServer, KnownServers};
use crate::limits::McpLimits;
use crate::oauth::{LoginAccess, LoginFile};
use crate::reported_connection::ReportedConnection;
use crate::server_state::McpServerState;
use crate::server_tool::ServerTool;

/// The context in which servers are started.
#[derive(Clone, Debug)]
pub struct McpLaunchContext {
    /// The directory of the cache of known servers.
    pub known: KnownServers,
    /// The variables that programs get.
    pub environment: ProgramEnvironment,
    /// The limits of servers that set none.
    pub limits: McpLimits,
}

/// A server that its tools share.
pub(crate) struct ServerHost {
    pub(crate) server: McpServerSettings,
    surroundings: McpLaunchContext,
    limits: McpLimits,
    hidden: HiddenValues,
    /// The login, if the server is at an address.
    login: Option<LoginAccess>,
    connection: Mutex<Option<Arc<McpConnection>>>,
    /// Performs model calls; empty if the server is not attached to a runtime.
    models: OnceLock<Arc<dyn Effector>>,
    /// Reports its connections; empty if the server is not attached to a runtime.
    transport: OnceLock<TransportReports>,
    known: StdMutex<KnownServer>,
    described: DescribedTools,
    /// Counts the changes of the cached description.
    changes: watch::Sender<u64>,
}

impl ServerHost {
    pub(crate) fn new(server: McpServerSettings, surroundings: McpLaunchContext) -> Self {
        let hidden = HiddenValues::of(&server);
        let file = surroundings.known.login_file(&server);
        Self {
            limits: surroundings.limits.of(&server),
            login: file.map(|file| LoginAccess::new(file, hidden.clone())),
            hidden,
            known: StdMutex::new(surroundings.known.of(&server)),
            server,
            surroundings,
            described: DescribedTools::default(),
            connection: Mutex::default(),
            models: OnceLock::new(),
            transport: OnceLock::new(),
            changes: watch::Sender::new(0),
        }
    }

    /// The cached description of the server.
    pub(crate) fn known(&self) -> KnownServer {
        self.lock().clone()
    }

    /// Its tools, with what follows from their descriptions.
    pub(crate) fn described(&self) -> Arc<[DescribedTool]> {
        self.described.of(&self.lock())
    }

    /// Attaches the server to the bus of a runtime: its models answer the server's requests to a model, if it
    /// may make any, and its listeners hear of the connections.
    pub(crate) fn attach(&self, bus: &SystemBus) {
        // A server is attached to one runtime: the first one counts.
        let _ = self.models.set(bus.models());
        let _ = self.transport.set(bus.transport());
    }

    /// Reports changes of the cached description.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns when any process last used the server.
    pub(crate) fn last_used(&self) -> Option<SystemTime> {
        self.surroundings.known.last_used(&self.server)
    }

    /// Returns the state of the server.
    pub(crate) async fn state(&self) -> McpServerState {
        match &*self.connection.lock().await {
            Some(connection) if !connection.is_closed() => McpServerState::Running,
            _ => self.state_for_all(),
        }
    }

    /// Returns the state of the server as any process sees it.
    pub(crate) fn state_for_all(&self) -> McpServerState {
        if self.surroundings.known.is_running(&self.server) {
            return McpServerState::Running;
        }
        McpServerState::of(&self.lock())
    }

    /// Returns the open connection, otherwise a new one, whose tools are listed.
    pub(crate) async fn connect(&self) -> Result<Arc<McpConnection>, McpFailure> {
        self.connect_in(None).await
    }

    /// The connection for a call in a workspace.
    async fn connect_in(&self, workspace: Option<&Path>) -> Result<Arc<McpConnection>, McpFailure> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        *connection = None;
        let opened = self.open(workspace).await;
        if let Err(failure) = &opened {
            let why = failure.to_string();
            // The failure of the server matters more than a file that cannot be written, which is reported
            // when it is needed.
            let _ = self.learn(|known| known.failure = Some(why));
        }
        let opened = opened?;
        *connection = Some(opened.clone());
        Ok(opened)
    }

    async fn open(&self, workspace: Option<&Path>) -> Result<Arc<McpConnection>, McpFailure> {
        let token = match &self.login {
            Some(login) => login.token().await?,
            None => None,
        };
        let opened = self.open_with(token.as_ref(), workspace).await;
        match (opened, &self.login, token) {
            // The token was revoked, or the clocks differ.
            (Err(McpFailure::Unauthorized), Some(login), Some(refused)) => {
                let token = login.renewed(&refused).await?;
                self.open_with(Some(&token), workspace).await
            }
            (opened, ..) => opened,
        }
    }

    /// Connects and lists the tools. Some servers greet everybody, and refuse only the list.
    async fn open_with(
        &self,
        token: Option<&Secret>,
        workspace: Option<&Path>,
    ) -> Result<Arc<McpConnection>, McpFailure> {
        let hidden = &self.hidden;
        let usual = &self.surroundings.environment;
        let access = ServerAccess { hidden, token };
        let mut connection =
            McpConnection::open(&self.server, usual, self.limits.start, workspace, access).await?;
        connection.mark = self.surroundings.known.mark_running(&self.server);
        self.list(&connection).await?;
        let reports = self.transport.get();
        connection.reported = reports.map(|reports| ReportedConnection::new(reports, &self.server.name));
        Ok(Arc::new(connection))
    }

    /// Lists its tools, and keeps them.
    async fn list(&self, connection: &McpConnection) -> Result<(), McpFailure> {
        let limit = self.limits.start;
        let said = || self.hidden.removed_from(&connection.explanation(&self.hidden));
        let listed = tokio::time::timeout(limit, connection.tools(&self.hidden)).await;
        let listed = listed.map_err(|_| McpFailure::TimedOut {
            limit,
            during: "it listed its tools",
            said: said(),
        })?;
        let (tools, left_out) = listed.map_err(|error| self.report().not_listed(&error, connection))?;
        self.learn(|known| known.list(connection.identity.clone(), tools, left_out))
    }

    /// Changes the cached description, on the disk and in memory.
    fn learn(&self, change: impl FnOnce(&mut KnownServer)) -> Result<(), McpFailure> {
        let known = self.surroundings.known.change(&self.server, change)?;
        let mut current = self.lock();
        if *current != known {
            *current = known;
            self.described.forget();
            self.changes.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// Accepts all tools as they are now.
    pub(crate) fn accept_all(&self) -> Result<(), McpFailure> {
        self.learn(|known| {
            for tool in known.tools.clone() {
                known.accept(&tool);
            }
        })
    }

    /// Deletes the cached description.
    pub(crate) fn forget_known(&self) -> std::io::Result<bool> {
        self.surroundings.known.forget(&self.server)
    }

    /// The file of the login at it; `None` for a program.
    pub(crate) fn login_file(&self) -> Option<LoginFile> {
        self.surroundings.known.login_file(&self.server)
    }

    /// Calls a tool as it was offered.
    pub(crate) async fn call(&self, tool: &ServerTool, input: Value, context: &ToolContext) -> ToolOutcome {
        let Value::Object(arguments) = input else {
            let text = "The arguments of a tool of an MCP server are an object.";
            return ToolOutcome::failed(ToolStatus::Invalid, text);
        };
        let report = CallReport {
            is_continued: context.journal.all().suspension().is_some(),
            ..self.report()
        };
        let connecting = async {
            let connection = self.connect_in(Some(&context.workspace)).await?;
            self.list_if_changed(&connection).await;
            Ok::<_, McpFailure>(connection)
        };
        let connection = tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                return ToolOutcome::failed(ToolStatus::Interrupted, "Stopped before the server was called.");
            }
            connected = connecting => connected,
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(failure) => return report.unusable(&failure),
        };
        if let Some(mut refusal) = self.not_as_offered(tool) {
            if report.is_continued {
                refusal.status = ToolStatus::Unknown;
            }
            return refusal;
        }
        self.accept(tool);
        let end = self.sent(&connection, tool, arguments.clone(), context).await;
        let (connection, end) = match end {
            // The token has expired or was revoked: a new connection renews it.
            RemoteCallEnd::NotSent(error) if self.login.is_some() && error.is_authorization_required() => {
                self.forget(&connection).await;
                let connection = match self.connect_in(Some(&context.workspace)).await {
                    Ok(connection) => connection,
                    Err(failure) => return report.unusable(&failure),
                };
                let end = self.sent(&connection, tool, arguments, context).await;
                (connection, end)
            }
            end => (connection, end),
        };
        let outcome = report.outcome(end, &connection, &context.blobs).await;
        self.list_if_changed(&connection).await;
        outcome
    }

    /// Returns the data for reports about the ends of its calls.
    fn report(&self) -> CallReport<'_> {
        CallReport {
            server: &self.server.name,
            hidden: &self.hidden,
            limits: &self.limits,
            is_continued: false,
        }
    }

    /// Lists the tools again if the server said that they have changed: before a call, so that no other tool
    /// is called than the one that was offered, and after it, so that the next request offers them as they
    /// are.
    async fn list_if_changed(&self, connection: &McpConnection) {
        if connection.calls.tools_changed()
            && !connection.is_closed()
            && let Err(failure) = self.list(connection).await
        {
            tracing::warn!(server = self.server.name, %failure, "the changed list of tools is not known");
        }
    }

    /// Accepts the current form of a tool, because a person or a rule let its call run. Reads the file only
    /// if the tool was not accepted before.
    fn accept(&self, tool: &ServerTool) {
        if self.lock().accepts(tool) {
            return;
        }
        let kept = self.learn(|known| {
            known.accept(tool);
        });
        if let Err(failure) = kept {
            tracing::warn!(%failure, "the accepted tool is not kept");
        }
    }

    /// Refuses a tool whose description has changed since it was offered.
    fn not_as_offered(&self, tool: &ServerTool) -> Option<ToolOutcome> {
        let server = &self.server.name;
        let known = self.lock();
        let now = known.tools.iter().find(|now| now.name == tool.name);
        let text = match now.map(|now| now.short_difference(tool)) {
            Some(None) => return None,
            None => format!(
                "The MCP server {server} has no tool {:?} any more. Nothing was done.",
                tool.name
            ),
            Some(Some(difference)) => format!(
                "The MCP server {server} changed the description of this tool, so the call was not made. From the next run on, the tool has its new description, and a person must approve its first call.\n{difference}"
            ),
        };
        Some(ToolOutcome::failed(ToolStatus::Failed, text))
    }

    /// Sends a call, and waits for its end.
    async fn sent(
        &self,
        connection: &Arc<McpConnection>,
        tool: &ServerTool,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> RemoteCallEnd {
        let call = RemoteCall {
            connection,
            server: &self.server.name,
            models: self.models.get().filter(|_| self.server.sampling).cloned(),
            hidden: &self.hidden,
            limit: self.limits.call,
        };
        let end = call.run(&tool.name, arguments, context).await;
        if end.is_lost() {
            self.forget(connection).await;
        }
        if matches!(end, RemoteCallEnd::Lost(_)) {
            connection.settle().await;
        }
        end
    }

    /// Stops using this connection: the next call opens another one. Calls that run on it end by themselves.
    async fn forget(&self, connection: &Arc<McpConnection>) {
        let mut current = self.connection.lock().await;
        if current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, connection))
        {
            *current = None;
        }
    }

    /// Ends the connection, if no call has it any more.
    pub(crate) async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownServer> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
