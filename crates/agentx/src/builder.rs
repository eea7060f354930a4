//! Builds an agent from a sentence.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_llm::{CloudCredentials, Secret};
use agentx_runtime::{ModelEnvironment, Runtime, SessionLog};
use agentx_types::{ApprovalMode, Limits, Rule, SessionId};

use crate::definition::{AgentPermissions, Definition};
use crate::error::AgentError;
use crate::handle::AgentHandle;
use crate::model_access::{ModelAccess, OwnProvider};
use crate::provider::{Provider, ProviderEffector};
use crate::reply::{Reply, ScriptedReplies};
use crate::tool::IntoTool;
use crate::work_dirs::WorkDirs;

/// Creates an agent with these standing instructions. Set its other properties, and then
/// [start](AgentBuilder::start) it.
pub fn agent(instructions: impl Into<Arc<str>>) -> AgentBuilder {
    AgentBuilder {
        definition: Definition {
            instructions: instructions.into(),
            door: ModelAccess::default(),
            tools: Vec::new(),
            builtin: false,
            all_tools: false,
            rights: AgentPermissions::default(),
            helpers: Vec::new(),
        },
        place: WorkDirs::default(),
    }
}

/// An agent that is being described.
#[must_use = "an agent does nothing until it is started"]
pub struct AgentBuilder {
    pub(crate) definition: Definition,
    pub(crate) place: WorkDirs,
}

