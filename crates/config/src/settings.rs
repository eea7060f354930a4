//! The settings as plain data, ready for a runtime to be assembled from.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agentx_llm::Catalog;
use agentx_types::{ApprovalMode, Condensing, Limits, ModelParams, Rule};

use crate::{ChatSettings, Folder, GitPrograms, NamedFile, Quotas, ScriptedAnswer, Secret, Sourced};

/// Everything that a program of AgentX can be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model that was asked for; `None` where nobody named one (see [`Settings::model_or_default`]).
    pub model: Option<Sourced<String>>,
    /// Standing instructions in place of the built-in ones.
    pub system_prompt: Option<Arc<str>>,
    /// Answers that the scripted environment gives before its own.
    pub scripted_answers: Vec<ScriptedAnswer>,
    /// Settings of each model call.
    pub params: ModelParams,
    /// When a run has to end.
    pub limits: Limits,
    /// Whether a model is told where and when it works.
    pub environment_context: bool,
    /// When conversations are condensed.
    pub condensing: Condensing,
    /// Who decides about a call that no rule decides.
    pub approval: ApprovalMode,
    /// Approval rules of all layers.
    pub rules: Vec<Rule>,
    /// Which tools are on offer, and their limits.
    pub tools: ToolSettings,
    /// All models and providers: the built-in ones, with what the configuration adds and changes.
    pub catalog: Catalog,
    /// The providers of the catalog, each with its key.
    pub providers: Vec<ProviderSettings>,
    /// Every key and header that any layer names for a provider, even if a higher layer names another: commands and a folder's
    /// files get none of them.
    pub keys: Vec<ProviderKey>,
    /// How long model calls may take, and when they are tried again.
    pub calls: CallSettings,
    /// How a chat in a terminal looks.
    pub chat: ChatSettings,
    /// The server that commands work on; `None` where they work here.
    pub connect: Option<String>,
    /// Servers, as host and port, that may be signed in to over plain HTTP although they do not prove their key.
    pub allow_plain: Vec<String>,
    /// Where sessions are kept, absolute.
    pub data_dir: PathBuf,
    /// Where a server has a directory for each of its members, absolute. Not below `data_dir`, which no tool opens.
    pub members_dir: PathBuf,
    /// What a server lets each person have who is not its operator.
    pub quotas: Quotas,
    /// Addresses and networks of proxies whose word a server takes for whom they pass on.
    pub trusted_proxies: Vec<String>,
    /// What committed events survive.
    pub durability: DurabilitySetting,
    /// How much the program says about itself: `off`, `error`, `warn`, `info`, `debug`, `trace`.
    pub log: String,
    /// Where it says that; standard error where `None`.
    pub log_file: Option<PathBuf>,
    /// The directory that the agent works in, absolute, symbolic links resolved.
    pub workspace: PathBuf,
    /// The project root above it.
    pub workspace_root: PathBuf,
    /// What the person said about that root: what of its files counts.
    pub folder: Folder,
    /// The files that its settings name, accepted or not.
    pub named_files: Vec<NamedFile>,
    /// What Git runs because the repository of the workspace says so, accepted or not.
    pub git: GitPrograms,
    /// Where decisions about folders are kept: the person's data directory, whatever a workspace configures.
    pub trust_dir: PathBuf,
    /// The user's file, for messages that say where to put something.
    pub user_file: PathBuf,
}

/// What committed events survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurabilitySetting {
    /// The death of the process.
    #[default]
    Process,
    /// A loss of power too: each commit waits for the disk.
    Machine,
}

/// How long model calls may take, in milliseconds, and how many times a failed attempt is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSettings {
    /// Until the server is connected.
    pub connect_ms: Option<u64>,
    /// Until it begins to answer.
    pub first_byte_ms: Option<u64>,
    /// The longest silence within an answer.
    pub idle_ms: Option<u64>,
    /// One attempt; as long as bytes come where `None`.
    pub total_ms: Option<u64>,
    /// How often an answer that broke off is asked for again; with 0 nothing is tried again.
    pub retries: Option<u32>,
    /// How long a server that is overloaded or cannot be reached is waited for in all.
    pub retry_for_ms: Option<u64>,
}

/// Which tools are on offer, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSettings {
    /// Only these; all where `None`.
    pub enabled: Option<Vec<String>>,
    /// Not these.
    pub disabled: Vec<String>,
    /// The longest time of one call.
    pub timeout_ms: Option<u64>,
    /// How much of an output the model reads.
    pub max_output_bytes: Option<u64>,
    /// Environment variables that commands get although they look like secrets.
    pub environment: Vec<String>,
}

impl ToolSettings {
    /// Whether a tool of this name is on offer.
    pub fn offers(&self, name: &str) -> bool {
        let enabled = self
            .enabled
            .as_ref()
            .is_none_or(|names| names.iter().any(|n| n == name));
        enabled && !self.disabled.iter().any(|n| n == name)
    }
}

/// Where models are served.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSettings {
    /// What models refer to it by; the catalog of the settings says the rest about it.
    pub name: String,
    /// Where it is.
    pub base_url: String,
    /// Whether it can only be asked with a key.
    pub needs_key: bool,
    /// The model to ask where none is named.
    pub default_model: Option<String>,
    /// Whether a person (and not the program) said where it is.
    pub base_url_given: bool,
    /// Whether the workspace's own settings say where it is.
    pub of_folder: bool,
    /// Its key.
    pub key: ProviderKey,
    /// Headers that are sent along.
    pub headers: Vec<HeaderSetting>,
}

/// One more header for a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderSetting {
    /// Its name.
    pub name: String,
    /// What it holds. It is sent where there is a value.
    pub value: ProviderKey,
}

/// The key of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderKey {
    /// It needs none.
    None,
    /// In an environment variable.
    Env {
        /// Its name.
        name: String,
        /// What it holds, if it is set.
        value: Option<Secret>,
    },
    /// Written down in a file.
    Literal(Secret),
}

impl ProviderKey {
    /// What it is, where it is known.
    pub fn value(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Env { value, .. } => value.as_ref(),
            Self::Literal(secret) => Some(secret),
        }
    }
}

impl ProviderSettings {
    /// The key, if there is one.
    pub fn key(&self) -> Option<&Secret> {
        self.key.value()
    }

    /// The variable whose value is missing; `None` where the provider can be asked. A server on this machine needs a key too, where its
    /// provider does.
    pub fn missing_variable(&self) -> Option<&str> {
        match &self.key {
            ProviderKey::Env { name, value: None } if self.needs_key => Some(name),
            _ => None,
        }
    }

    /// Whether someone connected it: it has a key, or it is a server that a person named.
    pub fn is_connected(&self) -> bool {
        self.key().is_some() || (self.base_url_given && self.missing_variable().is_none())
    }
}

impl Settings {
    /// The variables that hold what this program pays with: no file of a folder gets them, whoever trusts it.
    pub fn key_variables(&self) -> BTreeSet<&str> {
        let variables = self.keys.iter().filter_map(|key| match key {
            ProviderKey::Env { name, .. } => Some(name.as_str()),
            ProviderKey::None | ProviderKey::Literal(_) => None,
        });
        variables.collect()
    }

    /// Whether what a variable holds is a key that this program pays with, or has one within it, whatever the variable is called.
    pub fn holds_key(&self, value: &str) -> bool {
        let mut keys = self.keys.iter().filter_map(ProviderKey::value);
        keys.any(|key| key.is_in(value))
    }

    /// A provider by name.
    pub fn provider(&self, name: &str) -> Option<&ProviderSettings> {
        self.providers.iter().find(|provider| provider.name == name)
    }
}
