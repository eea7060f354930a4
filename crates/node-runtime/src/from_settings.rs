//! From settings to a runtime: the only place that chooses log, models and tools according to the
//! configuration files.
//!
//! Each setting and its effect:
//!
//! | setting | part |
//! | --- | --- |
//! | `data_dir`, `durability` | the log: SQLite, synced at each commit for `machine` |
//! | `providers.*` | an [`Endpoint`](crate::model::Endpoint) for each, with its key and headers |
//! | `models.*` and the catalog | the models of lists, prices, wire options |
//! | `calls.*` | [`CallLimits`] and [`RetryPolicy`]; unset values keep their defaults |
//! | `tools.enabled`, `tools.disabled` | which built-in tools are in the box |
//! | `search.*` | the tool `web_search`, if an engine is chosen |
//! | `databases.*` | the tool `query_database`, with the feature `postgres` |
//! | `tools.browser`, `browser.*` | the tools `browser_*`, if there is a Chromium |
//! | `web_extract.*` | the tool `web_extract`, if this program can be its own helper for documents |
//! | `tools.timeout`, `tools.max_output_bytes` | the limits of `bash`, `job`, `glob` and `grep` |
//! | `secrets.*` | the redactor, with the values that it knows |
//! | `context.*` | the service of the contexts `persona`, `system`, `tools` and `moment` |
//! | `memory.*` | the service of memories and their tools, if memory is on |
//! | commands and skills in files | the tool `skill`, if there is a skill |
//! | `analyzers.*` | the analyzers of risk that are programs or servers |
//! | `sandbox.*` | what holds the commands of `bash` and `job` |
//! | `scripted_answers` | the answers of the offline demo that take precedence |
//! | `limits.day_cost`, `limits.day_tokens` | a gate before every model call over the network |
//! | `rules`, `approval`, other `limits.*` | nothing here: they are part of the configuration of an agent |
//!
//! Settings that change later do not affect an existing runtime: a front end creates another one, or opens
//! its sessions with changes.

use std::sync::Arc;
use std::time::Duration;

use agentx_config::{ApiKeySource, CallSettings, ProviderSettings, Settings};
use agentx_llm::Catalog;
use agentx_runtime::{Clock, LogError, ModelInfo, SessionLog, SystemClock};
use agentx_sandbox::SandboxMode;
use agentx_sqlite_log::{Durability, LogOptions, SqliteLog};
use agentx_tools::{
    CommandRecords, CommandRewind, DocumentReader, ProgramEnvironment, QueryOptions, QueryTool,
    QueryWriteTool, TestTool, ToolOptions, Toolbox,
};
use agentx_types::{ModelSpec, OwnerId, ToolSpec};
use agentx_web::{
    DocumentHelper, SearchEngine, SearchKey, WebExtractOptions, WebExtractTool, WebSearchOptions,
    WebSearchTool,
};

use crate::analyzers::analyzers_of;
use crate::browser::{with_browser, with_browser_descriptions};
use crate::command_sandbox::{command_sandbox, masked_credentials};
use crate::context_services::add_context_services;
use crate::data_dir::make_data_dir;
use crate::databases::with_databases;
use crate::day_limit::within_day_limit;
use crate::folder_instructions::telling_instructions;
use crate::known_secrets::redactor;
use crate::local_owner::LOCAL_OWNER;
use crate::memory::{MemoryParts, with_memory, without_memory};
use crate::model::{CallLimits, ModelEffector, ModelParts, PricesOf, RetryPolicy, endpoints};
use crate::scripted::{ScriptedEnvironment, scripted_model};
use crate::skill_tool::with_skills;
use crate::{COMMANDS, DATABASE, NodeParts, NodeRuntime, WireOptionsOf};

impl NodeRuntime {
    /// Creates a runtime from the settings. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the database cannot be opened.
    pub fn from_settings(settings: &Settings, program: &str) -> Result<Self, LogError> {
        Ok(Self::new(NodeParts::from_settings(settings, program)?))
    }
}

