//! Assembles [`Settings`] from merged layers, and checks rules that need more than one key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_llm::Catalog;
use agentx_types::{ApprovalMode, AskUser, Limits, ModelParams, ScriptedAnswer, ToolSearch};

use crate::folders::folder::Folder;
use crate::git::GitPrograms;
use crate::layers::MergedSettings;
use crate::layers::getter::{SettingsGetter, mistake, resolved};
use crate::layers::keys::SettingPath;
use crate::layers::owner_variable::data_owner;
use crate::layers::value::Value;
use crate::layers::written_rule::WrittenRule;
use crate::mcp;
use crate::mistake::ConfigMistake;
use crate::models;
use crate::models::cloud::{self, Clouds};
use crate::models::scripted_answers;
use crate::origin::Sourced;
use crate::paths::ConfigPaths;
use crate::settings::addresses;
use crate::settings::bounds;
use crate::settings::condense;
use crate::settings::context;
use crate::settings::day_limit;
use crate::settings::durability::DurabilitySetting;
use crate::settings::memory;
use crate::settings::quotas;
use crate::settings::rewind;
use crate::settings::sandbox;
use crate::settings::security;
use crate::settings::stuck;
use crate::settings::webhooks;
use crate::settings::{
    BrowserSettings, CallSettings, DatabaseSettings, ExecServerSettings, SearchSettings, SecretSettings,
    Settings, ToolSettings,
};
use crate::text_file::read_text;

