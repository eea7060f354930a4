//! A server as an environment: a reactor that offers the server's cached tools, and offers them again when
//! they change. The first call starts the server itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use agentx_bus::{Reactor, ReactorFailure, ReactorTask};
use agentx_config::McpServerSettings;
use agentx_runtime::{Environment, Serving, SystemBus, Tool};
use agentx_types::ToolSpec;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::described_tool::DescribedTool;
use crate::failure::McpFailure;
use crate::host::{McpLaunchContext, ServerHost};
use crate::known_servers::KnownServer;
use crate::login::McpLogin;
use crate::oauth::PendingLogin;
use crate::offered_names::offered_names;
use crate::server_state::McpServerState;
use crate::server_tool::ServerTool;
use crate::tool::{McpTool, spec_of};

/// The tools of a server, while the environment is attached. Clones refer to the same server.
#[derive(Clone)]
pub struct McpEnvironment {
    name: String,
    host: Arc<ServerHost>,
    taken: Arc<BTreeSet<String>>,
    /// Returns whether a tool is offered under this name.
    offers: OfferFilter,
    /// Returns whether a person is asked about the unknown outcome of the tool with this name.
    asks_unknown: OfferFilter,
    stop: CancellationToken,
}

/// Returns something about the tool that is offered under a name.
type OfferFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl McpEnvironment {
    /// The environment of a server. `taken` are the names of tools that no tool of the server may have: those
    /// of the runtime, and those of servers before it.
    pub fn new(
        server: McpServerSettings,
        surroundings: McpLaunchContext,
        taken: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            name: format!("mcp {}", server.name),
            host: Arc::new(ServerHost::new(server, surroundings)),
            taken: Arc::new(taken.into_iter().collect()),
            offers: Arc::new(|_| true),
            asks_unknown: Arc::new(|_| false),
            stop: CancellationToken::new(),
        }
    }

    /// The same server, whose tools have other names than `taken`. Both share what is known of it.
    #[must_use]
    pub(crate) fn with_taken_names(&self, taken: impl IntoIterator<Item = String>) -> Self {
        Self {
            taken: Arc::new(taken.into_iter().collect()),
            stop: CancellationToken::new(),
            ..self.clone()
        }
    }

    /// Offers only tools whose names `offers` accepts.
    #[must_use]
    pub fn filtered(mut self, offers: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.offers = Arc::new(offers);
        self
    }

    /// Has a person asked what became of a call that a crash interrupted, if `wanted` accepts the name of its
    /// tool.
    #[must_use]
    pub fn asking_about_unknown(mut self, wanted: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.asks_unknown = Arc::new(wanted);
        self
    }

    /// Returns its settings.
    pub fn server(&self) -> &McpServerSettings {
        &self.host.server
    }

    /// Returns the cached description of the server.
    pub fn known(&self) -> KnownServer {
        self.host.known()
    }

    /// Returns when any process last used the server: started it with or without success, or called a tool;
    /// `None` if none ever did. The state of a server that does not run is as old as this.
    pub fn last_used(&self) -> Option<SystemTime> {
        self.host.last_used()
    }

    /// Returns the state of the server.
    pub async fn state(&self) -> McpServerState {
        self.host.state().await
    }

    /// Returns the state of the server for all processes: whether it runs in any of them, and its cached
    /// description.
    pub fn state_for_all(&self) -> McpServerState {
        self.host.state_for_all()
    }

    /// Starts it if it does not run, and lists its tools.
    ///
    /// # Errors
    /// Returns an error if it cannot be started, does not answer in time, or speaks no version of the
    /// protocol.
    pub async fn connect(&self) -> Result<KnownServer, McpFailure> {
        self.host.connect().await?;
        Ok(self.known())
    }

    /// Accepts all of its tools as they are now.
    ///
    /// # Errors
    /// Returns an error if that cannot be kept.
    pub fn accept_all(&self) -> Result<(), McpFailure> {
        self.host.accept_all()
    }

    /// Returns the login at it; `None` if there is none, or the server is a program.
    pub fn login(&self) -> Option<McpLogin> {
        self.host.login_file()?.read().as_ref().map(McpLogin::from)
    }

    /// Prepares a login to it: finds the authorization page for the person. The login applies from the next
    /// connection on.
    ///
    /// # Errors
    /// Returns an error if the server is a program, or names no authorization server.
    pub async fn begin_login(&self) -> Result<PendingLogin, McpFailure> {
        match self.host.login_file() {
            Some(file) => PendingLogin::begin(self.server(), file).await,
            None => Err(McpFailure::Login(
                "it is a program; only servers at an address have a login".to_owned(),
            )),
        }
    }

    /// Removes the login at it from this machine. Returns whether there was one.
    ///
    /// # Errors
    /// Returns an error if its file cannot be removed.
    pub fn log_out(&self) -> std::io::Result<bool> {
        match self.host.login_file() {
            Some(file) => file.remove(),
            None => Ok(false),
        }
    }

    /// Forgets the recorded data about the server. Returns whether there was any.
    ///
    /// # Errors
    /// Returns an error if its file cannot be removed.
    pub fn forget(&self) -> std::io::Result<bool> {
        self.host.forget_known()
    }

    /// Ends it, if it runs.
    pub async fn close(&self) {
        self.host.close().await;
    }

    /// Returns its tools as they are offered.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.offered().into_iter().map(|(_, spec)| spec).collect()
    }

    /// Returns its tools, to be called without being attached.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let offered = self.offered().into_iter();
        let tool = |(tool, spec)| -> Arc<dyn Tool> { Arc::new(McpTool::new(self.host.clone(), tool, spec)) };
        offered.map(tool).collect()
    }

    /// Returns the tools that the person wants, each with its offered form, in a fixed order.
    fn offered(&self) -> Vec<(Arc<ServerTool>, ToolSpec)> {
        let described = self.host.described();
        let names = self.offered_as(&described);
        let offered = described.iter().zip(&names).filter_map(|(known, name)| {
            let mut spec = spec_of(self.server(), known, name.as_deref()?);
            spec.asks_unknown = (self.asks_unknown)(&spec.name);
            Some((known.tool.clone(), spec))
        });
        offered.collect()
    }

    /// Returns the names of the tools that it offers.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.offered_as(&self.host.described());
        names.into_iter().flatten().collect()
    }

    /// Returns the name under which each of these tools is offered; `None` for one that is not offered.
    fn offered_as(&self, described: &[DescribedTool]) -> Vec<Option<String>> {
        let server = self.server();
        let tools = described.iter().map(|known| &*known.tool.name);
        let names = offered_names(&server.name, tools, &self.taken);
        let offered_as = |known: &DescribedTool| {
            let own = &known.tool.name;
            let wanted = server.tools.as_ref();
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(own));
            names
                .get(own)
                .filter(|name| is_wanted && (self.offers)(name))
                .cloned()
        };
        described.iter().map(offered_as).collect()
    }

    /// Updates the offered tools to the current list. A tool that was removed stays until its running calls
    /// have ended.
    fn offer(&self, bus: &SystemBus, served: &mut ServedTools) {
        let offered = self.offered();
        let is_same =
            |name: &String, spec: &ToolSpec| offered.iter().any(|(_, now)| now.name == *name && now == spec);
        let gone: Vec<String> = served
            .now
            .iter()
            .filter(|(name, known)| !is_same(name, &known.spec))
            .map(|(name, _)| name.clone())
            .collect();
        for known in gone.iter().filter_map(|name| served.now.remove(name)) {
            served.ending.spawn(known.serving.finish());
        }
        for (tool, spec) in offered {
            if served.now.contains_key(&spec.name) {
                continue;
            }
            let tool = McpTool::new(self.host.clone(), tool, spec.clone());
            let serving = bus.serve_tool(Arc::new(tool));
            served.now.insert(spec.name.clone(), ServedSpec { spec, serving });
        }
    }

    /// Offers the tools as they become known until it is stopped.
    async fn work(
        self,
        bus: SystemBus,
        mut served: ServedTools,
        mut changes: watch::Receiver<u64>,
    ) -> Result<(), ReactorFailure> {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                changed = changes.changed() => match changed {
                    Ok(()) => self.offer(&bus, &mut served),
                    Err(_) => break,
                },
                Some(_) = served.ending.join_next() => {}
            }
        }
        for (_, known) in std::mem::take(&mut served.now) {
            served.ending.spawn(known.serving.finish());
        }
        while served.ending.join_next().await.is_some() {}
        self.close().await;
        Ok(())
    }
}

/// The tools that are offered, and those that end.
#[derive(Default)]
struct ServedTools {
    now: BTreeMap<String, ServedSpec>,
    ending: JoinSet<()>,
}

/// A tool that is offered now.
struct ServedSpec {
    spec: ToolSpec,
    serving: Serving,
}

impl Reactor<SystemBus> for McpEnvironment {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        self.host.attach(&bus);
        let changes = self.host.changes();
        let mut served = ServedTools::default();
        self.offer(&bus, &mut served);
        Ok(ReactorTask::new(self.clone().work(bus, served, changes)))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

impl Environment for McpEnvironment {
    fn kind(&self) -> &str {
        "mcp"
    }
}
