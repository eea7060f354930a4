//! Configuration in layers, for every program of AgentX.
//!
//! Five layers, of which a later one wins: the defaults, the user's `config.yaml` in the platform's
//! configuration directory, the workspace's `.agentx/config.yaml`, the environment, the command line. Every
//! value knows where it comes from ([`MergedSettings::rows`]); every mistake has its position and the nearest
//! valid word ([`ConfigMistake`]), and the program shows all of them at once. A workspace cannot widen trust
//! without the person's consent ([`trust_folder`]). [`Secret`] keeps secrets from being shown.
//!
//! Inside, each module uses only those above it in this table.
//!
//! | module | content |
//! | --- | --- |
//! | `layers` | keys and values of each layer, and the merging of layers |
//! | `git` | programs and files that the settings of a repository name |
//! | `folders` | a folder's identity, and the person's decisions about it |
//! | `rules`, `mcp`, `models` | parts of the settings with a syntax of their own |
//! | `settings` | the settings as plain data, and questions about them |
//! | `prompts` | texts for the model: instructions, commands, skills |
//! | `workspace` | the settings of a workspace that count, and their effects |
//! | `loading` | reads all layers, and assembles the settings |
//! | `edit` | changes the person's files |
//!
//! ```no_run
//! use std::path::Path;
//! let lookup = |name: &str| std::env::var(name).ok();
//! let places = agentx_config::ConfigPaths::find(Path::new("."), &lookup)?;
//! let loaded = agentx_config::load(agentx_config::LoadRequest { places, lookup: &lookup, flags: Vec::new() })?;
//! println!("{:?}", loaded.settings.model);
//! # Ok::<(), agentx_config::ConfigError>(())
//! ```

mod api_key_source;
mod digest;
mod directory_listing;
mod edit;
mod folders;
mod git;
mod layers;
mod loading;
mod locked_file;
mod mcp;
mod mistake;
mod models;
mod origin;
mod paths;
mod prompts;
mod rules;
mod settings;
mod symlinks;
mod text_file;
mod workspace;
pub mod yaml;

pub use agentx_files::{close_to_others, make_private_directory, private_options};
pub use agentx_llm::Secret;
pub use agentx_types::nearest;
pub use agentx_types::{SCRIPTED_MODEL, ScriptedAnswer};
pub use api_key_source::ApiKeySource;
pub use edit::add_rule::add_rule;
pub use edit::mcp_server::{add_mcp_server, remove_mcp_server};
pub use edit::remove_rule::{remove_rule, rule_in_file, rules_in_file};
pub use edit::set::{SetResult, replace, set};
pub use edit::unset::unset;
pub use folders::command_files::path_of_directory;
pub use folders::folder::{
    FileAcceptance, Folder, FolderTrust, accepted_text, check_folder_decisions, forget_folder, trust_folder,
    trusted_below,
};
pub use folders::folder_id::{folder_id, folder_now};
pub use folders::ignored_setting::IgnoredSetting;
pub use folders::named_file::NamedFile;
pub use folders::seen_folders::lying_since;
pub use git::GitPrograms;
pub use layers::choices::APIS;
pub use layers::duration::parse_duration;
pub use layers::environment::{PROXIES, check_environment};
pub use layers::keys::{
    KEYS, OTHER_VARIABLES, STATUS_NAMES, SettingPath, SettingSpec, VARIABLES, WorkspaceMay,
};
pub use layers::read::CommandLineSetting;
pub use layers::scalar::scalar;
pub use layers::shown_rule::show_rule;
pub use layers::value::{KeyReference, Value, ValueKind, is_variable};
pub use layers::written_rule::WrittenRule;
pub use layers::{MergedSettings, SettingRow};
pub use loading::load::{FileStatus, LoadRequest, Loaded, load, load_whatever_workspace, workspace_bytes};
pub use mcp::{McpOauthSettings, McpServerSettings, McpTarget, McpValue, check_mcp_name};
pub use mistake::{ConfigError, ConfigMistake, MistakeLocation};
pub use models::cloud::{CloudSettings, in_place_of_key};
pub use models::provider_settings::{HeaderSetting, ProviderSettings};
pub use models::refreshed_models::{
    RefreshedModels, catalog_of, forget_refreshed_models, refreshed_models, refreshed_models_file,
    write_refreshed_models,
};
pub use origin::{SettingOrigin, SourceLocation, Sourced};
pub use paths::{ConfigPaths, WORKSPACE_FOLDER};
pub use prompts::environment_context::environment_has_moved;
pub use prompts::front_matter::{FrontMatterError, MarkdownParts};
pub use prompts::{PromptFile, PromptFiles, PromptKind, SKILL_TOOL};
pub use rules::claude_names::{tool_of_claude, tool_of_opencode};
pub use rules::claude_rules::claude_rules;
pub use rules::rule_path::rule_path;
pub use rules::rule_syntax::{parse_effect, parse_rule};
pub use settings::addresses::address_or_network;
pub use settings::agent::{DEFAULT_AGENT_NAME, DEFAULT_SYSTEM_PROMPT, ModelOffer, UnknownModel};
pub use settings::bounds::{check_condensing, check_params};
pub use settings::chat::{ChatSettings, EditKeys, Links, Notice, ThemeChoice, ThinkingDisplay};
pub use settings::condensers::choose_condensers;
pub use settings::context::ContextSettings;
pub use settings::day_limit::{DayLimit, DayRaise, raise_day_limit, raised_lately};
pub use settings::durability::DurabilitySetting;
pub use settings::quotas::Quotas;
pub use settings::sandbox::{MaskedSettings, SandboxSettings};
pub use settings::security::{AnalyzerSettings, AnalyzerTarget};
pub use settings::webhooks::WebhookSettings;
pub use settings::{
    BrowserSettings, CallSettings, DatabaseSettings, ExecServerSettings, MemoryAccept, MemorySettings,
    RewindSettings, SearchSettings, SecretSettings, Settings, ToolSettings,
};
pub use symlinks::{leads_out, refuse_links};
pub use workspace::claude_files::{ClaudeFile, claude_files};
