//! The other side: tools of a session that run at an exec server.

mod exec_link;
mod remote_tool;

use std::sync::Arc;

use agentx_http::{Certificates, client_builder};
use agentx_runtime::{Tool, ToolEnvironment};
use agentx_tools::Toolbox;
use url::Url;

use crate::actions::TOOLS;
use crate::options::ExecKey;
use exec_link::ExecLink;
use remote_tool::RemoteTool;

/// The name of the reactor in lists.
const NAME: &str = "exec-server";

/// The address of an exec server, and the key for it.
#[derive(Clone, Debug)]
pub struct ExecServerAddress {
    /// Its address, such as `https://box.example:7000`.
    pub url: Url,
    /// The key.
    pub key: ExecKey,
    /// Whether the key and everything else may be sent without encryption to another machine.
    pub insecure: bool,
}

impl ExecServerAddress {
    /// Reads an address. A key is sent to another machine only over `https`.
    ///
    /// # Errors
    /// Returns an error if `url` is not a valid URL.
    pub fn parse(url: &str, key: ExecKey) -> Result<Self, RemoteToolsError> {
        let url = Url::parse(url).map_err(|_| RemoteToolsError::Scheme)?;
        Ok(Self {
            url,
            key,
            insecure: false,
        })
    }
}

/// The reason why tools cannot run at an exec server.
#[derive(Debug, thiserror::Error)]
pub enum RemoteToolsError {
    /// The address has another scheme.
    #[error("the address of an exec server begins with http:// or https://")]
    Scheme,
    /// The key would be sent in plain text.
    #[error("{host} is another machine: use https, or allow http for a network that nobody else reads")]
    PlainText {
        /// The host.
        host: String,
    },
    /// The client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
}

/// Tools that run at an exec server: `bash`, `job`, `read`, `write`, `edit`, `glob`, `grep`, and the tools of
/// the shell.
///
/// Attached to a runtime, they take the place of the tools of the same names: the agent decides about a call
/// as before, then the server performs it. A call is performed at most once: if the connection is cut, the
/// call is requested again by its id from the same process of the server, and if that is gone or stays away,
/// the outcome is `unknown`.
///
/// ```no_run
/// # async fn attach(url: &str, key: String) -> Result<(), Box<dyn std::error::Error>> {
/// use agentx_exec_server::{ExecKey, ExecServerAddress, RemoteTools};
/// use agentx_tools::{ToolOptions, Toolbox};
///
/// let address = ExecServerAddress::parse(url, ExecKey::new(key)?)?;
/// let tools = RemoteTools::of(address, &Toolbox::builtin(ToolOptions::default())).await?;
/// let environment = tools.into_environment(); // `runtime.attach(environment, …)`
/// # let _ = environment;
/// # Ok(())
/// # }
/// ```
pub struct RemoteTools {
    tools: Vec<Arc<dyn Tool>>,
}

impl RemoteTools {
    /// Creates the tools of `local` that an exec server has too. Sends nothing yet: a server that cannot be
    /// reached fails the calls.
    ///
    /// # Errors
    /// Returns an error if the address does not fit.
    pub async fn of(address: ExecServerAddress, local: &Toolbox) -> Result<Self, RemoteToolsError> {
        if !["http", "https"].contains(&address.url.scheme()) {
            return Err(RemoteToolsError::Scheme);
        }
        if address.url.scheme() == "http" && !address.insecure && !is_this_machine(&address.url) {
            let host = address.url.host_str().unwrap_or_default().to_owned();
            return Err(RemoteToolsError::PlainText { host });
        }
        let certificates = Certificates::for_scheme(address.url.scheme());
        // Reading certificates blocks.
        let client = tokio::task::spawn_blocking(move || client_builder(certificates).build()).await;
        let failed = |error: String| RemoteToolsError::Client(error);
        let client = client.map_err(|error| failed(error.to_string()))?;
        let client = client.map_err(|error| failed(error.to_string()))?;
        let link = Arc::new(ExecLink::new(client, address));
        let remote = |name: &&str| -> Option<Arc<dyn Tool>> {
            let tool = RemoteTool::new(local.get(name)?, Arc::clone(&link));
            Some(Arc::new(tool))
        };
        Ok(Self {
            tools: TOOLS.iter().filter_map(remote).collect(),
        })
    }

    /// Returns the tools.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Returns a reactor that serves the tools while it is attached.
    pub fn into_environment(self) -> ToolEnvironment {
        ToolEnvironment::new(NAME, self.tools)
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
