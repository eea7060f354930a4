//! Lists the available models, and what the others lack, as a table.

pub mod default_model;
pub mod foreign_models;
pub mod model_facts;
pub mod model_question;
pub mod other_server;
pub mod provider_keys;
pub mod refreshed_models;
mod value_layers;

use agentx::config::{ProviderSettings, SettingOrigin, Settings, Sourced};
use agentx::node::model::models_of_server;
use agentx::runtime::ModelInfo;
use agentx::types::{Api, Prices};

use crate::demo::is_demo;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;

/// Replaces the models of a vendor by those of the user's own server, and adds the named model to the list.
/// If no model is named and such a server has one model, that is the default. Returns a line for each server
/// that does not list its models.
pub async fn with_own_servers(settings: &mut Settings, models: &mut Vec<ModelInfo>) -> String {
    let own: Vec<ProviderSettings> = default_model::own_servers(settings).cloned().collect();
    let mut notes = String::new();
    for provider in &own {
        let name = &provider.name;
        let known = match models_of_server(settings, name).await {
            Some(Ok(known)) => known,
            Some(Err(why)) => {
                let note = format!("note: the server of {name} does not list its models: {why}\n");
                notes.push_str(&format!("{}\n", visible(note.trim_end())));
                continue;
            }
            None => continue,
        };
        let is_there = |info: &ModelInfo| {
            let id = &info.spec.id;
            info.spec.provider != *name
                || known.contains(id)
                || settings.catalog.own(info.spec.called()).is_some()
        };
        models.retain(is_there);
        for id in &known {
            add(settings, models, &format!("{name}/{id}"));
        }
        let usual = settings.model_or_default().value;
        let is_of_it = match &provider.default_model {
            Some(model) => *model == usual,
            None => is_demo(&usual),
        };
        let is_usual = settings.model.is_none() && is_of_it;
        let has_usual = provider.default_model_given
            || provider
                .default_model
                .as_ref()
                .is_some_and(|usual| known.contains(usual));
        if is_usual && !has_usual {
            // If there are several, none is asked until one is named.
            let one = known
                .first()
                .filter(|_| known.len() == 1)
                .cloned()
                .unwrap_or_default();
            settings.model = Some(Sourced::new(format!("{name}/{one}"), SettingOrigin::Default));
        }
    }
    let of_providers = settings
        .providers
        .iter()
        .filter(|provider| provider.default_model_given);
    let given = of_providers.filter_map(|provider| provider.default_model.clone());
    let named = settings.model.iter().map(|model| model.value.clone());
    for name in named.chain(given).collect::<Vec<_>>() {
        add(settings, models, &name);
    }
    notes
}

/// Adds a model of this name, if the list has none and it can be asked.
fn add(settings: &Settings, models: &mut Vec<ModelInfo>, name: &str) {
    if models.iter().any(|info| is_called(info, name)) || name.ends_with('/') {
        return;
    }
    let Ok(spec) = settings.choose_model(name, &[]) else {
        return;
    };
    if models.iter().any(|info| info.spec.is_same(&spec)) {
        return;
    }
    let missing = settings
        .provider(&spec.provider)
        .and_then(|provider| Some(format!("set {}", provider.missing_variable()?)));
    models.push(ModelInfo::new(spec).with_missing(missing));
}

/// Returns whether a person means this model by the name.
fn is_called(info: &ModelInfo, name: &str) -> bool {
    let is_it = |name: &str| info.spec.called() == name || info.aliases.iter().any(|alias| alias == name);
    let of_provider = name
        .split_once('/')
        .filter(|(provider, _)| *provider == info.spec.provider);
    is_it(name) || of_provider.is_some_and(|(_, id)| is_it(id))
}

/// Returns the name of the model that is asked if none is named, with that of its provider.
pub fn usual(settings: &Settings) -> String {
    let name = settings.model_or_default().value;
    let known = settings.choose_model(&name, &[]);
    known.map_or(name, |model| model.reference())
}

/// The width of a terminal below which some columns have no room.
const WIDE: usize = 130;
/// The column of other names.
const ALIASES: usize = 5;

/// Renders the list. `*` marks the default model. `?` marks an unknown price or an assumed window.
pub fn render(models: &[ModelInfo], settings: &Settings, chosen: &str, width: usize) -> String {
    let heads = [
        "",
        "MODEL",
        "PROVIDER",
        "WINDOW",
        "IN/OUT PER M",
        "ALIASES",
        "NEEDS",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for info in models {
        let spec = &info.spec;
        let price = |nano: u64| nano as f64 / 1e3;
        let is_chosen = is_called(info, chosen);
        rows.push(vec![
            if is_chosen { "*" } else { "" }.to_owned(),
            spec.id.clone(),
            spec.provider.clone(),
            units::window(
                spec.context_window,
                settings
                    .catalog
                    .assumes_window(&spec.provider, &spec.id, spec.context_window),
            ),
            if spec.prices == Prices::default() && spec.api != Api::Scripted {
                "?".to_owned()
            } else {
                format!("${} / ${}", price(spec.prices.input), price(spec.prices.output))
            },
            info.aliases.join(" "),
            info.missing
                .as_deref()
                .map(variable_of)
                .unwrap_or_default()
                .to_owned(),
        ]);
    }
    if width < WIDE {
        for row in &mut rows {
            row.remove(ALIASES);
        }
    }
    let needs_key = models
        .iter()
        .filter_map(|info| info.missing.as_deref())
        .any(|missing| variable_of(missing) != missing);
    let note = if needs_key { KEYS_NOTE } else { "" };
    format!("{}{note}", table(&rows, width))
}

/// The ways to give a key, said once below the list.
const KEYS_NOTE: &str =
    "\nNEEDS is a variable to set; `providers.PROVIDER.api_key: ${MY_KEY}` names another\n";

/// Returns the missing variable, without the other ways to give a key; the whole text if it names no
/// variable.
pub(crate) fn variable_of(missing: &str) -> &str {
    let short = missing.strip_prefix("set ");
    short.map_or(missing, |short| short.split(',').next().unwrap_or(short))
}
