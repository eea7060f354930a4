//! Starts a server for a connection: its program, or the connection to its address, and the first exchange. A
//! server that does not understand the newest version is started again for the handshake of older ones.

use agentx_config::{McpServerSettings, McpTarget, Secret};
use agentx_tools::ProgramEnvironment;
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::failure::McpFailure;
use crate::http_transport::http_transport;
use crate::limits::MESSAGE_BYTES;
use crate::listener::{RunningCalls, ServerListener};
use crate::server_process::ServerProcess;
use crate::stdio::{self, StartedProgram};

/// The start of a server: that of its program, or the connection to its address.
pub(crate) struct ServerStart<'a> {
    pub(crate) server: &'a McpServerSettings,
    pub(crate) usual: &'a ProgramEnvironment,
    pub(crate) token: Option<&'a Secret>,
    pub(crate) until: Instant,
}

/// A connection that began or failed, or whose time has run out; and the program.
pub(crate) type Begun = (
    Result<Result<RunningService<RoleClient, ServerListener>, ClientInitializeError>, Elapsed>,
    Option<ServerProcess>,
);

impl ServerStart<'_> {
    /// Starts the server and makes the first exchange in this way.
    pub(crate) async fn begin(
        &self,
        calls: RunningCalls,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Begun, McpFailure> {
        let server = self.server;
        let listener = ServerListener {
            calls,
            may_sample: server.sampling,
        };
        match &server.target {
            McpTarget::Program {
                command,
                arguments,
                directory,
                variables,
            } => {
                check_files(server).await?;
                let variables = stdio::environment(self.usual, variables, server.of_folder);
                let started = stdio::start(&server.name, command, arguments, directory, variables)?;
                let StartedProgram {
                    program,
                    stdin,
                    stdout,
                    said,
                    stderr,
                } = started;
                let process = ServerProcess {
                    program: Mutex::new(Some(program)),
                    said,
                    stderr,
                };
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(MESSAGE_BYTES);
                let serve = serve_client_with_lifecycle(listener, transport, lifecycle);
                Ok((timeout_at(self.until, serve).await, Some(process)))
            }
            McpTarget::Address { url, headers } => {
                let transport = http_transport(url, headers, self.token).await?;
                let serve = serve_client_with_lifecycle(listener, transport, lifecycle);
                Ok((timeout_at(self.until, serve).await, None))
            }
        }
    }
}

/// Checks that the files which a folder's server runs are those that a person trusted.
async fn check_files(server: &McpServerSettings) -> Result<(), McpFailure> {
    let server = server.clone();
    let checked = tokio::task::spawn_blocking(move || server.check_files()).await;
    let checked = checked.unwrap_or_else(|error| Err(format!("its files cannot be checked: {error}")));
    checked.map_err(McpFailure::Changed)
}

/// Tries the newest version first, by a request without a session, then older ones by their handshake.
pub(crate) fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// Returns whether a server answered the request of the newest version with an invalid response, such as
/// `{}`: it may know only the older handshake. The library itself goes on after errors of JSON-RPC and after
/// silence.
pub(crate) fn misunderstood(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => true,
        ClientInitializeError::TransportError { error, .. } => matches!(
            error.error.downcast_ref(),
            Some(
                StreamableHttpError::<reqwest::Error>::UnexpectedServerResponse(_)
                    | StreamableHttpError::UnexpectedContentType(_)
                    | StreamableHttpError::Deserialize(_)
            )
        ),
        _ => false,
    }
}
