//! The effects of a workspace's settings in sentences, for a person who is about to trust them: where prompts
//! and keys go, which programs run, and what is allowed.

use std::collections::{BTreeMap, BTreeSet};

use agentx_agent::approval::describe;
use agentx_types::{Rule, RuleEffect};

use crate::api_key_source::ApiKeySource;
use crate::layers::MergedSettings;
use crate::layers::getter::SettingsGetter;
use crate::layers::keys::SettingPath;
use crate::layers::read::SettingsLayer;
use crate::layers::value::{KeyReference, Value};
use crate::models;
use crate::models::cloud::Clouds;
use crate::workspace::folder_models::effects_on_the_bill;
use crate::workspace::personal_settings::PersonalSettings;
use crate::workspace::trust;

/// Settings whose effects have their own sentences.
const DESCRIBED: &[&str] = &[
    "approval",
    "chat.status_command",
    "condense.model",
    "connect",
    "fallbacks",
    "model",
    "rules",
    "tools.environment",
];

/// Returns the effects of these settings: what else they loosen or decide, where prompts and keys go, and
/// which programs run. Those that reach farthest are the last. `below` has the layers below the folder's.
pub(crate) fn effects(
    layer: &SettingsLayer,
    below: &MergedSettings,
    own: &PersonalSettings<'_>,
) -> Vec<String> {
    let text = |path: &SettingPath| {
        let found = layer.entries.iter().find(|(at, _)| at == path);
        found.map(|(_, sourced)| sourced.value.to_string())
    };
    let mut effects = beyond_stricter(layer, below);
    effects.extend(of_providers(layer));
    let at = |model: &str| model_with_address(layer, own, model);
    if let Some(model) = text(&SettingPath::dotted("model")) {
        effects.push(format!("the model is {}", at(&model)));
    }
    let fallbacks = layer
        .entries
        .iter()
        .find(|(path, _)| *path == SettingPath::dotted("fallbacks"));
    if let Some(Value::Names(names)) = fallbacks.map(|(_, sourced)| &sourced.value) {
        let models: Vec<String> = names.iter().map(|name| at(name)).collect();
        effects.push(format!(
            "if a model fails, your messages are sent to {}",
            models.join(", ")
        ));
    }
    if let Some(model) = text(&SettingPath::dotted("condense.model")) {
        effects.push(format!(
            "summaries of your conversations are written by {}",
            at(&model)
        ));
    }
    if let Some(server) = text(&SettingPath::dotted("connect")) {
        effects.push(format!(
            "commands run against the server {server}, which receives your messages"
        ));
    }
    if let Some(line) = text(&SettingPath::dotted("chat.status_command")) {
        effects.push(format!("a chat automatically runs: {line}"));
    }
    let names = passed_variables(layer, own);
    if !names.is_empty() {
        let names = names.join(", ");
        effects.push(format!("programs get the values of these variables: [{names}]"));
    }
    effects.extend(effects_on_the_bill(layer));
    effects.extend(allowed(layer));
    match text(&SettingPath::dotted("approval")).as_deref() {
        Some("auto") => effects.push("calls run without asking".to_owned()),
        Some("accept-edits") => {
            effects.push("files of the workspace are changed without asking".to_owned());
        }
        _ => {}
    }
    effects
}

/// Returns the variables that commands get because of `tools.environment`. Those that a key names in any
/// layer, or that hold its value, are never passed on.
fn passed_variables<'l>(layer: &'l SettingsLayer, own: &PersonalSettings<'_>) -> Vec<&'l str> {
    let is_it = |path: &SettingPath| *path == SettingPath::dotted("tools.environment");
    let found = layer.entries.iter().find(|(path, _)| is_it(path));
    let Some(Value::Names(names)) = found.map(|(_, sourced)| &sourced.value) else {
        return Vec::new();
    };
    let of_folder = models::keys(layer, own.lookup);
    let is_key = |name: &str| {
        let value = (own.lookup)(name);
        own.keys.iter().chain(&of_folder).any(|key| {
            let is_named = matches!(key, ApiKeySource::Env { name: of_key, .. } if of_key == name);
            let is_held = |value: &String| key.value().is_some_and(|key| key.is_in(value));
            is_named || value.as_ref().is_some_and(is_held)
        })
    };
    let names = names.iter().map(String::as_str);
    names.filter(|name| !is_key(name)).collect()
}