impl AgentBuilder {
    /// The model: an id, an alias or `provider/id` of the [catalog](crate::llm::Catalog); `scripted` is the
    /// offline demo, which needs neither key nor network.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.definition.door.model = Some(model.into());
        self
    }

    /// Models to ask in this order, within a run, if the model is down, limited or refuses. The next run
    /// begins with the model again. Without this, those of the configuration apply, if there is one.
    pub fn fallbacks<T: Into<String>>(mut self, models: impl IntoIterator<Item = T>) -> Self {
        self.definition.door.fallbacks = Some(models.into_iter().map(Into::into).collect());
        self
    }

    /// The key for the model's provider.
    pub fn api_key(self, key: impl Into<String>) -> Self {
        self.keyed(Secret::new(key))
    }

    pub(crate) fn keyed(mut self, key: Secret) -> Self {
        self.definition.door.api_key = Some(key);
        self
    }

    /// The credentials of a cloud for the model's provider, in place of a key: an access key of AWS for
    /// `bedrock`, by which each request is signed, or a service account or a person of Google for `vertex`
    /// and `vertex-anthropic`, whose tokens are requested and renewed. [`AgentBuilder::base_url`] names the
    /// region: [`bedrock::base_url`](crate::llm::bedrock::base_url) and
    /// [`vertex_base_url`](crate::llm::google_auth::vertex_base_url) make it. Nothing is read from variables
    /// or files.
    pub fn cloud(mut self, credentials: CloudCredentials) -> Self {
        self.definition.door.cloud = Some(credentials);
        self
    }

    /// Sets the address of the model's provider, instead of the catalog's. A model that the catalog does not
    /// know is then called by OpenAI's protocol, which most servers speak, and needs no key.
    pub fn base_url(mut self, address: impl Into<String>) -> Self {
        self.definition.door.base_url = Some(address.into());
        self
    }

    /// Sets a model that the program provides itself. [`AgentBuilder::model`] then names one of the
    /// provider's models, if it has several.
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.definition.door.own = Some(OwnProvider {
            name: provider.name().to_owned(),
            context_window: provider.context_window(),
            effector: Arc::new(ProviderEffector(Arc::new(provider))),
        });
        self
    }

    /// Does the same with the whole contract of model calls: the environment's effector answers for the
    /// agent's model, under the name of its provider. The effector then handles retries, errors and partial
    /// answers itself; [`Effector`](crate::runtime::Effector) describes the contract.
    pub fn environment(mut self, environment: ModelEnvironment) -> Self {
        let (name, effector) = environment.into_parts();
        self.definition.door.own = Some(OwnProvider {
            name,
            context_window: OWN_WINDOW,
            effector,
        });
        self
    }

    /// Sets a model with a list of answers, for tests: texts, or [`Reply`]s that call tools. A call beyond
    /// the last answer fails.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), agentx::AgentError> {
    /// let agent = agentx::agent("You greet.").scripted(["Hello!"]).start().await?;
    /// assert_eq!(agent.ask("hi").await?.text, "Hello!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn scripted<R: Into<Reply>>(self, replies: impl IntoIterator<Item = R>) -> Self {
        // Helpers may have their own scripts, so each gets its own name.
        static SCRIPTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let number = SCRIPTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let replies = replies.into_iter().map(Into::into).collect();
        self.provider(ScriptedReplies::new(format!("script-{number}"), replies))
    }

    pub(crate) fn instructed(mut self, instructions: Arc<str>) -> Self {
        self.definition.instructions = instructions;
        self
    }

    /// Adds a tool: the name of a function with [`#[agentx::tool]`](crate::tool), or any other tool.
    pub fn tool<Form>(mut self, tool: impl IntoTool<Form>) -> Self {
        self.definition.tools.push(tool.into_tool());
        self
    }

    /// Adds the built-in tools: files, searches, command lines. The approval mode decides about their calls.
    #[cfg(feature = "tools")]
    pub fn builtin_tools(mut self) -> Self {
        self.definition.builtin = true;
        self
    }

    /// Adds an agent to which this one may delegate work, by its name. It has the same workspace and log as
    /// this one; if it names a model, it needs its own key and address.
    pub fn helper(mut self, name: impl Into<String>, helper: Self) -> Self {
        self.definition.helpers.push((name.into(), helper.definition));
        self
    }

    /// Sets the default for calls that no rule decides; without it a person decides, unless a configuration
    /// that was [asked for](AgentBuilder::from_user_config) says otherwise. Only calls of tools that change
    /// files or run programs need approval. Awaiting a run that needs one returns
    /// [`AgentError::ApprovalRequired`], and the run continues after [`AgentHandle::approve`] or
    /// [`AgentHandle::deny`].
    pub fn approval(mut self, mode: ApprovalMode) -> Self {
        self.definition.rights.approval = Some(mode);
        self
    }

    /// Adds an approval rule to those of a configuration.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.definition.rights.rules.push(rule);
        self
    }

    /// Sets the limits of each run, instead of the configuration's; a field that is `None` is not a limit.
    /// Without this, and without a configuration, a model gets tool results 50 times. A run that reaches a
    /// limit ends with [`AgentError::Ended`], which contains the text until then.
    ///
    /// ```
    /// use agentx::types::{Limits, NanoUsd};
    ///
    /// let limits = Limits {
    ///     max_iterations: Some(20),
    ///     max_cost: Some(NanoUsd::from_usd(0.50)),
    ///     max_wall_ms: Some(5 * 60 * 1000),
    ///     ..Limits::default()
    /// };
    /// let agent = agentx::agent("You help.").limits(limits);
    /// # drop(agent);
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.definition.rights.limits = Some(limits);
        self
    }

    /// Sets the directory in which tools work; the current one by default.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place.workspace = Some(directory.into());
        self
    }

    /// Keeps sessions in this log. **Without this, nothing is stored**: the log is in
    /// [memory](crate::runtime::MemoryLog), and disappears with the last handle.
    pub fn log(mut self, log: Arc<dyn SessionLog>) -> Self {
        self.place.log = Some(log);
        self
    }

    /// Keeps sessions on disk, in this directory, where [`AgentBuilder::resume`] finds them in a later
    /// process. The directory is closed to other users of the machine; one that contains the workspace or the
    /// home keeps its mode, and is refused if others can change files in it.
    #[cfg(feature = "sqlite")]
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place.data_dir = Some(directory.into());
        self
    }

    /// Reads the configuration of the person who runs the program, as the program `agentx` does: their file,
    /// that of the workspace, the environment. It provides models, keys, rules and limits that the builder
    /// does not set. The model is the one that it names, else that of the first provider with a key, else the
    /// offline demo. Without this, the library reads nothing of the person's.
    #[cfg(feature = "config")]
    pub fn from_user_config(mut self) -> Self {
        self.place.user_config = true;
        self
    }

    /// Does the same with settings that were already read.
    #[cfg(feature = "config")]
    pub fn settings(mut self, settings: agentx_config::Settings) -> Self {
        self.place.settings = Some(Box::new(settings));
        self
    }

    /// Opens the session on an existing runtime, with its log, models, settings and tools. The agent gets
    /// only those of its tools whose specifications were given to [`AgentBuilder::tool`], or all of them with
    /// [`AgentBuilder::all_tools`].
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.place.runtime = Some(runtime);
        self
    }

    /// Gives the agent all tools of its runtime, including those of [reactors](AgentHandle::attach) that are
    /// attached later: the agent gets them between two runs. The built-in tools are among them only on an
    /// [existing runtime](AgentBuilder::runtime), or with [`AgentBuilder::builtin_tools`].
    pub fn all_tools(mut self) -> Self {
        self.definition.all_tools = true;
        self
    }

    /// Opens the session on a server: `who` is a person's key, or a visitor. Models, keys, tools, log,
    /// workspace and settings are the server's: a builder that names one of them, too, does not start.
    #[cfg(feature = "remote")]
    pub fn remote(
        mut self,
        address: impl Into<String>,
        who: impl Into<agentx_remote_runtime::Credentials>,
    ) -> Self {
        let options = agentx_remote_runtime::ConnectOptions::new(address, who, CLIENT);
        self.place.remote = Some(Box::new(options));
        self
    }

    /// Begins a session with this agent. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if no model is named, the model is not known or lacks its key, two tools have one
    /// name, two methods exclude each other (as [`log`](Self::log) and [`runtime`](Self::runtime)), the
    /// session cannot be stored, or a requested configuration has mistakes.
    pub async fn start(self) -> Result<AgentHandle, AgentError> {
        self.assemble().await?.start().await
    }

    /// Continues a session of [its directory](AgentBuilder::data_dir) or [log](AgentBuilder::log).
    /// Instructions, model, rules and the conversation are the session's, and an open question stays open.
    /// Only the tools are this builder's.
    ///
    /// # Errors
    /// Returns the errors of [`AgentBuilder::start`], or an error if the session does not exist or another
    /// process writes it.
    pub async fn resume(self, session: &SessionId) -> Result<AgentHandle, AgentError> {
        self.assemble().await?.resume(session).await
    }
}

/// The name of this program at servers.
#[cfg(feature = "remote")]
const CLIENT: &str = "agentx-library";
/// The context window of an environment that declares none, in tokens.
const OWN_WINDOW: u64 = 128_000;

/// Names only: keys are secret, and instructions may be private.
impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools = self.definition.tools.iter().map(|tool| tool.spec().name);
        f.debug_struct("AgentBuilder")
            .field("model", &self.definition.door.model)
            .field("tools", &tools.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
