//! Applies the configuration to the catalog: adds and changes providers and models, and finds their keys.

pub(crate) mod api_names;
pub(crate) mod aws_files;
pub(crate) mod cloud;
pub(crate) mod masked_variables;
pub(crate) mod provider_settings;
pub(crate) mod refreshed_models;
pub(crate) mod scripted_answers;

use std::collections::BTreeMap;

use agentx_llm::anthropic::CacheTtl;
use agentx_llm::catalog::{CatalogConfig, ModelConfig, PricesConfig, ProviderConfig, ProviderEntry};
use agentx_llm::openai_chat::{Effort, MaxTokensField, ReasoningEcho};
use agentx_llm::{AuthStyle, Catalog, Secret, WireOptions};
use agentx_types::{InputMedium, ModelSpec, Prices, nearest};

use crate::api_key_source::ApiKeySource;
use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::read::SettingsLayer;
use crate::layers::value::{KeyReference, Value};
use crate::mistake::ConfigMistake;
use crate::models::api_names::api_called;
use crate::models::cloud::Clouds;
use crate::models::masked_variables::masked_variables;
use crate::models::provider_settings::{HeaderSetting, ProviderSettings};
use crate::origin::{SettingOrigin, Sourced};

/// Returns the built-in catalog with the changes of the configuration. Invalid entries are left out and
/// reported.
pub(crate) fn catalog(
    builtin: Catalog,
    get: &SettingsGetter<'_>,
    clouds: &Clouds<'_>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Catalog {
    let mut catalog = builtin;
    for name in get.merged.names_below("providers") {
        let of_cloud = clouds.base_url(&catalog, &name, mistakes);
        if of_cloud.is_none() && get.merged.any_below("providers", &name) == SettingOrigin::Default {
            continue;
        }
        catalog = with_provider(catalog, &name, of_cloud, get, mistakes);
    }
    for name in get.merged.names_below("models") {
        catalog = with_model(catalog, &name, get, mistakes);
    }
    catalog
}

fn with_provider(
    catalog: Catalog,
    name: &str,
    of_cloud: Option<String>,
    get: &SettingsGetter<'_>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Catalog {
    let mut wrong = |what: String, near: Option<String>| {
        mistakes.push(mistake(&get.merged.any_below("providers", name), "", what, near));
    };
    let base_url = SettingPath::dotted("providers").child(name).child("base_url");
    let Some(base_url) = of_cloud.or_else(|| get.text_at(&base_url)) else {
        let known = catalog.providers().iter().map(|provider| provider.name.as_str());
        let near = nearest(name, known, 1)
            .first()
            .map(|near| format!("providers.{near}"));
        wrong(format!("provider `{name}` has no `base_url`: set it first"), near);
        return catalog;
    };
    let is_new = catalog.provider(name).is_none();
    let config = provider_config(name, get, is_new.then(|| base_url.clone()));
    let providers = BTreeMap::from([(name.to_owned(), config)]);
    let extended = catalog.clone().extended(&CatalogConfig {
        providers,
        models: Vec::new(),
    });
    extended
        .and_then(|catalog| catalog.with_base_url(name, &base_url))
        .and_then(|catalog| catalog.extended(&given_api(name, get)))
        .unwrap_or_else(|error| {
            wrong(error.to_string(), None);
            catalog
        })
}

/// Returns the protocol of a provider, if a person set it. It also applies at another address; without it,
/// OpenAI's models there are called by Chat Completions, if they take tools there.
fn given_api(name: &str, get: &SettingsGetter<'_>) -> CatalogConfig {
    let path = SettingPath::dotted("providers").child(name).child("api");
    let is_given = get.merged.origin(&path) != Some(&SettingOrigin::Default);
    let api = get.text_at(&path).filter(|_| is_given);
    let config = ProviderConfig {
        api: api.map(|word| api_called(&word)),
        ..ProviderConfig::default()
    };
    let is_known = config.api.is_some();
    CatalogConfig {
        providers: is_known.then(|| (name.to_owned(), config)).into_iter().collect(),
        models: Vec::new(),
    }
}

