//! Shows everything that AgentX knows about a model, and the layer that each value comes from, as a table or an
//! object.

use agentx::config::{Loaded, SettingOrigin, refreshed_models};
use agentx::types::{InputMedium, ModelSpec, Prices};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::models::refreshed_models::dollars;
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
        ("comes from", json!(source(loaded, spec, entry.is_some()))),
    ]);
    facts
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
fn source(loaded: &Loaded, spec: &ModelSpec, is_listed: bool) -> String {
    let is_it = |id: &str, provider: &str| spec.id == id && spec.provider == provider;
    let mut layers = Vec::new();
    if loaded
        .settings
        .catalog
        .own(spec.called())
        .is_some_and(|own| own.provider == spec.provider)
    {
        layers.push("your configuration".to_owned());
    }
    if let Ok(Some(read)) = refreshed_models(&loaded.trust_dir)
        && read.models.iter().any(|model| is_it(&model.id, &model.provider))
    {
        layers.push(format!("{}, read on {}", read.source, read.day));
    }
    let builtin = agentx::llm::Catalog::builtin();
    if builtin
        .models()
        .iter()
        .any(|entry| is_it(&entry.spec.id, &entry.spec.provider))
    {
        layers.push("the built-in list".to_owned());
    }
    if layers.is_empty() {
        let what = if is_listed {
            "another name of a listed model"
        } else {
            "nothing but what its provider's models usually have"
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