pub(crate) fn settings(
    builtin: Catalog,
    merged: &MergedSettings,
    (places, trust_dir): (&ConfigPaths, &Path),
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Settings {
    let get = SettingsGetter::new(merged, places);
    report_wrong_values(&get, mistakes);
    let clouds = Clouds::new(&get, lookup);
    let catalog = models::catalog(builtin, &get, &clouds, mistakes);
    Settings {
        model: model(merged),
        fallbacks: models::fallbacks(&get, &catalog, mistakes),
        system_prompt: system_prompt(&get, mistakes),
        scripted_answers: scripted_answers(&get, mistakes),
        params: params(&get),
        limits: get.limits(),
        day_limit: day_limit::settings(&get),
        asks_at_limits: get.text("limits.ask").as_deref() != Some("false"),
        environment_context: get.text("context.environment").as_deref() != Some("false"),
        context: context::settings(&get, mistakes),
        condensing: condense::condensing(&get, &catalog, mistakes),
        stuck: stuck::settings(&get),
        security: security::settings(&get, &catalog, mistakes),
        analyzers: security::analyzers(&get, lookup, mistakes),
        tool_search: tool_search(&get),
        ask_user: get.ask_user(),
        approval: get.approval(),
        rules: get.rules(trust_dir).map(|rule| rule.value.clone()).collect(),
        rule_origins: get.rules(trust_dir).map(|rule| rule.origin.clone()).collect(),
        tools: get.tools(),
        rewind: rewind::settings(&get),
        sandbox: sandbox::settings(&get, lookup, mistakes),
        secrets: secrets(&get),
        memory: memory::settings(&get),
        mcp: mcp::servers(&get, lookup, mistakes),
        search: search(&get, lookup, mistakes),
        exec_server: exec_server(&get, lookup),
        databases: databases(&get, lookup),
        webhooks: webhooks::webhooks(&get, lookup, mistakes),
        local_web_hosts: get.name_list("web_extract.local_hosts"),
        robots_txt: get.text("web_extract.robots_txt").as_deref() != Some("false"),
        browser: browser(&get),
        providers: models::providers(&catalog, &get, &clouds, lookup),
        catalog,
        cloud_files: cloud::named_files(lookup, &places.cwd),
        keys: Vec::new(),
        calls: get.calls(),
        chat: get.chat(),
        connect: get.text("connect").filter(|server| server != "local"),
        allow_plain_http: get.name_list("allow_plain_http"),
        data_dir: data_dir(merged, places),
        data_owner: data_owner(lookup),
        members_dir: members_dir(merged, places),
        quotas: quotas::quotas(&get),
        trusted_proxies: get.name_list("server.trusted_proxies"),
        push_hosts: get.name_list("server.push_hosts"),
        durability: durability(&get),
        log_file: path(merged, places, "log_file"),
        log: get.text("log").unwrap_or_else(|| "off".into()),
        workspace: places.cwd.clone(),
        workspace_root: places.workspace_root.clone(),
        folder: Folder::default(),
        named_files: Vec::new(),
        git: GitPrograms::of(&places.cwd),
        trust_dir: places.data_dir.clone(),
        user_file: places.user_file.clone(),
    }
}

fn report_wrong_values(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) {
    bounds::check_keys(get, mistakes);
    addresses::check(get, mistakes);
}

fn params(get: &SettingsGetter<'_>) -> ModelParams {
    ModelParams {
        max_output_tokens: get.count("params.max_output_tokens"),
        temperature: get.number("params.temperature"),
        thinking_tokens: get.count("params.thinking_tokens").filter(|tokens| *tokens > 0),
    }
}

fn durability(get: &SettingsGetter<'_>) -> DurabilitySetting {
    match get.text("durability").as_deref() {
        Some("machine") => DurabilitySetting::Machine,
        _ => DurabilitySetting::Process,
    }
}

fn secrets(get: &SettingsGetter<'_>) -> SecretSettings {
    SecretSettings {
        redact: get.text("secrets.redact").as_deref() != Some("false"),
        names: get.name_list("secrets.names"),
        ignore: get.name_list("secrets.ignore"),
    }
}

/// The chosen model, with the layer that chose it.
fn model(merged: &MergedSettings) -> Option<Sourced<String>> {
    let chosen = merged.sourced("model")?;
    Some(Sourced::new(chosen.value.to_string(), chosen.origin.clone()))
}

/// The search engine, if one is chosen. SearXNG has no default address.
fn search(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Option<SearchSettings> {
    let engine = get.text("web_search.engine");
    let url = get.text("web_search.url");
    if engine.as_deref() == Some("searxng") && url.is_none() {
        let origin = get.merged.any_below("web_search", "engine");
        let what = "searxng needs the address of an instance: set `web_search.url`".to_owned();
        mistakes.push(mistake(&origin, "web_search.engine", what, None));
    }
    Some(SearchSettings {
        engine: engine?,
        url,
        key: get.key_at(&SettingPath::dotted("web_search.api_key"), lookup),
    })
}

/// The exec server, if the person configured one.
fn exec_server(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<ExecServerSettings> {
    Some(ExecServerSettings {
        url: get.text("exec_server.url")?,
        key: get.key_at(&SettingPath::dotted("exec_server.key"), lookup),
        insecure: get.text("exec_server.insecure").as_deref() == Some("true"),
    })
}

/// The browser, if its tools are offered.
fn browser(get: &SettingsGetter<'_>) -> Option<BrowserSettings> {
    let is_offered = get.text("tools.browser").as_deref() == Some("true");
    is_offered.then(|| BrowserSettings {
        program: get.text("browser.program").map(PathBuf::from),
        local_hosts: get.name_list("browser.local_hosts"),
        sandbox: get.text("browser.sandbox").as_deref() != Some("false"),
    })
}

/// The databases that the person configured.
fn databases(get: &SettingsGetter<'_>, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<DatabaseSettings> {
    let all = SettingPath::dotted("databases");
    let names = get.merged.names_under(&all).into_iter();
    let database = |name: String| DatabaseSettings {
        url: get.key_at(&all.child(&name).child("url"), lookup),
        name,
    };
    names.map(database).collect()
}

/// The directory of sessions and records of trust.
pub(crate) fn data_dir(merged: &MergedSettings, places: &ConfigPaths) -> PathBuf {
    path(merged, places, "data_dir").unwrap_or_else(|| places.data_dir.clone())
}

/// The directory of the members of a server. No tool may open files below the data directory, so this one is
/// beside it.
fn members_dir(merged: &MergedSettings, places: &ConfigPaths) -> PathBuf {
    path(merged, places, "members_dir").unwrap_or_else(|| {
        let mut beside = data_dir(merged, places).into_os_string();
        beside.push("-members");
        beside.into()
    })
}

fn path(merged: &MergedSettings, places: &ConfigPaths, key: &str) -> Option<PathBuf> {
    match merged.sourced(key) {
        Some(Sourced {
            value: Value::Text(written),
            origin,
        }) => Some(resolved(origin, written, places)),
        _ => None,
    }
}

impl SettingsGetter<'_> {
    fn limits(&self) -> Limits {
        Limits {
            max_iterations: self
                .count("limits.max_iterations")
                .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            max_tokens: self.count("limits.max_tokens"),
            max_cost: self.money(&SettingPath::dotted("limits.max_cost")),
            max_wall_ms: self.millis("limits.timeout"),
        }
    }

    fn approval(&self) -> ApprovalMode {
        match self.text("approval").as_deref() {
            Some("accept-edits") => ApprovalMode::AcceptEdits,
            Some("auto") => ApprovalMode::Auto,
            Some("deny") => ApprovalMode::Deny,
            _ => ApprovalMode::Ask,
        }
    }

    fn ask_user(&self) -> Option<AskUser> {
        match self.text("tools.ask_user").as_deref() {
            Some("off") => None,
            Some("wait") => Some(AskUser::Wait),
            _ => Some(AskUser::Decide),
        }
    }

    fn calls(&self) -> CallSettings {
        CallSettings {
            connect_ms: self.millis("model_calls.connect_timeout"),
            first_byte_ms: self.millis("model_calls.first_byte_timeout"),
            idle_ms: self.millis("model_calls.idle_timeout"),
            total_ms: self.millis("model_calls.timeout"),
            retries: self
                .count("model_calls.retries")
                .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            retry_for_ms: self.millis("model_calls.max_retry_time"),
        }
    }

    fn tools(&self) -> ToolSettings {
        ToolSettings {
            enabled: self.names(&SettingPath::dotted("tools.enabled")),
            disabled: self
                .names(&SettingPath::dotted("tools.disabled"))
                .unwrap_or_default(),
            optional: self
                .names(&SettingPath::dotted("tools.optional"))
                .unwrap_or_default(),
            ask_unknown: self.name_list("tools.ask_unknown"),
            timeout_ms: self.millis("tools.timeout"),
            max_output_bytes: self.count("tools.max_output_bytes"),
            environment: self
                .names(&SettingPath::dotted("tools.environment"))
                .unwrap_or_default(),
            reading_commands: self.text("tools.reading_commands").as_deref() != Some("ask"),
            own_agents: self.text("tools.own_agents").as_deref() != Some("false"),
        }
    }

    /// The rules that apply in this folder, each with its origin.
    fn rules(&self, trust_dir: &Path) -> impl Iterator<Item = &WrittenRule> {
        let rules = self.merged.rules().iter();
        rules.filter(move |rule| !rule.is_of_another_folder(trust_dir))
    }
}

/// Returns when tools of servers are searched. `none` is a set value that is not a number.
fn tool_search(get: &SettingsGetter<'_>) -> Option<ToolSearch> {
    let percent = get.count("tools.find_tools_at")?.min(100);
    let at_percent = u8::try_from(percent).unwrap_or(100);
    Some(ToolSearch { at_percent })
}

fn system_prompt(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> Option<Arc<str>> {
    let sourced = get.merged.sourced("system_prompt")?;
    let Value::File(written) = &sourced.value else {
        return Some(Arc::from(sourced.value.to_string()));
    };
    let path = resolved(&sourced.origin, written, get.places);
    match read_text(&path) {
        Ok(text) => Some(Arc::from(text)),
        Err(what) => {
            mistakes.push(mistake(
                &sourced.origin,
                "system_prompt_file",
                format!("{}: {what}", path.display()),
                None,
            ));
            None
        }
    }
}

fn scripted_answers(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> Vec<ScriptedAnswer> {
    const KEY: &str = "scripted_answers";
    let Some(sourced) = get.merged.sourced(KEY) else {
        return Vec::new();
    };
    let path = resolved(&sourced.origin, &sourced.value.to_string(), get.places);
    let read = read_text(&path)
        .map_err(|what| mistake(&sourced.origin, KEY, format!("{}: {what}", path.display()), None))
        .and_then(|text| scripted_answers::read(&path, &text));
    read.unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        Vec::new()
    })
}
