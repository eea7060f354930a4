//! The place at which a front end works: the runtime of its own process, or a server.

pub mod connection_watch;
pub mod follow;
pub mod server_patience;

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx::identity::{OPERATOR, PublicKey};
use agentx::mcp::McpEnvironment;
use agentx::remote::RemoteRuntime;
use agentx::runtime::{BoxFuture, Runtime, SessionInfo};
use agentx::types::{AgentConfig, OwnerId, Seat};

use crate::error::ChatError;
use crate::render::person_names::PersonNames;
use crate::terminal::console::Console;

/// Attaches an MCP server to the runtime of this process, so that its tools are offered from then on. The
/// error says why it cannot be attached.
pub type ServerAttacher = Arc<dyn Fn(McpEnvironment) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The place at which a front end works: this process, or a server.
pub struct Place {
    runtime: Arc<dyn Runtime>,
    /// Attaches MCP servers while this process runs, if it can.
    attacher: Option<ServerAttacher>,
    server: Option<TargetServer>,
    /// The names that this program's user gave to people.
    names: BTreeMap<OwnerId, String>,
}

/// The server that commands work on.
pub struct TargetServer {
    /// The runtime that is connected to the server.
    pub remote: Arc<RemoteRuntime>,
    /// The address as the person named it.
    pub address: String,
    /// The key of the server, if it was not known before.
    pub new_key: Option<PublicKey>,
    /// The identity of this program at the server.
    pub me: Seat,
    /// The directory there for new sessions, if one was named.
    pub workspace: Option<String>,
}

impl Place {
    /// Makes the place of this process, which has this runtime.
    pub fn of_process(runtime: Arc<dyn Runtime>) -> Self {
        Self {
            runtime,
            attacher: None,
            server: None,
            names: BTreeMap::new(),
        }
    }

    /// Sets the names that this program's user gave to people.
    #[must_use]
    pub fn with_names(self, names: BTreeMap<OwnerId, String>) -> Self {
        Self { names, ..self }
    }

    /// Sets the way in which MCP servers are attached while this process runs.
    #[must_use]
    pub fn with_attacher(self, attacher: ServerAttacher) -> Self {
        Self {
            attacher: Some(attacher),
            ..self
        }
    }

    /// Attaches an MCP server; `None` if this process cannot.
    pub(crate) async fn attach_server(&self, server: McpEnvironment) -> Option<Result<(), String>> {
        let attach = self.attacher.as_ref()?;
        Some(attach(server).await)
    }

    /// Makes the place of chats with a server.
    pub fn on_server(server: TargetServer) -> Self {
        Self {
            runtime: server.remote.clone(),
            attacher: None,
            server: Some(server),
            names: BTreeMap::new(),
        }
    }

    /// Prints the key of a server that this client connects to for the first time.
    pub fn introduce(&self, console: &mut Console) {
        console.server = self.server.as_ref().map(|server| server.address.to_string());
        if let Some(server) = &self.server
            && let Some(key) = &server.new_key
        {
            console.say(&format!(
                "note: first connection to {}; AgentX will accept only the key {key} there\n",
                server.address
            ));
        }
        if let Some(server) = &self.server
            && server.remote.person().visitor
        {
            console.say(STRANGER);
        }
    }

    /// Returns the runtime that the sessions run in: of this program, or the client of a server.
    pub fn runtime(&self) -> &dyn Runtime {
        &*self.runtime
    }

    /// The runtime, to be kept.
    pub fn shared(&self) -> Arc<dyn Runtime> {
        self.runtime.clone()
    }

    /// The server, if it is one.
    pub fn remote(&self) -> Option<&Arc<RemoteRuntime>> {
        self.server.as_ref().map(|server| &server.remote)
    }

    /// The address of the server, as it was named.
    pub fn address(&self) -> Option<&str> {
        self.server.as_ref().map(|server| server.address.as_str())
    }

    /// Returns the identity of this program at the server, if the place is one.
    pub(crate) fn me(&self) -> Option<&Seat> {
        self.server.as_ref().map(|server| &server.me)
    }

    /// The names that this program's user gave to people at the server; `None` if no server is connected.
    pub fn names(&self) -> Option<&BTreeMap<OwnerId, String>> {
        self.server.as_ref().map(|_| &self.names)
    }

    /// Returns the names that this program's user gave to people.
    pub fn person_names(&self) -> PersonNames {
        PersonNames::new(self.names.clone())
    }

    /// Returns the names that this program's user gave to the people of a session.
    pub fn names_in(&self, session: &SessionInfo) -> PersonNames {
        let mut names = self.person_names();
        names.read_by(self.runtime.owner(), &session.owner);
        names
    }

    /// Returns whether the place is another person's server, whose operator decides about calls.
    pub fn is_of_another(&self) -> bool {
        self.me().is_some_and(|me| me.person.as_str() != OPERATOR)
    }

    /// Returns the agent that the server gives a new session; `None` on this machine, where the settings
    /// describe the agent.
    pub async fn default_agent(&self) -> Result<Option<AgentConfig>, ChatError> {
        let Some(server) = &self.server else {
            return Ok(None);
        };
        let mut agent = server.remote.default_agent().await?;
        if let Some(workspace) = &server.workspace {
            agent.workspace.clone_from(workspace);
        }
        Ok(Some(agent))
    }

    /// The directory on the server for new sessions, if one was named.
    pub(crate) fn workspace(&self) -> Option<&str> {
        self.server.as_ref()?.workspace.as_deref()
    }

    /// Returns the command line that runs `words` at this place.
    pub fn command(&self, words: &str) -> String {
        match &self.server {
            Some(server) => format!("agentx --connect {} {words}", server.address),
            None => format!("agentx {words}"),
        }
    }
}

/// The note for a person whose key a server does not know, if it admits visitors.
const STRANGER: &str = "\
note: this server does not know your key, so you are a visitor: you see what is shared with everybody and cannot change anything
hint: `agentx identity show` prints your key; the operator gives you access with `agentx identity trust KEY --as member`
";