fn provider_config(name: &str, get: &SettingsGetter<'_>, base_url: Option<String>) -> ProviderConfig {
    let path = |key: &str| SettingPath::dotted("providers").child(name).child(key);
    let auth = |word: String| match word.as_str() {
        "x-api-key" => AuthStyle::XApiKey,
        "x-goog-api-key" => AuthStyle::XGoogApiKey,
        "api-key" => AuthStyle::ApiKey,
        "none" => AuthStyle::None,
        _ => AuthStyle::Bearer,
    };
    let key_env = match get.merged.get(&path("api_key")) {
        Some(Value::Key(KeyReference::Env(variable))) => Some(variable.clone()),
        _ => None,
    };
    ProviderConfig {
        api: get.text_at(&path("api")).map(|word| api_called(&word)),
        base_url,
        key_env,
        auth: get.text_at(&path("auth")).map(auth),
        default_model: get.text_at(&path("default_model")),
        ..ProviderConfig::default()
    }
}

fn with_model(
    catalog: Catalog,
    name: &str,
    get: &SettingsGetter<'_>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Catalog {
    let mut wrong = |what: String, near: Option<String>| {
        mistakes.push(mistake(&get.merged.any_below("models", name), "", what, near));
    };
    let Some(config) = model_config(name, get, &catalog) else {
        wrong(
            format!("model `{name}` is not in the catalog and names no `provider`: set it first"),
            None,
        );
        return catalog;
    };
    let config = CatalogConfig {
        providers: BTreeMap::new(),
        models: vec![config],
    };
    catalog.clone().extended(&config).unwrap_or_else(|error| {
        let near = error.nearest().first().cloned();
        wrong(format!("model `{name}`: {error}"), near);
        catalog
    })
}

/// `None` if nothing says who serves it.
fn model_config(name: &str, get: &SettingsGetter<'_>, catalog: &Catalog) -> Option<ModelConfig> {
    let path = |key: &str| SettingPath::dotted("models").child(name).child(key);
    let id = get.text_at(&path("id")).unwrap_or_else(|| name.to_owned());
    let listed = catalog
        .models()
        .iter()
        .find(|entry| entry.spec.id == id)
        .map(|entry| &entry.spec);
    let provider = get
        .text_at(&path("provider"))
        .or_else(|| listed.map(|spec| spec.provider.clone()))?;
    let spec = catalog.resolve_at(&provider, &id).ok();
    let own_name = (id != name).then(|| name.to_owned());
    let mut aliases = get.names(&path("aliases"));
    if own_name.is_some() {
        aliases.get_or_insert_default();
    }
    let known = listed.filter(|spec| spec.provider == provider);
    let present = known.map(|spec| spec.prices);
    Some(ModelConfig {
        id,
        provider,
        name: own_name,
        aliases,
        context_window: get.count_at(&path("context_window")),
        max_output_tokens: get.count_at(&path("max_output_tokens")),
        prices: prices(&path("prices"), get, present.unwrap_or_default()),
        snapshots: None,
        input: get
            .text_at(&path("images"))
            .map(|images| media(images == "true", known)),
        answer_schema: None,
        default_effort: None,
        note: None,
        checked: None,
        wire: spec.and_then(|spec| wire(&path, get, catalog, &spec)),
    })
}

/// Returns the media that a model takes besides text, with or without images; the others stay as they are
/// known.
fn media(images: bool, known: Option<&ModelSpec>) -> Vec<InputMedium> {
    let known = known.and_then(|spec| spec.input.as_deref()).unwrap_or_default();
    let others = known
        .iter()
        .copied()
        .filter(|medium| *medium != InputMedium::Image);
    images
        .then_some(InputMedium::Image)
        .into_iter()
        .chain(others)
        .collect()
}

