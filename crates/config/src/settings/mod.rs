//! The settings as plain data, from which a runtime is assembled.

pub(crate) mod addresses;
pub(crate) mod agent;
pub(crate) mod bounds;
pub(crate) mod chat;
pub(crate) mod condense;
pub(crate) mod condensers;
pub(crate) mod context;
pub(crate) mod day_limit;
pub(crate) mod durability;
pub(crate) mod guarded_files;
pub(crate) mod memory;
pub(crate) mod quotas;
pub(crate) mod rewind;
pub(crate) mod sandbox;
pub(crate) mod security;
pub(crate) mod stuck;
pub(crate) mod webhooks;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_files::{make_own_directory, other_owner};
use agentx_llm::Catalog;
use agentx_types::{
    ApprovalMode, AskUser, Condensing, LearningSettings, Limits, ModelParams, ModelSpec, Rule,
    ScriptedAnswer, SecuritySettings, StuckSettings, ToolSearch,
};

use crate::api_key_source::ApiKeySource;
use crate::folders::folder::Folder;
use crate::folders::named_file::NamedFile;
use crate::git::GitPrograms;
use crate::mcp::McpServerSettings;
use crate::models::provider_settings::ProviderSettings;
use crate::origin::{SettingOrigin, Sourced};
use crate::settings::chat::ChatSettings;
use crate::settings::context::ContextSettings;
use crate::settings::day_limit::DayLimit;
use crate::settings::durability::DurabilitySetting;
use crate::settings::quotas::Quotas;
use crate::settings::sandbox::SandboxSettings;
use crate::settings::security::AnalyzerSettings;
use crate::settings::webhooks::WebhookSettings;

/// All settings of a program of AgentX.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The chosen model; `None` if no layer names one (see [`Settings::model_or_default`]).
    pub model: Option<Sourced<String>>,
    /// Models to ask, in this order, if the agent's own is down, limited or refuses.
    pub fallbacks: Vec<ModelSpec>,
    /// The system prompt in place of the built-in one.
    pub system_prompt: Option<Arc<str>>,
    /// Answers that the scripted environment gives before its own.
    pub scripted_answers: Vec<ScriptedAnswer>,
    /// Settings of each model call.
    pub params: ModelParams,
    /// The limits of a run.
    pub limits: Limits,
    /// Whether a run that reaches a limit asks before it ends.
    pub asks_at_limits: bool,
    /// The limit on what all sessions of the person spend within 24 hours.
    pub day_limit: DayLimit,
    /// Whether the model gets the facts of its environment.
    pub environment_context: bool,
    /// The contexts that services build before each run.
    pub context: ContextSettings,
    /// The settings of condensing.
    pub condensing: Condensing,
    /// The analyzers that assess calls, and what follows from their verdicts; `None` if there are none.
    pub security: Option<SecuritySettings>,
    /// The programs and servers that assess calls.
    pub analyzers: Vec<AnalyzerSettings>,
    /// The conditions under which the agent counts as stuck in a loop.
    pub stuck: StuckSettings,
    /// The condition under which the model searches tools of MCP servers instead of getting all of them.
    pub tool_search: Option<ToolSearch>,
    /// Whether the model may ask the person questions, and the handling of a question if nobody can answer.
    pub ask_user: Option<AskUser>,
    /// The decision about a call that no rule covers.
    pub approval: ApprovalMode,
    /// Approval rules of all layers.
    pub rules: Vec<Rule>,
    /// The origin of each rule, in the same order.
    pub rule_origins: Vec<SettingOrigin>,
    /// The offered tools, and their limits.
    pub tools: ToolSettings,
    /// The changes of commands that a rewind restores.
    pub rewind: RewindSettings,
    /// The sandbox for commands.
    pub sandbox: SandboxSettings,
    /// The settings of secrets: the values to replace.
    pub secrets: SecretSettings,
    /// The memories of the person: whether there are any, and how they are used.
    pub memory: MemorySettings,
    /// The MCP servers: the person's own, then those of the folder that the person accepted.
    pub mcp: Vec<McpServerSettings>,
    /// The search engine of the tool `web_search`; without one, the tool is not offered.
    pub search: Option<SearchSettings>,
    /// The exec server at which commands run and files are; `None` if they are here.
    pub exec_server: Option<ExecServerSettings>,
    /// The databases that the tool `query_database` reads; without one, the tool is not offered.
    pub databases: Vec<DatabaseSettings>,
    /// The prompts that a server runs when another program calls it.
    pub webhooks: Vec<WebhookSettings>,
    /// Hosts outside of the public internet from which the tool `web_extract` may fetch pages.
    pub local_web_hosts: Vec<String>,
    /// Whether `web_extract` fetches only what the `robots.txt` of a server permits.
    pub robots_txt: bool,
    /// The browser of the tools `browser_*`; `None` if they are not offered.
    pub browser: Option<BrowserSettings>,
    /// All models and providers: the built-in ones, with what the configuration adds and changes.
    pub catalog: Catalog,
    /// The providers of the catalog, each with its key.
    pub providers: Vec<ProviderSettings>,
    /// Files of clouds with credentials that the environment names; the usual ones are kept from tools
    /// anyway.
    pub cloud_files: Vec<PathBuf>,
    /// Every key and header that any layer names for a provider, including overridden ones: commands and a
    /// folder's files get none of them.
    pub keys: Vec<ApiKeySource>,
    /// The timeouts and retries of model calls.
    pub calls: CallSettings,
    /// The settings of a chat in a terminal.
    pub chat: ChatSettings,
    /// The server to run commands against; `None` for this machine.
    pub connect: Option<String>,
    /// Servers, as host and port, to sign in to over plain HTTP although they do not prove their key.
    pub allow_plain_http: Vec<String>,
    /// The directory of sessions, absolute.
    pub data_dir: PathBuf,
    /// The id of another user to whom the data directory may belong (`AGENTX_DATA_OWNER`).
    pub data_owner: Option<u32>,
    /// The directory with a directory for each member of a server, absolute. Not below `data_dir`, which no
    /// tool may open.
    pub members_dir: PathBuf,
    /// The limits of each person on a server, except its operator.
    pub quotas: Quotas,
    /// Addresses and networks of proxies whose forwarding headers a server trusts.
    pub trusted_proxies: Vec<String>,
    /// Hosts outside of the public internet at which push services of browsers may be.
    pub push_hosts: Vec<String>,
    /// The kind of crash that committed events survive.
    pub durability: DurabilitySetting,
    /// The log level: `off`, `error`, `warn`, `info`, `debug`, `trace`.
    pub log: String,
    /// The log file; `None` for standard error.
    pub log_file: Option<PathBuf>,
    /// The directory that the agent works in, absolute, symbolic links resolved.
    pub workspace: PathBuf,
    /// The project root above it.
    pub workspace_root: PathBuf,
    /// The person's decision about that root.
    pub folder: Folder,
    /// The files that its settings name, accepted or not.
    pub named_files: Vec<NamedFile>,
    /// The programs that Git runs because the repository of the workspace names them, accepted or not.
    pub git: GitPrograms,
    /// The directory with decisions about folders: the person's data directory. A workspace cannot change it.
    pub trust_dir: PathBuf,
    /// The user's file, for messages that say where to put something.
    pub user_file: PathBuf,
}

