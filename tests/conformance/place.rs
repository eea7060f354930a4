//! A runtime under test, behind the trait as a front end uses it. Beside it is the runtime that acts, which
//! knows the true state.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

#[path = "guides.rs"]
pub(crate) mod guides;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentx::config::{CommandLineSetting, ConfigPaths, LoadRequest, Settings, load};
use agentx::identity::{Keyring, SecretKey};
use agentx::node::scripted::ScriptedEnvironment;
use agentx::node::{NodeParts, NodeRuntime};
use agentx::remote::{ConnectOptions, RemoteRuntime};
use agentx::runtime::{
    Delivery, Fact, ModelInfo, OpenRequest, Runtime, Session, SessionLog as _, Subscription, SystemClock,
    UserInput, View,
};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::tools::{ToolOptions, Toolbox};
use agentx::types::{
    AgentConfig, Api, ApprovalMode, Envelope, EnvironmentEvent, OwnerId, RuntimeEvent, SessionId,
    Vocabulary as _,
};
use agentx_server::{ServerOptions, bind};
use agentx_testing::{ModelScript, ScriptedModel, fixture};
use guides::Guides;

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.unwrap()
}

/// A runtime, and what stands behind it.
pub(crate) struct Place {
    home: tempfile::TempDir,
    /// The runtime under test.
    pub(crate) runtime: Arc<dyn Runtime>,
    /// The same, for a place on a server.
    pub(crate) remote: Option<Arc<RemoteRuntime>>,
    /// The address of that server.
    pub(crate) url: String,
    /// The runtime that acts.
    pub(crate) node: Arc<NodeRuntime>,
    pub(crate) log: Arc<SqliteLog>,
    pub(crate) model: ScriptedModel,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("ws")).unwrap();
        Self::at(home)
    }

    /// In a directory with what was kept there.
    fn at(home: tempfile::TempDir) -> Self {
        let log = SqliteLog::open(home.path().join("sessions.db"), LogOptions::default()).unwrap();
        let model = ScriptedModel::new([]);
        let there = ModelInfo::new(fixture::model(Api::Anthropic)).with_aliases(vec!["test".into()]);
        let mut missing = there.clone();
        missing.spec.provider = "elsewhere".into();
        missing.missing = Some("set ELSEWHERE_KEY".into());
        let mut blind = there.clone();
        blind.spec.id = "blind".into();
        blind.spec.input = Some(Vec::new());
        blind.aliases.clear();
        // The default of the settings.
        let mut usual = there.clone();
        usual.spec.id = "scripted".into();
        usual.spec.provider = "scripted".into();
        usual.spec.api = Api::Scripted;
        usual.aliases.clear();
        let parts = NodeParts {
            log: log.clone(),
            owner: OwnerId::new("own_local"),
            models: vec![there, missing, blind, usual],
            wire_options: Arc::new(|_| Default::default()),
            network: Arc::new(model.clone()),
            scripted: ScriptedEnvironment::instant(),
            tools: Toolbox::builtin(ToolOptions::default()),
            clock: Arc::new(SystemClock),
            guard: None,
            redactor: None,
            context: Default::default(),
            analyzers: Default::default(),
            learner: None,
            program: "test".into(),
            data_dir: home.path().to_owned(),
        };
        let node = Arc::new(NodeRuntime::new(parts).with_agents(Arc::new(Guides)));
        Self {
            home,
            runtime: node.clone(),
            remote: None,
            url: String::new(),
            node,
            log,
            model,
        }
    }

    /// The runtime that acts.
    pub(crate) async fn node() -> Self {
        Self::new()
    }

    /// The runtime of a server, whose operator asks.
    pub(crate) async fn remote() -> Self {
        let mut place = Self::new();
        place.serve(None).await;
        place.ask_the_server().await;
        place
    }

    /// The runtime of a server that is reached by another address, which calls `reach` with its own.
    pub(crate) async fn remote_by(address: &str, reach: impl Fn(SocketAddr)) -> Self {
        let mut place = Self::new();
        reach(place.serve(Some(address.to_owned())).await);
        place.ask_the_server().await;
        place
    }

    /// A server with the same key and a copy of all stored data, and its address.
    pub(crate) async fn copied(&self) -> (Self, SocketAddr) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("ws")).unwrap();
        for entry in std::fs::read_dir(self.home.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), home.path().join(entry.file_name())).unwrap();
            }
        }
        let mut place = Self::at(home);
        let address = place.serve(Some(self.url.clone())).await;
        (place, address)
    }

    /// Starts its server, which calls itself `origin`, or by its address. Returns that.
    async fn serve(&mut self, origin: Option<String>) -> SocketAddr {
        let keyring = Keyring::open(self.home.path()).unwrap();
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            origin: origin.clone(),
            ..ServerOptions::default()
        };
        let settings = settings(self.home.path());
        let server = bind(self.node.clone(), &settings, keyring, options)
            .await
            .unwrap();
        let url = server.url().to_owned();
        tokio::spawn(server.run(std::future::pending()));
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        self.url = origin.unwrap_or(url);
        address
    }

    /// Asks by its server from here on, as the operator.
    async fn ask_the_server(&mut self) {
        let key = self.keyring().identity_or_new().unwrap();
        let remote = self.connect(key, "test").await;
        self.runtime = remote.clone();
        self.remote = Some(remote);
    }

    /// Somebody at another program.
    pub(crate) async fn connect(&self, key: SecretKey, client: &str) -> Arc<RemoteRuntime> {
        let options = ConnectOptions::new(&self.url, key, client);
        Arc::new(RemoteRuntime::connect(options).await.unwrap())
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::at(self.home.path())
    }

    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.home.path().join("ws").canonicalize().unwrap()
    }

    pub(crate) fn config(&self, approval: ApprovalMode) -> AgentConfig {
        AgentConfig {
            tools: self.node.tools().into(),
            approval,
            workspace: self.workspace().to_string_lossy().into_owned(),
            ..fixture::config()
        }
    }

    pub(crate) async fn open(&self, approval: ApprovalMode) -> Talk {
        let config = Box::new(self.config(approval));
        let session = self.runtime.open(OpenRequest::New(config)).await.unwrap();
        self.talk(session).await
    }

    pub(crate) async fn talk(&self, session: Arc<dyn Session>) -> Talk {
        let events = session.subscribe(0, View::Runtime).await.unwrap();
        Talk { session, events }
    }

    /// A session in which each of these was said and answered, and that was closed.
    pub(crate) async fn told(&self, answers: &[&str]) -> SessionId {
        let mut talk = self.open(ApprovalMode::Auto).await;
        for answer in answers {
            self.model.push(ModelScript::text(answer));
            talk.say(&format!("say {answer}")).await;
            talk.ends().await;
        }
        let id = talk.session.id().clone();
        talk.session.close().await;
        id
    }

    pub(crate) async fn facts(&self, session: &SessionId) -> Vec<Fact> {
        self.log.read(session, 0, usize::MAX).await.unwrap()
    }

    /// The tags of a session's facts, without those about who drives.
    pub(crate) async fn tags(&self, session: &SessionId) -> Vec<String> {
        let facts = self.facts(session).await;
        let facts = facts.iter().map(|fact| &fact.event);
        let about_people = |event: &&EnvironmentEvent| !matches!(event, EnvironmentEvent::WheelChanged(_));
        facts
            .filter(about_people)
            .map(|event| event.tag().to_owned())
            .collect()
    }
}

