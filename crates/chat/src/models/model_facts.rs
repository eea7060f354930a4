//! Shows everything that AgentX knows about a model, and the layer that each value comes from, as a table or
//! an object.

use agentx::config::{Loaded, RefreshedModels, SettingOrigin, refreshed_models};
use agentx::llm::Catalog;
use agentx::llm::catalog::{ModelConfig, ModelEntry};
use agentx::types::{InputMedium, ModelSpec, Prices};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::models::refreshed_models::dollars;
use crate::models::value_layers::{BUILT_IN, ModelLayers, USUAL, read_on};
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// Shows everything that AgentX knows about a model.
///
/// # Errors
/// Returns an error if the model is unknown, or the output cannot be written.
pub fn show(loaded: &Loaded, name: &str, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    let settings = &loaded.settings;
    let spec = settings
        .choose_model(name, &[])
        .map_err(|unknown| ChatError::UnknownModel {
            name: unknown.name,
            nearest: unknown.nearest,
            origin: SettingOrigin::Default,
        })?;
    let facts = facts(loaded, &spec);
    if json {
        let object: serde_json::Map<String, Value> = facts
            .into_iter()
            .map(|(key, value)| (key.replace(' ', "_"), value))
            .collect();
        console.out_pretty(&object)?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = facts
        .into_iter()
        .map(|(key, value)| vec![key.to_owned(), in_words(&value)])
        .collect();
    console.out(&table(&rows, console.out_width()))?;
    Ok(Exit::Ok)
}

fn facts(loaded: &Loaded, spec: &ModelSpec) -> Vec<(&'static str, Value)> {
    let settings = &loaded.settings;
    let catalog = &settings.catalog;
    let entry = catalog.models().iter().find(|entry| {
        entry.spec.is_same(spec)
            || (entry.spec.provider == spec.provider && entry.snapshots.contains(&spec.id))
    });
    let provider = settings.provider(&spec.provider);
    let needs = provider.and_then(|provider| provider.missing_variable());
    let mut facts = vec![
        ("model", json!(spec.id)),
        ("provider", json!(spec.provider)),
        ("protocol", json!(spec.api)),
        ("address", json!(provider.map(|provider| &provider.base_url))),
        ("window", json!(spec.context_window)),
        ("longest answer", json!(spec.max_output_tokens)),
        ("input", media(spec)),
    ];
    facts.extend(prices(&spec.prices));
    facts.extend([
        ("aliases", json!(entry.map(|entry| &entry.aliases))),
        ("other ids", json!(entry.map(|entry| &entry.snapshots))),
        ("needs", json!(needs.map(|variable| format!("set {variable}")))),
    ]);
    let read = refreshed_models(&loaded.trust_dir).ok().flatten();
    let layers = ModelLayers {
        spec,
        refreshed: read.as_ref().and_then(|read| in_list(read, spec)),
        is_built_in: Catalog::builtin()
            .models()
            .iter()
            .any(|entry| entry.spec.id == spec.id && entry.spec.provider == spec.provider),
    };
    facts.extend(remarks(entry, &layers));
    facts.push(("comes from", json!(source(loaded, &layers, entry.is_some()))));
    let values = layers.of_values(loaded).into_iter();
    facts.extend(values.map(|(words, layer)| (words, json!(layer))));
    facts
}

/// The model in a list that a person has read.
fn in_list<'r>(
    read: &'r RefreshedModels,
    spec: &ModelSpec,
) -> Option<(&'r RefreshedModels, &'r ModelConfig)> {
    let is_it = |model: &&ModelConfig| model.id == spec.id && model.provider == spec.provider;
    Some((read, read.models.iter().find(is_it)?))
}

/// Returns the default effort, the note and the last comparison with published lists, as far as they are
/// known. A list that a person has read is newer than the built-in note.
fn remarks(entry: Option<&ModelEntry>, layers: &ModelLayers<'_>) -> Vec<(&'static str, Value)> {
    let effort = entry.and_then(|entry| entry.default_effort);
    let note = entry.and_then(|entry| entry.note.as_ref());
    let built_in = entry.and_then(|entry| entry.checked.as_ref());
    let built_in = built_in.map(|checked| format!("{}, with {}", checked.day, checked.source));
    let (note, checked) = match layers.refreshed {
        Some((list, _)) => (None, Some(format!("{}, with {}", list.day, list.source))),
        None => (note, built_in),
    };
    let rows = [
        ("default effort", effort.map(|effort| json!(effort.as_str()))),
        ("note", note.map(|note| json!(note))),
        ("checked", checked.map(|checked| json!(checked))),
    ];
    let known = rows.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known.collect()
}

fn media(spec: &ModelSpec) -> Value {
    let Some(input) = &spec.input else {
        return json!("text; whether it takes images and files is not known");
    };
    let name = |medium: &InputMedium| match medium {
        InputMedium::Image => "images",
        InputMedium::Audio => "audio",
        InputMedium::File => "files",
    };
    json!([vec!["text"], input.iter().map(name).collect()].concat())
}

/// Returns prices in dollars per million tokens.
fn prices(prices: &Prices) -> Vec<(&'static str, Value)> {
    if *prices == Prices::default() {
        return vec![("price", json!("unknown"))];
    }
    if prices.free {
        return vec![("price", json!("free"))];
    }
    let mut rows = vec![
        ("input price", json!(dollars(prices.input))),
        ("output price", json!(dollars(prices.output))),
        ("cache read price", json!(dollars(prices.cache_read))),
        ("cache write price", json!(dollars(prices.cache_write))),
    ];
    if let Some(long) = &prices.long {
        let (input, output) = (dollars(long.input), dollars(long.output));
        let over = units::count(long.over_tokens);
        rows.push((
            "long requests",
            json!(format!("over {over} tokens: ${input} in, ${output} out")),
        ));
    }
    rows
}

/// Returns the layers that say something about the model, the most important one first.
fn source(loaded: &Loaded, known: &ModelLayers<'_>, is_listed: bool) -> String {
    let spec = known.spec;
    let mut layers = Vec::new();
    if loaded
        .settings
        .catalog
        .own(spec.called())
        .is_some_and(|own| own.provider == spec.provider)
    {
        layers.push("your configuration".to_owned());
    }
    if let Some((list, _)) = known.refreshed {
        layers.push(read_on(list));
    }
    if known.is_built_in {
        layers.push(BUILT_IN.to_owned());
    }
    if layers.is_empty() {
        let what = if is_listed {
            "another name of a listed model"
        } else {
            USUAL
        };
        return what.to_owned();
    }
    layers.join(", then ")
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible(text),
        Value::Array(parts) => parts.iter().map(in_words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
