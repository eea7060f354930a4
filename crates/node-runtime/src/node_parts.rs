//! The replaceable parts of a runtime: the log, the models, the tools and the clock.
//!
//! [`NodeParts`] has only public fields, so that a program can take the parts of the settings and replace one
//! of them. This module reads no file or variable; `NodeParts::from_settings` (feature `settings`) does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentx_llm::WireOptions;
use agentx_runtime::{Clock, Effector, ModelInfo, Redactor, SecurityAnalyzer, SessionLog};
use agentx_tools::Toolbox;
use agentx_types::{Guard, ModelSpec, OwnerId};

use crate::scripted::ScriptedEnvironment;

/// A function that returns the options of a model's server: its optional fields, the place of cache marks,
/// the name of the maximum answer length. It is called once for each model call, so it must be fast and must
/// not block. `Arc::new(|_| WireOptions::default())` sets no option for any model.
pub type WireOptionsOf = Arc<dyn Fn(&ModelSpec) -> WireOptions + Send + Sync>;

/// A function that returns the bytes that tools keep for an owner outside of the log, or why they cannot be
/// counted. It may read a file: it is called on a thread for blocking work.
pub type KeptBytes = Arc<dyn Fn(&OwnerId) -> Result<u64, String> + Send + Sync>;

/// The parts of a [`NodeRuntime`](crate::NodeRuntime).
///
/// The example is a runtime without network, files or settings, as tests have it.
///
/// ```
/// use std::sync::Arc;
///
/// use agentx_llm::WireOptions;
/// use agentx_node_runtime::scripted::ScriptedEnvironment;
/// use agentx_node_runtime::{NodeParts, NodeRuntime, scripted_model};
/// use agentx_runtime::{MemoryLog, SystemClock};
/// use agentx_tools::Toolbox;
/// use agentx_types::OwnerId;
///
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # tokio.block_on(async {
/// let scripted = ScriptedEnvironment::instant();
/// let runtime = NodeRuntime::new(NodeParts {
///     log: Arc::new(MemoryLog::new()),
///     owner: OwnerId::new("own_example"),
///     models: vec![scripted_model()],
///     wire_options: Arc::new(|_| WireOptions::default()),
///     network: Arc::new(scripted.clone()),
///     scripted,
///     tools: Toolbox::default(),
///     clock: Arc::new(SystemClock),
///     program: "example/1.0".into(),
///     data_dir: "/nowhere".into(),
///     guard: None,
///     redactor: None,
///     context: Default::default(),
///     analyzers: Default::default(),
///     learner: None,
/// });
/// // Models, summaries, tools, timers and two analyzers each have a responder of the runtime's own.
/// assert_eq!(runtime.responders().len(), 6);
/// # });
/// ```
pub struct NodeParts {
    /// The log of sessions. Every event is committed here before any subscriber gets it.
    pub log: Arc<dyn SessionLog>,
    /// The owner of the sessions that this runtime opens, lists and shows. [`NodeRuntime::for_owner`] shows
    /// those of another owner in the same log.
    ///
    /// [`NodeRuntime::for_owner`]: crate::NodeRuntime::for_owner
    pub owner: OwnerId,
    /// The models that it lists, in this order. One with a `missing` text is not opened, unless an attached
    /// environment serves its provider. A model that is not listed can still be used.
    pub models: Vec<ModelInfo>,
    /// The wire options of the servers; also used to show a request without sending it.
    pub wire_options: WireOptionsOf,
    /// Calls models over the network: every model whose API is not
    /// [`Api::Scripted`](agentx_types::Api::Scripted).
    pub network: Arc<dyn Effector>,
    /// Answers without any model, for the offline demo and for tests.
    pub scripted: ScriptedEnvironment,
    /// The tools that it offers to new sessions, and that run the calls of all of its sessions.
    pub tools: Toolbox,
    /// Tells the time of events, and when timers and limits of runs are over.
    pub clock: Arc<dyn Clock>,
    /// The program and its version, such as `agentx/0.1.0`. It is recorded whenever a session is opened.
    pub program: String,
    /// The data directory. Only messages name it; the log has its own path.
    pub data_dir: PathBuf,
    /// The files that calls are kept from in every session; `None` leaves it to each session's configuration.
    pub guard: Option<Arc<Guard>>,
    /// Replaces secrets in facts, blobs and requests to models; `None` replaces nothing.
    pub redactor: Option<Redactor>,
    /// The services that build context for runs, by the names of their sources.
    pub context: ContextServices,
    /// Analyzers of risk besides `rules` and `model`, by their names.
    pub analyzers: AnalyzerServices,
    /// Makes the service that has models propose what to remember; `None` if nobody proposes anything.
    pub learner: Option<LearnerOf>,
}

/// Makes the service for actions of the kind [`ProposeMemories`](agentx_types::ActionKind::ProposeMemories)
/// from the effector with which it asks models, and from [`NodeParts::redactor`]: the answers of these models
/// become no facts, so the service itself looks for secrets in them.
pub type LearnerOf = Box<dyn FnOnce(Arc<dyn Effector>, Option<Redactor>) -> Arc<dyn Effector> + Send + Sync>;

/// Services that build context for runs ([`BuildContext`](agentx_types::BuildContext)), by the names of their
/// sources. A reactor that serves the same source takes precedence.
pub type ContextServices = BTreeMap<String, Arc<dyn Effector>>;

/// Analyzers of risk ([`SecurityAnalyzer`]), by their names. A reactor that serves the same name takes
/// precedence.
pub type AnalyzerServices = BTreeMap<String, Arc<dyn SecurityAnalyzer>>;