impl NodeParts {
    /// Creates the parts of a runtime from settings, for code that adds to them. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the database cannot be opened.
    pub fn from_settings(settings: &Settings, program: &str) -> Result<Self, LogError> {
        let records = CommandRecords::in_directory(settings.data_dir.join(COMMANDS));
        let mut options = tool_options(settings);
        options.bash.records = Some(records);
        let log: Arc<dyn SessionLog> = open(settings)?;
        let mut tools = all_tools(options, settings);
        let memory = with_memory(&mut tools, settings, &log);
        let mut parts = Self::of(settings, program, (log, tools));
        parts.context.extend(memory.context);
        parts.learner = Some(memory.learner);
        Ok(parts)
    }

    /// Makes the parts with `log` in place of the log in the data directory, if nothing is written then: no
    /// database is opened, memory is off, and commands that run are not written down. So a killed program
    /// leaves its commands running.
    pub fn on_log(settings: &Settings, program: &str, log: Arc<dyn SessionLog>) -> Self {
        let tools = all_tools(tool_options(settings), settings);
        Self::of(settings, program, (log, tools))
    }

    fn of(settings: &Settings, program: &str, (log, tools): (Arc<dyn SessionLog>, Toolbox)) -> Self {
        let tools = with_skills(tools, settings, &log);
        let catalog = settings.catalog.clone();
        let wire_options: WireOptionsOf = Arc::new(move |model: &ModelSpec| catalog.wire_options(model));
        let catalog = settings.catalog.clone();
        let prices: PricesOf = Arc::new(move |provider: &str, model: &str| {
            let mut specs = catalog.models().iter().map(|entry| &entry.spec);
            let spec = specs.find(|spec| spec.provider == provider && spec.id == model);
            spec.map(|spec| spec.prices)
        });
        let (limits, retry) = calls(&settings.calls);
        let network = ModelEffector::new(ModelParts {
            limits,
            retry,
            prices,
            ..ModelParts::new(endpoints(settings), wire_options.clone(), log.clone())
        });
        let owner = OwnerId::new(LOCAL_OWNER);
        let network = within_day_limit(Arc::new(network), settings, &log, owner.clone());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let MemoryParts { mut context, learner } = without_memory();
        add_context_services(&mut context, settings, program, log.clone(), clock.clone());
        Self {
            context,
            analyzers: analyzers_of(settings, &program_environment(settings)),
            learner: Some(learner),
            log,
            owner,
            models: models(&settings.catalog, &settings.providers),
            wire_options,
            network,
            scripted: ScriptedEnvironment::live().with_answers(settings.scripted_answers.clone()),
            tools: tools
                .filtered(|name| settings.tools.offers(name))
                .give_to_all_agents(|name| settings.tools.asks_for(name))
                .ask_about_unknown(|name| settings.tools.asks_unknown(name))
                .wrapped(telling_instructions(settings)),
            clock,
            program: program.to_owned(),
            data_dir: settings.data_dir.clone(),
            guard: Some(settings.guard()),
            redactor: redactor(settings),
        }
    }
}

/// The built-in tools, with those that the settings configure.
fn all_tools(options: ToolOptions, settings: &Settings) -> Toolbox {
    let own = own_tools(options, query_options(settings));
    let of_the_web = with_search(
        with_extract(own, &settings.local_web_hosts, settings.robots_txt),
        settings,
    );
    with_databases(with_browser(of_the_web, settings), settings)
}

/// Adds the tool `web_extract` if this program can be its own helper for documents.
fn with_extract(mut tools: Toolbox, local_hosts: &[String], robots_txt: bool) -> Toolbox {
    let Some(helper) = DocumentHelper::of_this_program() else {
        return tools;
    };
    let options = WebExtractOptions {
        helper,
        local_hosts: local_hosts.to_vec(),
        robots_txt,
    };
    // No built-in tool has this name, so there is nothing to replace.
    if let Err(taken) = tools.add(WebExtractTool::new(options)) {
        tracing::warn!(tool = taken.name, "there are two tools of one name");
    }
    tools
}

