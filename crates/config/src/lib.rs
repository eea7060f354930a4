//! Configuration in layers, for every program of AgentX.
//!
//! Five layers, of which a later one wins: the defaults, the user's `config.yaml` in the platform's
//! configuration directory, the workspace's `.agentx/config.yaml`, the environment, the command line. Every
//! value knows where it comes from ([`MergedSettings::rows`]); every mistake has its position and the nearest
//! valid word ([`ConfigMistake`]), and the program shows all of them at once. A workspace cannot widen trust
//! without the person's consent ([`trust_folder`]). [`Secret`] keeps secrets from being shown.
//!
//! ```no_run
//! use std::path::Path;
//! let lookup = |name: &str| std::env::var(name).ok();
//! let places = agentx_config::ConfigPaths::find(Path::new("."), &lookup)?;
//! let loaded = agentx_config::load(agentx_config::LoadRequest { places, lookup: &lookup, flags: Vec::new() })?;
//! println!("{:?}", loaded.settings.model);
//! # Ok::<(), agentx_config::ConfigError>(())
//! ```

mod add_rule;
mod agent;
mod assemble;
mod aws_files;
mod bounds;
mod chat;
mod cloud;
mod command_files;
mod command_mistakes;
mod condense;
mod directory_listing;
mod environment;
mod environment_context;
mod files;
mod folder;
mod folder_id;
mod folder_instructions;
mod git;
mod guarded_files;
mod json_store;
mod keys;
mod known_commands;
mod layers;
mod load;
mod mcp;
mod mcp_edit;
mod mcp_entry;
mod mcp_project;
mod memory;
mod mistake;
mod models;
mod named_file;
mod ollama;
mod origin;
mod paths;
mod personal_keys;
mod places;
mod quotas;
mod read;
mod refreshed_models;
mod remove_rule;
mod rule_path;
mod rule_syntax;
mod rules;
mod sandbox;
mod scalar;
mod scripted_answers;
mod seen_folders;
mod server_files;
mod servers_here;
mod set;
mod set_in_braces;
mod settings;
mod settings_layers;
mod stuck;
mod symlinks;
mod trust;
mod unset;
mod value;
mod workspace;
mod workspace_effects;
mod workspace_models;
pub mod yaml;

pub use add_rule::add_rule;
pub use agent::{DEFAULT_AGENT_NAME, DEFAULT_SYSTEM_PROMPT, ModelOffer, UnknownModel};
pub use agentx_files::make_private_directory;
pub use agentx_llm::Secret;
pub use agentx_types::nearest;
pub use agentx_types::{SCRIPTED_MODEL, ScriptedAnswer};
pub use bounds::{check_condensing, check_params};
pub use chat::{ChatSettings, EditKeys, Links, Notice, ThemeChoice, ThinkingDisplay};
pub use cloud::{CloudSettings, in_place_of_key};
pub use command_files::path_of_directory;
pub use environment::{PROXIES, check_environment};
pub use environment_context::environment_has_moved;
pub use folder::{
    FileAcceptance, Folder, FolderTrust, accepted_text, check_folder_decisions, forget_folder, trust_folder,
    trusted_below,
};
pub use folder_id::{folder_id, folder_now};
pub use git::GitPrograms;
pub use keys::{
    APIS, KEYS, OTHER_VARIABLES, STATUS_NAMES, SettingPath, SettingSpec, VARIABLES, WorkspaceMay,
};
pub use layers::{MergedSettings, SettingRow, show_rule};
pub use load::{FileStatus, LoadRequest, Loaded, load, load_whatever_workspace, workspace_bytes};
pub use mcp::{McpOauthSettings, McpServerSettings, McpTarget, McpValue, check_mcp_name};
pub use mcp_edit::{add_mcp_server, remove_mcp_server};
pub use mistake::{ConfigError, ConfigMistake, MistakeLocation};
pub use named_file::NamedFile;
pub use origin::{SettingOrigin, SourceLocation, Sourced};
pub use paths::{ConfigPaths, WORKSPACE_FOLDER};
pub use places::address_or_network;
pub use quotas::Quotas;
pub use read::CommandLineSetting;
pub use refreshed_models::{
    RefreshedModels, catalog_of, forget_refreshed_models, refreshed_models, refreshed_models_file,
    write_refreshed_models,
};
pub use remove_rule::{remove_rule, rule_in_file, rules_in_file};
pub use rule_path::rule_path;
pub use rule_syntax::{parse_effect, parse_rule};
pub use rules::WrittenRule;
pub use scalar::scalar;
pub use seen_folders::lying_since;
pub use set::{SetResult, replace, set};
pub use settings::{
    ApiKeySource, CallSettings, DurabilitySetting, HeaderSetting, MemoryAccept, MemorySettings,
    ProviderSettings, SandboxSettings, SearchSettings, SecretSettings, Settings, ToolSettings,
};
pub use symlinks::{leads_out, refuse_links};
pub use trust::IgnoredSetting;
pub use unset::unset;
pub use value::{KeyReference, Value, ValueKind};
