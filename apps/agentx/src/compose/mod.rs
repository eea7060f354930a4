//! The only file that knows which runtime a command uses; everything else uses the trait.

mod trials;

pub(crate) use trials::TriedTool;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentx::ToolServer;
use agentx::agent_files::{DefinitionMistake, Library};
use agentx::assembly::{WithFiles, runtime_with_files};
use agentx::config::Settings;
use agentx::identity::{Keyring, OPERATOR, owner_of};
use agentx::mcp::McpEnvironment;
use agentx::node::NodeRuntime;
use agentx::remote::{ConnectOptions, MirrorTask, RemoteRuntime, ServerEndpoint, keep};
use agentx::runtime::{BoxFuture, LogError, NewLog, Runtime as _, RuntimeError, SessionLog, StandingRules};
use agentx::types::{AgentConfig, EnvironmentEvent, OwnerId, Seat, SessionId, ToolSpec};

use crate::error::ChatError;
use crate::mcp_changes::servers;
use crate::place::{self, TargetServer};
use crate::server_patience::ServerPatience;

/// The target of a command: this machine or a server, with what this process made for it.
pub(crate) struct CommandTarget {
    front: place::Place,
    /// The runtime of this process; `None` on a server.
    node: Option<LocalNode>,
}

/// Everything that does not need the runtime of this process belongs to the front end.
impl Deref for CommandTarget {
    type Target = place::Place;

    fn deref(&self) -> &Self::Target {
        &self.front
    }
}

/// The runtime of this process, and the files that it was made with.
struct LocalNode {
    runtime: Arc<NodeRuntime>,
    library: Arc<Library>,
    mistakes: Vec<DefinitionMistake>,
}

impl CommandTarget {
    /// Returns the place that the settings name. Must be called inside an async runtime.
    pub(crate) async fn of(settings: &Settings, cwd: Option<&Path>) -> Result<Self, ChatError> {
        Self::of_within(settings, cwd, ServerPatience::default()).await
    }

    /// The same; a server that cannot be reached is tried again with this patience.
    pub(crate) async fn of_within(
        settings: &Settings,
        cwd: Option<&Path>,
        patience: ServerPatience,
    ) -> Result<Self, ChatError> {
        match &settings.connect {
            Some(address) => Self::server(settings, address, cwd, patience).await,
            None => {
                let place = Self::local(settings).await?;
                place.log_events().await;
                Ok(place)
            }
        }
    }

    /// Writes a line for each event, if the level of the log wants it.
    async fn log_events(&self) {
        if let Some(node) = &self.node {
            node.runtime.log_events().await;
        }
    }

    /// Makes the target of this machine. A session that a run left without approvals asks again as the
    /// settings say, which include the flags of this command line. Rules that deny or ask, and the trust in
    /// the folder, also apply to older sessions.
    pub(crate) async fn local(settings: &Settings) -> Result<Self, ChatError> {
        let node = build_node(settings).await?;
        let standing = StandingRules {
            rules: settings.rules_for(&node.runtime.tools()),
            trusted_since: settings.folder.trusted_since(),
        };
        let runtime = node.runtime.asking_again(settings.approval).held_to(standing);
        let runtime = Arc::new(runtime);
        let front = place::Place::of_process(runtime.clone()).with_names(names(&keyring(settings)));
        Ok(Self {
            front: front.with_attacher(attacher(runtime.clone())),
            node: Some(LocalNode {
                runtime,
                library: node.library,
                mistakes: node.mistakes,
            }),
        })
    }

    /// Stops the running MCP servers. A server that does not stop in time ends with this process.
    pub(crate) async fn end_servers(&self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        if let Some(node) = &self.node {
            node.runtime.detach_all(PATIENCE).await;
        }
    }

    /// The server at this address, as the person of this machine's data directory.
    pub(crate) async fn server(
        settings: &Settings,
        address: &str,
        cwd: Option<&Path>,
        patience: ServerPatience,
    ) -> Result<Self, ChatError> {
        make_data_dir(settings)?;
        let keyring = keyring(settings);
        let key = keyring.identity_or_new()?;
        let client = client_name()?;
        let mut options = ConnectOptions::new(address, key, client.clone());
        options.known_servers = Some(keyring.clone());
        patience.apply(&mut options);
        options.allow_plain_http = allows_plain(settings, address);
        let known = |place: &str| keyring.server_at(place).ok().flatten();
        let place = ServerEndpoint::parse(address).map(|endpoint| endpoint.host_and_port());
        let place = place.unwrap_or_default();
        let before = known(&place);
        let remote = RemoteRuntime::connect(options).await.map_err(connect_error)?;
        let remote = Arc::new(remote);
        let person = remote.person().person.clone();
        if cwd.is_some() && person.as_str() != OPERATOR {
            return Err(ChatError::usage(
                "only the operator of a server can set the working directory (`--cwd`); your sessions work in your own directory there",
                "omit `--cwd`",
            ));
        }
        let server = TargetServer {
            remote,
            address: address.to_owned(),
            new_key: known(&place).filter(|_| before.is_none()),
            me: Seat { person, client },
            workspace: cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
        };
        Ok(Self {
            front: place::Place::on_server(server).with_names(names(&keyring)),
            node: None,
        })
    }

    /// The tools of this process; `None` on a server.
    pub(crate) fn tool_server(&self) -> Option<ToolServer> {
        self.node
            .as_ref()
            .map(|node| ToolServer::new(node.runtime.clone()))
    }

    /// The files of agents and tools that this machine's runtime was made with; `None` on a server.
    pub(crate) fn library(&self) -> Option<&Library> {
        self.node.as_ref().map(|node| &*node.library)
    }