/// Adds the tool `web_search` if the person chose an engine.
fn with_search(mut tools: Toolbox, settings: &Settings) -> Toolbox {
    let chosen = settings.search.as_ref();
    let Some((search, engine)) =
        chosen.and_then(|search| Some((search, SearchEngine::named(&search.engine)?)))
    else {
        return tools;
    };
    let options = WebSearchOptions {
        engine,
        address: search.url.clone(),
        key: match &search.key {
            ApiKeySource::None => SearchKey::None,
            ApiKeySource::Env { name, value: None } => SearchKey::Missing {
                variable: name.clone(),
            },
            ApiKeySource::Env { value: Some(key), .. } | ApiKeySource::Literal(key) => {
                SearchKey::Known(key.expose().to_owned())
            }
        },
    };
    // No built-in tool has this name, so there is nothing to replace.
    if let Err(taken) = tools.add(WebSearchTool::new(options)) {
        tracing::warn!(tool = taken.name, "there are two tools of one name");
    }
    tools
}

/// The log of the data directory, without a runtime: for code that writes sessions of others.
///
/// # Errors
/// Returns an error if the database cannot be opened.
pub fn open_log(settings: &Settings) -> Result<Arc<dyn SessionLog>, LogError> {
    Ok(open(settings)?)
}

/// Opens the database of the data directory and brings older ones up to date.
fn open(settings: &Settings) -> Result<Arc<SqliteLog>, LogError> {
    let options = LogOptions {
        durability: match settings.durability {
            agentx_config::DurabilitySetting::Process => Durability::Process,
            agentx_config::DurabilitySetting::Machine => Durability::Machine,
        },
        ..LogOptions::default()
    };
    make_data_dir(settings).map_err(|error| LogError::Store {
        path: settings.data_dir.display().to_string(),
        what: error.to_string(),
    })?;
    SqliteLog::open(settings.data_dir.join(DATABASE), options)
}

/// The limits and retries of model calls. Unset values keep their defaults ([`CallLimits::default`],
/// [`RetryPolicy::default`]); times are whole milliseconds.
fn calls(settings: &CallSettings) -> (CallLimits, RetryPolicy) {
    let (limits, retry) = (CallLimits::default(), RetryPolicy::default());
    let time = |set: Option<u64>, default: Duration| set.map_or(default, Duration::from_millis);
    let limits = CallLimits {
        connect: time(settings.connect_ms, limits.connect),
        first_byte: time(settings.first_byte_ms, limits.first_byte),
        idle: time(settings.idle_ms, limits.idle),
        total: settings.total_ms.map(Duration::from_millis).or(limits.total),
        ..limits
    };
    let retry = RetryPolicy {
        retries: settings.retries.unwrap_or(retry.retries),
        retry_for: time(settings.retry_for_ms, retry.retry_for),
        ..retry
    };
    (limits, retry)
}

/// Returns the variables of this process for programs of the agent or its chat: never one that any layer
/// names for a provider's key or header.
pub fn program_environment(settings: &Settings) -> ProgramEnvironment {
    let kept = ProgramEnvironment::default().keep(settings.tools.environment.iter());
    settings.keys.iter().fold(kept, |environment, key| {
        let environment = match key {
            ApiKeySource::Env { name, .. } => environment.hide_name(name),
            ApiKeySource::Literal(_) | ApiKeySource::None => environment,
        };
        match key.value() {
            Some(value) => environment.hide_value(value.expose()),
            None => environment,
        }
    })
}

/// The tools that the program has itself, whether settings offer them or not.
pub fn built_in_tools() -> Arc<[ToolSpec]> {
    let own = own_tools(ToolOptions::default(), QueryOptions::default());
    with_browser_descriptions(with_extract(own, &[], true)).specs()
}