impl Settings {
    /// Returns the person's home, where other programs keep their files too; `None` if the configuration is
    /// elsewhere, as with `AGENTX_CONFIG`: then other files of the home are not meant.
    pub fn home(&self) -> Option<PathBuf> {
        let home = etcetera::home_dir().ok()?;
        self.user_file.starts_with(&home).then_some(home)
    }
}

/// The timeouts of model calls, in milliseconds, and the number of retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSettings {
    /// The maximum time to connect.
    pub connect_ms: Option<u64>,
    /// The maximum time until the first byte of an answer.
    pub first_byte_ms: Option<u64>,
    /// The longest silence within an answer.
    pub idle_ms: Option<u64>,
    /// The maximum time for one attempt; `None` for no limit while bytes come.
    pub total_ms: Option<u64>,
    /// The number of retries of an answer that broke off; 0 disables all retries.
    pub retries: Option<u32>,
    /// The maximum time, in total, to wait for a server that is overloaded or unreachable.
    pub retry_for_ms: Option<u64>,
}

/// The offered tools, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSettings {
    /// The tools to offer; `None` for all.
    pub enabled: Option<Vec<String>>,
    /// The tools not to offer.
    pub disabled: Vec<String>,
    /// Tools to offer although they are off by default.
    pub optional: Vec<String>,
    /// Tools about whose unknown outcome after a crash the person is asked; `*` for all.
    pub ask_unknown: Vec<String>,
    /// The longest time of one call.
    pub timeout_ms: Option<u64>,
    /// The maximum size of tool output that the model reads.
    pub max_output_bytes: Option<u64>,
    /// Environment variables that commands get although they look like secrets.
    pub environment: Vec<String>,
    /// Whether commands that only read the workspace run without a question in a folder that the person
    /// trusts.
    pub reading_commands: bool,
    /// Whether the agent may delegate work to agents of files that it does not list.
    pub own_agents: bool,
}

/// The values that are replaced as secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSettings {
    /// Whether secrets are replaced. `true` by default.
    pub redact: bool,
    /// More variables whose values are secrets.
    pub names: Vec<String>,
    /// Variables whose values are not secrets.
    pub ignore: Vec<String>,
}

/// The changes of commands that a rewind restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindSettings {
    /// Whether it restores any. `false` by default.
    pub commands: bool,
    /// Whether files that Git ignores are included. `false` by default.
    pub ignored_files: bool,
    /// The most files of a workspace: 20,000.
    pub max_files: u64,
    /// The largest file, in bytes: 1 MiB.
    pub max_file_bytes: u64,
    /// The most bytes of all files of a workspace: 256 MiB.
    pub max_bytes: u64,
}

