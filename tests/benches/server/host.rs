//! The server under measurement, in a separate process: the runtime that acts, with a model whose stream the
//! arguments describe.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentx::config::{ConfigPaths, LoadRequest, Settings, load};
use agentx::identity::Keyring;
use agentx::llm::WireOptions;
use agentx::node::NodeParts;
use agentx::node::scripted::ScriptedEnvironment;
use agentx::runtime::SystemClock;
use agentx::tools::{ToolOptions, Toolbox};
use agentx::types::{AgentConfig, Api, ModelSpec, OwnerId, Prices};
use agentx::{NodeRuntime, OpenRequest, Runtime as _};
use agentx_server::{ServerLimits, ServerOptions, bind};

use crate::desk::Desk;
use crate::pace::PacedModel;
use crate::process::{Role, number, orders, runtime};

/// The number of threads of a server: 0 for the main thread alone.
pub(crate) fn threads() -> u64 {
    number("AGENTX_BENCH_THREADS", 2)
}

/// A server, with data of its own.
pub(crate) struct Host {
    pub(crate) role: Role,
    pub(crate) url: String,
    /// The sessions in which nothing was said yet.
    pub(crate) sessions: Vec<String>,
    _data: tempfile::TempDir,
}

impl Host {
    /// A server with so many sessions in which nothing was said yet.
    pub(crate) fn start(sessions: usize) -> Self {
        Self::with(
            tempfile::tempdir().expect("a directory"),
            sessions,
            Duration::from_secs(60),
        )
    }

    /// A server with this data and so many sessions more, which puts sessions away that were idle for so
    /// long.
    pub(crate) fn with(data: tempfile::TempDir, sessions: usize, idle: Duration) -> Self {
        let keyring = Keyring::at(data.path());
        keyring
            .set_identity(&crate::identity::key(), true)
            .expect("an identity");
        let args = [
            data.path().to_string_lossy().into_owned(),
            sessions.to_string(),
            threads().to_string(),
            idle.as_millis().to_string(),
        ];
        let mut role = Role::start("host", &args);
        let url = role.hear();
        let sessions = (0..sessions).map(|_| role.hear()).collect();
        Self {
            role,
            url,
            sessions,
            _data: data,
        }
    }

    pub(crate) fn desk(&self) -> Desk {
        Desk::at(&self.url)
    }
}

/// The process that serves: its data, how many sessions more, how many threads, after how many milliseconds
/// sessions are put away.
pub(crate) fn serve(args: &[String]) {
    let data = Path::new(&args[0]);
    let sessions: usize = args[1].parse().expect("a number");
    let idle = Duration::from_millis(args[3].parse().expect("milliseconds"));
    let settings = settings(data);
    runtime(args[2].parse().expect("threads")).block_on(async {
        let node = Arc::new(node(&settings));
        let mut ids = Vec::new();
        for _ in 0..sessions {
            let opened = node.open(OpenRequest::New(Box::new(agent(&settings)))).await;
            let session = opened.expect("a session");
            ids.push(session.id().to_string());
            session.close().await;
        }
        let keyring = Keyring::open(data).expect("a keyring");
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            limits: limits(idle),
            ..ServerOptions::default()
        };
        let server = bind(node, &settings, keyring, options).await.expect("a server");
        println!("{}", server.url());
        ids.iter().for_each(|id| println!("{id}"));
        let mut orders = orders();
        let ends = async move {
            orders.recv().await;
        };
        server.run(ends).await.expect("it serves");
    });
}

/// Its own bounds on what waits for a reader; no bounds on what this benchmark does on purpose.
fn limits(idle: Duration) -> ServerLimits {
    ServerLimits {
        connections: 20_000,
        connections_per_address: 20_000,
        connections_per_person: 20_000,
        rate: 100_000,
        burst: 100_000,
        idle,
        ..ServerLimits::default()
    }
}

/// The agent of a new session, with the built-in tools and instructions.
pub(crate) fn agent(settings: &Settings) -> AgentConfig {
    let model = ModelSpec {
        id: "bench-1".into(),
        provider: "bench".into(),
        api: Api::Anthropic,
        context_window: 1_000_000,
        max_output_tokens: 1_000_000,
        input: None,
        prices: Prices::default(),
        server: None,
        assumes_output: false,
        name: None,
    };
    settings.agent(model, tools().specs().to_vec())
}

fn tools() -> Toolbox {
    Toolbox::builtin(ToolOptions::default())
}

/// Settings of a program without arguments.
pub(crate) fn settings(data: &Path) -> Settings {
    let place = data.to_string_lossy().into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let request = LoadRequest {
        places: ConfigPaths::find(data, &lookup).expect("places"),
        lookup: &lookup,
        flags: Vec::new(),
    };
    load(request).expect("settings").settings
}

fn node(settings: &Settings) -> NodeRuntime {
    NodeRuntime::new(NodeParts {
        log: crate::built::log_in(&settings.data_dir),
        owner: OwnerId::new("own_local"),
        models: Vec::new(),
        wire_options: Arc::new(|_| WireOptions::default()),
        network: Arc::new(PacedModel),
        scripted: ScriptedEnvironment::instant(),
        tools: tools(),
        clock: Arc::new(SystemClock),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
        program: "bench".to_owned(),
        data_dir: settings.data_dir.clone(),
    })
}