/// Returns the wire options of the model, changed as the configuration says.
fn wire(
    path: &dyn Fn(&str) -> SettingPath,
    get: &SettingsGetter<'_>,
    catalog: &Catalog,
    spec: &ModelSpec,
) -> Option<WireOptions> {
    let effort = get.text_at(&path("reasoning_effort"));
    let effort = effort.and_then(|word| Effort::ALL.into_iter().find(|effort| effort.as_str() == word));
    let field = get.text_at(&path("max_tokens_field")).map(|word| match &*word {
        "max_completion_tokens" => MaxTokensField::MaxCompletionTokens,
        _ => MaxTokensField::MaxTokens,
    });
    let echo = get.text_at(&path("reasoning_field")).map(|word| match &*word {
        "reasoning_content" => ReasoningEcho::ReasoningContent,
        "reasoning" => ReasoningEcho::Reasoning,
        _ => ReasoningEcho::None,
    });
    let hundredths = |temperature: f64| (temperature * 100.0).round() as u16;
    let temperature = get.number_at(&path("temperature")).map(hundredths);
    let cache_ttl = get.text_at(&path("cache_ttl")).map(|word| match &*word {
        "1h" => CacheTtl::Hour,
        _ => CacheTtl::FiveMinutes,
    });
    let is_set = effort.is_some() || field.is_some() || echo.is_some();
    if !is_set && temperature.is_none() && cache_ttl.is_none() {
        return None;
    }
    let mut wire = catalog.wire_options(spec);
    wire.temperature = temperature.or(wire.temperature);
    wire.anthropic.cache_ttl = cache_ttl.unwrap_or(wire.anthropic.cache_ttl);
    wire.chat.effort = effort.or(wire.chat.effort);
    wire.chat.max_tokens_field = field.unwrap_or(wire.chat.max_tokens_field);
    wire.chat.reasoning_echo = echo.unwrap_or(wire.chat.reasoning_echo);
    Some(wire)
}

/// Reads prices in dollars per million tokens; missing ones stay unchanged. A price of the cache that is only
/// that of the input follows the input.
fn prices(path: &SettingPath, get: &SettingsGetter<'_>, present: Prices) -> Option<PricesConfig> {
    let given = |key: &str| get.money(&path.child(key)).map(|nano| nano.0 as f64 / 1e3);
    let all = ["input", "output", "cache_read", "cache_write", "cache_write_1h"].map(given);
    all.iter().any(Option::is_some).then(|| {
        let [input, output, cache_read, cache_write, cache_write_1h] = all;
        let kept = |nano: u64| nano as f64 / 1e3;
        let is_own = |nano: u64| nano > 0 && nano != present.input;
        let cache = |price: Option<f64>, nano: u64| price.or_else(|| is_own(nano).then(|| kept(nano)));
        PricesConfig {
            input: input.unwrap_or_else(|| kept(present.input)),
            output: output.unwrap_or_else(|| kept(present.output)),
            cache_read: cache(cache_read, present.cache_read),
            cache_write: cache(cache_write, present.cache_write),
            cache_write_1h: cache_write_1h.or_else(|| present.cache_write_1h.map(kept)),
            // A person's price applies to calls of every length.
            long: None,
        }
    })
}

fn looked_up(value: Option<&Value>, lookup: &dyn Fn(&str) -> Option<String>) -> ApiKeySource {
    match value {
        Some(Value::Key(KeyReference::Env(variable))) => ApiKeySource::Env {
            name: variable.clone(),
            value: lookup(variable)
                .filter(|value| !value.trim().is_empty())
                .map(|value| Secret::new(value.trim())),
        },
        Some(Value::Key(KeyReference::Literal(secret))) => ApiKeySource::Literal(secret.clone()),
        _ => ApiKeySource::None,
    }
}

