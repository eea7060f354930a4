//! The settings of analyzers of risk: which assess calls, what follows from their verdicts, and the programs
//! and servers among them. A folder may only have more calls asked about.

use agentx_llm::{Catalog, Secret};
use agentx_types::{
    ANALYZER_TIMEOUT_MS, AnalyzerSpec, ConfirmationPolicy, MODEL_ANALYZER, RULES_ANALYZER, SecurityRisk,
    SecuritySettings, nearest,
};

use crate::api_key_source::ApiKeySource;
use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::value::{KeyReference, Value};
use crate::mistake::ConfigMistake;
use crate::models::provider_settings::HeaderSetting;

/// The longest time for a verdict, in milliseconds.
const LONGEST_MS: u64 = 600_000;

/// An analyzer that is a program or a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyzerSettings {
    /// Its name.
    pub name: String,
    /// The program or the address.
    pub target: AnalyzerTarget,
}

/// The program or the server that assesses calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnalyzerTarget {
    /// A program, started once for each call.
    Program {
        /// The program: a path, or a name in `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A server, asked by POST.
    Address {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Vec<HeaderSetting>,
    },
}

/// Reads the settings; `None` if no analyzer is named.
pub(crate) fn settings(
    get: &SettingsGetter<'_>,
    catalog: &Catalog,
    mistakes: &mut Vec<ConfigMistake>,
) -> Option<SecuritySettings> {
    let named = get.merged.sourced("security.analyzers")?;
    let Value::Names(names) = &named.value else {
        return None;
    };
    let known = get.merged.names_below("analyzers");
    let is_known =
        |name: &String| [RULES_ANALYZER, MODEL_ANALYZER].contains(&name.as_str()) || known.contains(name);
    for name in names.iter().filter(|name| !is_known(name)) {
        let all = known
            .iter()
            .map(String::as_str)
            .chain([RULES_ANALYZER, MODEL_ANALYZER]);
        let near = nearest(name, all, 1).first().map(|near| (*near).to_owned());
        let what =
            format!("there is no analyzer {name:?}: it is neither `rules` nor `model`, nor in `analyzers`");
        mistakes.push(mistake(&named.origin, "security.analyzers", what, near));
    }
    if names.is_empty() {
        return None;
    }
    let model = model(get, catalog, mistakes);
    let timeout_ms = get
        .millis("security.timeout")
        .unwrap_or(ANALYZER_TIMEOUT_MS)
        .min(LONGEST_MS);
    let mut all: Vec<&str> = vec![RULES_ANALYZER];
    all.extend(
        names
            .iter()
            .map(String::as_str)
            .filter(|name| *name != RULES_ANALYZER),
    );
    let analyzers = all.into_iter().map(|name| AnalyzerSpec {
        name: name.to_owned(),
        timeout_ms,
        model: model.clone().filter(|_| name == MODEL_ANALYZER),
    });
    Some(SecuritySettings {
        analyzers: analyzers.collect(),
        policy: match get.text("security.policy").as_deref() {
            Some("never") => ConfirmationPolicy::Never,
            Some("always") => ConfirmationPolicy::Always,
            _ => ConfirmationPolicy::Risky,
        },
        threshold: match get.text("security.threshold").as_deref() {
            Some("low") => SecurityRisk::Low,
            Some("medium") => SecurityRisk::Medium,
            _ => SecurityRisk::High,
        },
        asks_unknown: get.text("security.unknown").as_deref() != Some("ignore"),
        judge_allows: get.text("security.judge").as_deref() == Some("allow"),
    })
}

/// The model that judges, if one is named.
fn model(
    get: &SettingsGetter<'_>,
    catalog: &Catalog,
    mistakes: &mut Vec<ConfigMistake>,
) -> Option<Box<agentx_types::ModelSpec>> {
    let named = get.merged.sourced("security.model")?;
    let name = named.value.to_string();
    match catalog.resolve(&name) {
        Ok(spec) => Some(Box::new(spec)),
        Err(error) => {
            let near = error.nearest().first().cloned();
            let what = format!("security.model: unknown model {name:?}");
            mistakes.push(mistake(&named.origin, "security.model", what, near));
            None
        }
    }
}

/// Reads the programs and servers that assess calls. Each has a program or an address.
pub(crate) fn analyzers(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<AnalyzerSettings> {
    let all = SettingPath::dotted("analyzers");
    let mut found = Vec::new();
    for name in get.merged.names_under(&all) {
        let path = all.child(&name);
        let (command, url) = (
            get.text_at(&path.child("command")),
            get.text_at(&path.child("url")),
        );
        let target = match (command, url) {
            (Some(command), None) => AnalyzerTarget::Program {
                command,
                args: get.names(&path.child("args")).unwrap_or_default(),
            },
            (None, Some(url)) => AnalyzerTarget::Address {
                url,
                headers: headers(get, &path.child("headers"), lookup),
            },
            _ => {
                let key = format!("analyzers.{name}");
                let what = format!("{key} needs either `command` or `url`");
                mistakes.push(mistake(
                    &get.merged.any_below("analyzers", &name),
                    &key,
                    what,
                    None,
                ));
                continue;
            }
        };
        found.push(AnalyzerSettings { name, target });
    }
    found
}

/// The headers below a path, with the values of their variables.
fn headers(
    get: &SettingsGetter<'_>,
    path: &SettingPath,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<HeaderSetting> {
    let names = get.merged.names_under(path).into_iter();
    let value = |name: &str| match get.merged.get(&path.child(name)) {
        Some(Value::Key(KeyReference::Env(variable))) => ApiKeySource::Env {
            name: variable.clone(),
            value: lookup(variable)
                .filter(|value| !value.trim().is_empty())
                .map(Secret::new),
        },
        Some(Value::Key(KeyReference::Literal(secret))) => ApiKeySource::Literal(secret.clone()),
        _ => ApiKeySource::None,
    };
    names
        .map(|name| HeaderSetting {
            value: value(&name),
            name,
        })
        .collect()
}