/// Returns each setting that does more than make something stricter and that no other sentence describes:
/// every setting that only a trusted folder may make has an effect.
fn beyond_stricter(layer: &SettingsLayer, below: &MergedSettings) -> Vec<String> {
    let (_, loosening) = trust::restrict(layer.clone(), below);
    let keys: BTreeSet<&str> = loosening.iter().map(|ignored| ignored.key.as_str()).collect();
    let is_told = |path: &SettingPath| {
        let key = path.to_string();
        // Addresses, prices and the chosen model are shown; other names of models and providers are not.
        let of_catalog = matches!(
            path.0.first().map(String::as_str),
            Some("models" | "providers" | "limits")
        );
        of_catalog || DESCRIBED.contains(&key.as_str()) || !keys.contains(key.as_str())
    };
    let others = layer.entries.iter().filter(|(path, _)| !is_told(path));
    others
        .map(|(path, sourced)| {
            format!(
                "sets {path}: {}",
                sourced.value.to_string().replace(['\n', '\r'], " ⏎ ")
            )
        })
        .collect()
}

/// Describes the addresses of the file's providers and the keys that they get.
fn of_providers(layer: &SettingsLayer) -> Vec<String> {
    let mut effects = Vec::new();
    for (path, address) in &layer.entries {
        let [providers, name, key] = path.0.as_slice() else {
            continue;
        };
        if providers != "providers" || key != "base_url" {
            continue;
        }
        let at = SettingPath::dotted("providers").child(name);
        let held: Vec<String> = layer
            .entries
            .iter()
            .filter_map(|(path, sourced)| match &sourced.value {
                Value::Key(KeyReference::Env(variable)) if path.0.starts_with(&at.0) => {
                    Some(variable.clone())
                }
                _ => None,
            })
            .collect();
        let with = if held.is_empty() {
            String::new()
        } else {
            format!(", with the value of {}", held.join(" and "))
        };
        let address = &address.value;
        effects.push(format!(
            "your messages to models of `{name}` are sent to {address}{with}"
        ));
    }
    effects
}

/// Describes a model with its provider and address, if the person's settings, or else the file's, have an
/// address.
fn model_with_address(layer: &SettingsLayer, own: &PersonalSettings<'_>, name: &str) -> String {
    let mut merged = own.merged.clone();
    merged.lay(layer.clone());
    let get = SettingsGetter::new(&merged, own.places);
    let clouds = Clouds::new(&get, own.lookup);
    let catalog = models::catalog(own.catalog.clone(), &get, &clouds, &mut Vec::new());
    let Ok(model) = catalog.resolve(name) else {
        return name.to_owned();
    };
    match catalog.provider(&model.provider) {
        Some(provider) => format!("{name} of {} at {}", provider.name, provider.base_url),
        None => name.to_owned(),
    }
}

/// Returns the tools that its rules allow, one per line.
fn allowed(layer: &SettingsLayer) -> Vec<String> {
    let rules = layer
        .entries
        .iter()
        .filter_map(|(_, sourced)| match &sourced.value {
            Value::Rules(rules) => Some(rules),
            _ => None,
        });
    let mut tools: BTreeMap<&str, Vec<&Rule>> = BTreeMap::new();
    for rule in rules.flatten().map(|rule| &rule.value) {
        if rule.effect == RuleEffect::Allow {
            tools.entry(&rule.tool).or_default().push(rule);
        }
    }
    let told = |(tool, rules): (&str, Vec<&Rule>)| {
        let is_whole = |rule: &&Rule| is_any(&rule.argument) && rule.path.is_none();
        let is_here = |rule: &&Rule| is_any(&rule.argument) && is_any(&rule.path);
        let calls = if only_stars(tool) { "everything" } else { tool };
        match &rules[..] {
            _ if rules.iter().any(is_whole) => format!("allows without asking: {calls}"),
            _ if rules.iter().any(is_here) => format!("allows without asking: {calls} in this folder"),
            [rule] => format!("allows without asking: {}", describe(rule)),
            _ => format!("allows without asking: {tool}, as {} rules say", rules.len()),
        }
    };
    tools.into_iter().map(told).collect()
}

/// Returns whether a pattern of a rule fits anything.
fn is_any(pattern: &Option<String>) -> bool {
    pattern.as_deref().is_none_or(only_stars)
}

fn only_stars(pattern: &str) -> bool {
    pattern.contains('*') && pattern.chars().all(|sign| sign == '*' || sign == ' ')
}