/// The built-in tools, those that are off by default included.
fn own_tools(options: ToolOptions, query: QueryOptions) -> Toolbox {
    let mut tools = Toolbox::builtin(options);
    let added = [
        tools.add(QueryTool::new(query.clone())),
        tools.add(QueryWriteTool::new(query)),
        tools.add(TestTool),
    ];
    // No other built-in tool has one of these names.
    for taken in added.into_iter().filter_map(Result::err) {
        tracing::warn!(tool = taken.name, "there are two tools of one name");
    }
    tools
}

/// Returns the options of `query` and `query_write`: agents may not open the databases of sessions, keys and
/// a person's trust.
fn query_options(settings: &Settings) -> QueryOptions {
    let mut options = QueryOptions {
        refused: vec![
            settings.data_dir.clone(),
            settings.data_dir.join(DATABASE),
            settings.trust_dir.clone(),
        ],
        ..QueryOptions::default()
    };
    if let Some(timeout) = settings.tools.timeout_ms.map(Duration::from_millis) {
        options.timeout = options.timeout.min(timeout);
    }
    if let Some(bytes) = settings.tools.max_output_bytes {
        options.shown_bytes = options
            .shown_bytes
            .min(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    options
}

/// The options of the built-in tools.
///
/// `tools.timeout` bounds the timeouts that a model may request and lowers the defaults above it.
/// `tools.max_output_bytes` is halved: the beginning and the end of an output are kept.
fn tool_options(settings: &Settings) -> ToolOptions {
    let mut options = ToolOptions::default();
    options.bash.environment = program_environment(settings);
    options.files.documents =
        DocumentHelper::of_this_program().map(|helper| -> Arc<dyn DocumentReader> { Arc::new(helper) });
    if settings.sandbox.mode != SandboxMode::None {
        options.bash.sandbox = Some(command_sandbox(settings, settings.sandbox.mode));
    }
    if settings.sandbox.unasked != settings.sandbox.mode {
        options.bash.unasked_sandbox = Some(command_sandbox(settings, settings.sandbox.unasked));
    }
    options.bash.credentials = masked_credentials(settings, &options.bash.environment);
    options.bash.rewind = command_rewind(settings);
    if let Some(timeout) = settings.tools.timeout_ms.map(Duration::from_millis) {
        options.bash.timeout = options.bash.timeout.min(timeout);
        options.bash.max_timeout = timeout;
        options.bash.max_wait = options.bash.max_wait.min(timeout);
        options.search.timeout = options.search.timeout.min(timeout);
    }
    if let Some(bytes) = settings.tools.max_output_bytes {
        let half = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        (options.bash.head_bytes, options.bash.tail_bytes) = (half, half);
    }
    options
}

/// The options for keeping the changes of commands; `None` if none are kept.
fn command_rewind(settings: &Settings) -> Option<CommandRewind> {
    let rewind = settings.rewind;
    rewind.commands.then(|| CommandRewind {
        directory: settings.data_dir.join("command-files"),
        ignored_files: rewind.ignored_files,
        max_files: usize::try_from(rewind.max_files).unwrap_or(usize::MAX),
        max_file_bytes: rewind.max_file_bytes,
        max_bytes: rewind.max_bytes,
    })
}

/// The offline demo first, then the catalog. A model whose provider has no key names the variable to set, so
/// that a list can show it and an attempt to open it can explain the failure.
fn models(catalog: &Catalog, providers: &[ProviderSettings]) -> Vec<ModelInfo> {
    let missing = |provider: &str| {
        let Some(provider) = providers.iter().find(|known| known.name == provider) else {
            return Some(format!("no provider {provider} is configured"));
        };
        let variable = provider.missing_variable()?;
        Some(format!(
            "set {variable}, or providers.{}.api_key in the configuration",
            provider.name
        ))
    };
    let listed = catalog.models().iter().map(|entry| {
        ModelInfo::new(entry.spec.clone())
            .with_aliases(entry.aliases.clone())
            .with_missing(missing(&entry.spec.provider))
    });
    std::iter::once(scripted_model()).chain(listed).collect()
}