fn settings(data: &std::path::Path) -> Settings {
    let place = data.to_string_lossy().into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let request = LoadRequest {
        places: ConfigPaths::find(data, &lookup).unwrap(),
        lookup: &lookup,
        flags: Vec::<CommandLineSetting>::new(),
    };
    load(request).unwrap().settings
}

/// A session and what it says.
pub(crate) struct Talk {
    pub(crate) session: Arc<dyn Session>,
    pub(crate) events: Subscription,
}

pub(crate) fn input(text: &str) -> UserInput {
    UserInput::text(text)
}

impl Talk {
    pub(crate) async fn say(&self, text: &str) -> u64 {
        self.session.send(input(text)).await.unwrap()
    }

    /// Reads until this event came.
    pub(crate) async fn until(
        &mut self,
        wanted: impl Fn(&RuntimeEvent) -> bool,
    ) -> Arc<Envelope<RuntimeEvent>> {
        loop {
            match self.events.next().await {
                Some(Delivery::Runtime(event)) if wanted(&event.event) => return event,
                Some(Delivery::CutOff(why)) => panic!("cut off: {why}"),
                Some(_) => {}
                None => panic!("the session ended first"),
            }
        }
    }

    /// Reads until a run has ended.
    pub(crate) async fn ends(&mut self) -> agentx::types::RunFinished {
        let event = self
            .until(|event| matches!(event, RuntimeEvent::RunFinished(_)))
            .await;
        match &event.event {
            RuntimeEvent::RunFinished(finished) => finished.clone(),
            _ => panic!("it was waited for"),
        }
    }
}

/// All of a subscription that ends.
pub(crate) async fn all(mut events: Subscription) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(delivery) = events.next().await {
        all.push(match delivery {
            Delivery::Environment(fact) => serde_json::to_string(&*fact).unwrap(),
            Delivery::Runtime(event) => serde_json::to_string(&*event).unwrap(),
            Delivery::CaughtUp(seq) => format!("caught up at {seq}"),
            Delivery::CutOff(why) => format!("cut off: {why}"),
        });
    }
    all
}