impl Default for RewindSettings {
    fn default() -> Self {
        Self {
            commands: false,
            ignored_files: false,
            max_files: 20_000,
            max_file_bytes: 1 << 20,
            max_bytes: 256 << 20,
        }
    }
}

impl ToolSettings {
    /// Returns whether a tool of this name is on offer.
    pub fn offers(&self, name: &str) -> bool {
        let enabled = self
            .enabled
            .as_ref()
            .is_none_or(|names| names.iter().any(|listed| names_tool(listed, name)));
        enabled && !self.disabled.iter().any(|listed| names_tool(listed, name))
    }

    /// Returns whether the settings turn on this tool, which is off by default.
    pub fn asks_for(&self, name: &str) -> bool {
        self.optional.iter().any(|listed| names_tool(listed, name))
    }

    /// Returns whether a person is asked what became of a call of this tool that a crash interrupted.
    pub fn asks_unknown(&self, name: &str) -> bool {
        self.ask_unknown.iter().any(|n| n == "*" || n == name)
    }
}

/// Returns whether a name in a list of tools names this tool: `shell` also names the tools that type into its
/// program and wait for it.
fn names_tool(listed: &str, name: &str) -> bool {
    listed == name || (listed == "shell" && ["shell_input", "shell_wait"].contains(&name))
}

/// The settings of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether memories are proposed and used.
    pub enabled: bool,
    /// The handling of proposals by a model.
    pub accept: MemoryAccept,
    /// The maximum size of the memories that a model is given for one run, in tokens.
    pub max_tokens: u32,
    /// The numbers of inputs after which a model is asked what to remember.
    pub learning: LearningSettings,
}

/// The handling of proposals by a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryAccept {
    /// It waits until the person decides.
    #[default]
    Ask,
    /// It is accepted immediately, unless text from outside may be in the conversation.
    Always,
}

/// The search engine of the tool `web_search`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSettings {
    /// The engine's name: `brave`, `tavily`, `exa` or `searxng`.
    pub engine: String,
    /// The engine's address; `None` for the vendor's own.
    pub url: Option<String>,
    /// The API key.
    pub key: ApiKeySource,
}

/// The exec server at which the tools of sessions run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecServerSettings {
    /// Its address.
    pub url: String,
    /// Its key.
    pub key: ApiKeySource,
    /// Whether the key may be sent without encryption to another machine.
    pub insecure: bool,
}

/// The browser that the tools `browser_*` drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSettings {
    /// The program; `None` for the first Chromium or Chrome in `PATH`.
    pub program: Option<PathBuf>,
    /// Hosts outside of the public internet that it may reach.
    pub local_hosts: Vec<String>,
    /// Whether it starts with its own sandbox.
    pub sandbox: bool,
}

/// A PostgreSQL database that the tool `query_database` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// The name by which the model names it.
    pub name: String,
    /// The address, which may have a password.
    pub url: ApiKeySource,
}

impl Settings {
    /// Returns the variables with the API keys of this program: no file of a folder gets them, even if it is
    /// trusted.
    pub fn key_variables(&self) -> BTreeSet<&str> {
        let variables = self.keys.iter().filter_map(|key| match key {
            ApiKeySource::Env { name, .. } => Some(name.as_str()),
            ApiKeySource::None | ApiKeySource::Literal(_) => None,
        });
        variables.collect()
    }

    /// Returns whether the value of a variable, with any name, is or contains an API key of this program.
    pub fn holds_key(&self, value: &str) -> bool {
        let mut keys = self.keys.iter().filter_map(ApiKeySource::value);
        keys.any(|key| key.is_in(value))
    }

    /// Makes the data directory, for its owner alone. If others had access to an existing one, it is taken
    /// from them, and the mode before is returned. A directory that contains the home or the workspace keeps
    /// its mode.
    ///
    /// # Errors
    /// Returns an error if it cannot be made, or if other users can change files in it and its mode has to
    /// stay.
    pub fn make_data_dir(&self) -> io::Result<Option<u32>> {
        let home = etcetera::home_dir().ok();
        let here = [self.workspace.as_path(), self.workspace_root.as_path()];
        let used: Vec<&Path> = here.into_iter().chain(home.as_deref()).collect();
        make_own_directory(&self.data_dir, &used)
    }

    /// Returns the id of the user to whom the data directory belongs, if that is neither this user, nor root,
    /// nor the one whom the person allows: that user can replace everything in it.
    pub fn foreign_data_owner(&self) -> Option<u32> {
        let owner = other_owner(&self.data_dir.metadata().ok()?)?;
        (self.data_owner != Some(owner)).then_some(owner)
    }

    /// Returns the provider with this name; `None` if there is none.
    pub fn provider(&self, name: &str) -> Option<&ProviderSettings> {
        self.providers.iter().find(|provider| provider.name == name)
    }
}