    /// Every mistake of those files; none on a server.
    pub(crate) fn mistakes(&self) -> &[DefinitionMistake] {
        self.node.as_ref().map_or(&[], |node| &node.mistakes)
    }

    /// Returns the first agent of a session of this machine, if it works in another directory than the
    /// settings name. Reads only the first event, because opening the session would read all of them.
    pub(crate) async fn agent_of_elsewhere(
        &self,
        settings: &Settings,
        session: &SessionId,
    ) -> Option<AgentConfig> {
        let node = &self.node.as_ref()?.runtime;
        let workspace = node.info(session).await.ok()?.workspace;
        if Path::new(&workspace) == settings.workspace {
            return None;
        }
        let first = node.facts(session, 0, 1).await.ok()?.pop()?;
        match &first.event {
            EnvironmentEvent::SessionOpened(opened) => Some((*opened.config).clone()),
            _ => None,
        }
    }
}

/// Starts a copy of a server's session in the local database. The copy belongs to this user, even if another
/// person owns the original.
pub(crate) async fn begin_keeping(
    place: &CommandTarget,
    settings: &Settings,
    session: &SessionId,
) -> Result<MirrorTask, ChatError> {
    let Some(remote) = place.remote() else {
        return Err(ChatError::usage(
            "only a session of a server can be kept here",
            "",
        ));
    };
    let log = open_log(settings)?;
    match log.info(session).await {
        Err(LogError::NotFound(_)) => {
            let info = remote.info(session).await?;
            // The parent of a fork need not be here: the rows contain the shared part.
            let new = NewLog::new(
                session.clone(),
                OwnerId::new(OPERATOR),
                info.created_at,
                info.workspace,
            );
            log.create(new).await.map_err(RuntimeError::Log)?;
        }
        known => {
            known.map_err(RuntimeError::Log)?;
        }
    }
    Ok(keep(remote, session, log, true).await?)
}

fn open_log(settings: &Settings) -> Result<Arc<dyn SessionLog>, ChatError> {
    make_data_dir(settings)?;
    Ok(agentx::node::open_log(settings).map_err(RuntimeError::Log)?)
}

/// The keys of the data directory.
pub(crate) fn keyring(settings: &Settings) -> Keyring {
    Keyring::at(&settings.data_dir)
}

/// Returns the names of the people whom the person of this machine trusts; none if the list cannot be read.
fn names(keyring: &Keyring) -> BTreeMap<OwnerId, String> {
    let people = keyring.people().unwrap_or_default().into_iter();
    people
        .filter_map(|known| Some((owner_of(&known.public_key), known.name?)))
        .collect()
}

/// The runtime of this process, assembled from the settings, with the tools of MCP servers, none of which is
/// started. Must be called inside an async runtime.
pub(crate) async fn build_node(settings: &Settings) -> Result<WithFiles, ChatError> {
    make_data_dir(settings)?;
    let program = concat!("agentx ", env!("CARGO_PKG_VERSION"));
    let known = servers(settings, &[]);
    let attached = |tools: &[ToolSpec]| known.renamed_against(tools).specs();
    let built = runtime_with_files(settings, program, Arc::new(crate::start::lookup), &attached);
    let built = built.map_err(RuntimeError::Log)?;
    for server in known.renamed_against(&built.runtime.tools()).iter() {
        let attached = built.runtime.attach_once(server.clone()).await;
        attached.map_err(|error| RuntimeError::Refused(error.to_string()))?;
    }
    if let Some(tools) = crate::exec_server::remote_tools(settings).await? {
        let attached = built.runtime.attach_once(tools).await;
        attached.map_err(|error| RuntimeError::Refused(error.to_string()))?;
    }
    Ok(built)
}

/// Attaches MCP servers that a chat names while it runs.
fn attacher(runtime: Arc<NodeRuntime>) -> place::ServerAttacher {
    Arc::new(
        move |server: McpEnvironment| -> BoxFuture<'static, Result<(), String>> {
            let runtime = runtime.clone();
            Box::pin(async move {
                let attached = runtime.attach_once(server).await;
                attached.map(|_| ()).map_err(|error| error.to_string())
            })
        },
    )
}

fn make_data_dir(settings: &Settings) -> Result<(), ChatError> {
    agentx::node::make_data_dir(settings).map_err(|error| ChatError::DataDir {
        path: settings.data_dir.display().to_string(),
        what: error.to_string(),
    })
}

/// Returns the name of this program for a server: the machine, and a part that tells two programs apart.
fn client_name() -> Result<String, ChatError> {
    let unique = agentx::identity::random_bytes::<2>().map_err(|error| ChatError::Input {
        what: error.to_string(),
    })?;
    let host = host_name();
    let host: String = host
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
        .take(40)
        .collect();
    let host = if host.is_empty() { "terminal" } else { &host };
    Ok(format!("{host}-{:02x}{:02x}", unique[0], unique[1]))
}

#[cfg(unix)]
fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns whether the settings allow a plain connection to this server, which then does not prove its key.
fn allows_plain(settings: &Settings, address: &str) -> bool {
    let place = |address: &str| ServerEndpoint::parse(address).map(|endpoint| endpoint.host_and_port());
    let Ok(server) = place(address) else {
        return false;
    };
    let mut allowed = settings.allow_plain_http.iter();
    allowed.any(|allowed| place(allowed).is_ok_and(|allowed| allowed == server))
}

/// Converts an error of connecting: a denial at that point is not about a role in a session.
fn connect_error(error: RuntimeError) -> ChatError {
    match error {
        RuntimeError::Denied(detail) => RuntimeError::Remote {
            code: "origin".into(),
            detail,
        }
        .into(),
        error => error.into(),
    }
}
