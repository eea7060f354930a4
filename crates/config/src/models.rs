//! The catalog as the configuration makes it: providers and models that are added or changed, and where their keys are.

use std::collections::BTreeMap;

use agentx_llm::catalog::{CatalogConfig, ModelConfig, PricesConfig, ProviderConfig};
use agentx_llm::{AuthStyle, Catalog};
use agentx_types::{Api, Prices};

use crate::assemble::{Getter, mistake};
use crate::keys::KeyPath;
use crate::settings::{ProviderKey, ProviderSettings};
use crate::value::{KeyReference, Value};
use crate::{Mistake, Origin, Secret, nearest};

/// The built-in catalog with what the configuration adds and changes. What makes no sense is left out and said.
pub(crate) fn catalog(builtin: Catalog, get: &Getter<'_>, mistakes: &mut Vec<Mistake>) -> Catalog {
    let mut catalog = builtin;
    for name in get.merged.names_below("providers") {
        if get.merged.any_below("providers", &name) == Origin::Default {
            continue;
        }
        catalog = with_provider(catalog, &name, get, mistakes);
    }
    for name in get.merged.names_below("models") {
        catalog = with_model(catalog, &name, get, mistakes);
    }
    catalog
}

fn with_provider(catalog: Catalog, name: &str, get: &Getter<'_>, mistakes: &mut Vec<Mistake>) -> Catalog {
    let path = |key: &str| KeyPath::dotted("providers").child(name).child(key);
    let base_url = get.text_at(&path("base_url"));
    let Some(base_url) = base_url else {
        let what = format!("provider `{name}` has no `base_url`");
        let known = catalog.providers().iter().map(|provider| provider.name.as_str());
        let near = nearest(name, known, 1)
            .first()
            .map(|near| format!("providers.{near}"));
        mistakes.push(mistake(&get.merged.any_below("providers", name), "", what, near));
        return catalog;
    };
    let known = catalog.provider(name).is_some();
    let key_env = match get.merged.get(&path("api_key")) {
        Some(Value::Key(KeyReference::Env(variable))) => Some(variable.clone()),
        _ => None,
    };
    let config = ProviderConfig {
        api: get.text_at(&path("api")).map(|api| {
            if api == "anthropic" {
                Api::Anthropic
            } else {
                Api::OpenaiChat
            }
        }),
        base_url: (!known).then(|| base_url.clone()),
        key_env,
        auth: get.text_at(&path("auth")).map(|auth| match auth.as_str() {
            "x-api-key" => AuthStyle::XApiKey,
            "none" => AuthStyle::None,
            _ => AuthStyle::Bearer,
        }),
        default_model: get.text_at(&path("default_model")),
        ..ProviderConfig::default()
    };
    let config = CatalogConfig {
        providers: BTreeMap::from([(name.to_owned(), config)]),
        models: Vec::new(),
    };
    let extended = catalog
        .clone()
        .extended(&config)
        .and_then(|catalog| catalog.with_base_url(name, &base_url));
    extended.unwrap_or_else(|error| {
        mistakes.push(mistake(
            &get.merged.any_below("providers", name),
            "",
            error.to_string(),
            None,
        ));
        catalog
    })
}

fn with_model(catalog: Catalog, name: &str, get: &Getter<'_>, mistakes: &mut Vec<Mistake>) -> Catalog {
    let path = |key: &str| KeyPath::dotted("models").child(name).child(key);
    let mut wrong = |what: String, near: Option<String>| {
        mistakes.push(mistake(&get.merged.any_below("models", name), "", what, near));
    };
    let id = get.text_at(&path("id")).unwrap_or_else(|| name.to_owned());
    let listed = catalog.models().iter().find(|entry| entry.spec.id == id);
    let Some(provider) = get
        .text_at(&path("provider"))
        .or_else(|| listed.map(|entry| entry.spec.provider.clone()))
    else {
        wrong(
            format!("model `{name}` is not in the catalog and names no `provider`"),
            None,
        );
        return catalog;
    };
    let mut aliases = get.names(&path("aliases"));
    if id != name {
        aliases.get_or_insert_default().push(name.to_owned());
    }
    let present = listed
        .filter(|entry| entry.spec.provider == provider)
        .map(|entry| entry.spec.prices);
    let config = ModelConfig {
        id,
        provider,
        aliases,
        context_window: get.count_at(&path("context_window")),
        max_output_tokens: get.count_at(&path("max_output_tokens")),
        prices: prices(&path("prices"), get, present.unwrap_or_default()),
        snapshots: None,
        wire: None,
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

/// Dollars a million tokens; what is not given stays as it is.
fn prices(path: &KeyPath, get: &Getter<'_>, present: Prices) -> Option<PricesConfig> {
    let given = |key: &str| get.money(&path.child(key)).map(|nano| nano.0 as f64 / 1e3);
    let all = ["input", "output", "cache_read", "cache_write"].map(given);
    all.iter().any(Option::is_some).then(|| {
        let [input, output, cache_read, cache_write] = all;
        let kept = |nano: u64| nano as f64 / 1e3;
        let cache = |price: Option<f64>, nano: u64| price.or_else(|| (nano > 0).then(|| kept(nano)));
        PricesConfig {
            input: input.unwrap_or_else(|| kept(present.input)),
            output: output.unwrap_or_else(|| kept(present.output)),
            cache_read: cache(cache_read, present.cache_read),
            cache_write: cache(cache_write, present.cache_write),
        }
    })
}

/// Every provider with its key.
pub(crate) fn providers(
    catalog: &Catalog,
    get: &Getter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<ProviderSettings> {
    let settings = catalog.providers().iter().map(|entry| {
        let path = |key: &str| KeyPath::dotted("providers").child(&entry.name).child(key);
        let key = match get.merged.get(&path("api_key")) {
            Some(Value::Key(KeyReference::Env(variable))) => ProviderKey::Env {
                name: variable.clone(),
                value: lookup(variable)
                    .filter(|value| !value.trim().is_empty())
                    .map(|value| Secret::new(value.trim())),
            },
            Some(Value::Key(KeyReference::Literal(secret))) => ProviderKey::Literal(secret.clone()),
            _ => ProviderKey::None,
        };
        let base_url_given = get
            .merged
            .origin(&path("base_url"))
            .is_some_and(|origin| *origin != Origin::Default);
        ProviderSettings {
            name: entry.name.clone(),
            base_url: entry.base_url.clone(),
            needs_key: entry.needs_key,
            default_model: entry.default_model.clone(),
            base_url_given,
            key,
        }
    });
    settings.collect()
}