/// Every key and header that a layer names, and every variable that commands know by a placeholder alone.
pub(crate) fn keys(layer: &SettingsLayer, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<ApiKeySource> {
    // A literal value in the settings of an MCP server (`LEVEL: debug`) is not an API key.
    let is_text = |path: &SettingPath, value: &Value| {
        path.0.first().is_some_and(|first| first == "mcp")
            && matches!(value, Value::Key(KeyReference::Literal(_)))
    };
    let values = layer.entries.iter().map(|(path, sourced)| (path, &sourced.value));
    let keys = values.filter(|(path, value)| matches!(value, Value::Key(_)) && !is_text(path, value));
    let all = keys.map(|key| key.1.clone()).chain(masked_variables(layer));
    all.map(|value| looked_up(Some(&value), lookup)).collect()
}

/// Every key that the program may use: those that the person's own layers name, and those of all variables
/// from which a provider of the catalog reads.
pub(crate) fn personal_keys(
    catalog: &Catalog,
    layers: [&SettingsLayer; 2],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<ApiKeySource> {
    let of_layers = layers.into_iter().flat_map(|layer| keys(layer, lookup));
    let of_catalog = catalog.key_variables().into_iter().map(|variable| {
        let reference = Value::Key(KeyReference::Env(variable.to_owned()));
        looked_up(Some(&reference), lookup)
    });
    let of_files = cloud::secrets_of_files(lookup);
    of_layers.chain(of_catalog).chain(of_files).collect()
}

/// Every provider with its key.
pub(crate) fn providers(
    catalog: &Catalog,
    get: &SettingsGetter<'_>,
    clouds: &Clouds<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<ProviderSettings> {
    let settings = catalog.providers().iter().map(|entry| {
        let path = |key: &str| SettingPath::dotted("providers").child(&entry.name).child(key);
        let key = looked_up(get.merged.get(&path("api_key")), lookup);
        let names = get.merged.names_under(&path("headers"));
        let headers = names.into_iter().map(|name| {
            let value = looked_up(get.merged.get(&path("headers").child(&name)), lookup);
            HeaderSetting { name, value }
        });
        let origin = get.merged.origin(&path("base_url"));
        let base_url_given = origin.is_some_and(|origin| *origin != SettingOrigin::Default);
        let of_folder = matches!(origin, Some(SettingOrigin::Workspace(_)));
        let default_model_given = get.merged.get(&path("default_model")).is_some();
        // A key takes precedence, and a folder's server gets no signature of the person's.
        let cloud = clouds.of(entry).filter(|_| key.value().is_none() && !of_folder);
        ProviderSettings {
            cloud,
            name: entry.name.clone(),
            base_url: entry.base_url.clone(),
            needs_key: entry.needs_key && entry.auth != AuthStyle::None,
            default_model: default_model(catalog, entry, default_model_given),
            default_model_given,
            base_url_given,
            of_folder,
            key,
            headers: headers.collect(),
        }
    });
    settings.collect()
}

/// The name of a provider's default model. One that a person set is always a model of this provider: a model
/// that they defined, a known one, or any id at its server.
fn default_model(catalog: &Catalog, provider: &ProviderEntry, is_given: bool) -> Option<String> {
    let name = provider.default_model.as_ref()?;
    let is_its_own = || {
        let called = catalog.own(name).or_else(|| catalog.resolve(name).ok());
        called.is_some_and(|spec| spec.provider == provider.name)
    };
    if !is_given || is_its_own() {
        return Some(name.clone());
    }
    Some(format!("{}/{name}", provider.name))
}

/// Maximum number of fallbacks; more would only prolong a failure.
const MOST_FALLBACKS: usize = 16;

/// The models of `fallbacks`. An unknown one, or one too many, is a mistake.
pub(crate) fn fallbacks(
    get: &SettingsGetter<'_>,
    catalog: &Catalog,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<ModelSpec> {
    const KEY: &str = "fallbacks";
    let Some(Sourced {
        value: Value::Names(names),
        origin,
    }) = get.merged.sourced(KEY)
    else {
        return Vec::new();
    };
    if names.len() > MOST_FALLBACKS {
        let what = format!(
            "{KEY}: {} models; at most {MOST_FALLBACKS} are asked",
            names.len()
        );
        mistakes.push(mistake(origin, KEY, what, None));
        return Vec::new();
    }
    let mut models = Vec::new();
    for name in names {
        match catalog.resolve(name) {
            Ok(spec) => models.push(spec),
            Err(error) => {
                let near = error.nearest().first().cloned();
                let what = format!("{KEY}: unknown model {name:?}");
                mistakes.push(mistake(origin, KEY, what, near));
            }
        }
    }
    models
}
