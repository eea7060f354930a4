//! From merged layers to [`Settings`]: the last checks are those that need more than one key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_types::{Api, ApprovalMode, Limits, ModelParams};

use crate::keys::KeyPath;
use crate::layers::Merged;
use crate::settings::{ModelSettings, PriceSettings, ProviderKey, ProviderSettings, Settings, ToolSettings};
use crate::value::{KeyReference, Value};
use crate::{At, Mistake, Origin, Places, Secret, Sourced, nearest};

/// The largest prompt that is read from a file.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

pub(crate) fn settings(
    merged: &Merged,
    places: &Places,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<Mistake>,
) -> Settings {
    let get = Getter { merged, places };
    let providers = providers(&get, lookup, mistakes);
    let models = models(&get, &providers, mistakes);
    Settings {
        model: merged
            .sourced("model")
            .map(|model| Sourced::new(model.value.to_string(), model.origin.clone())),
        system_prompt: system_prompt(&get, mistakes),
        params: ModelParams {
            max_output_tokens: get.count("params.max_output_tokens"),
            temperature: get.number("params.temperature"),
            thinking_tokens: get.count("params.thinking_tokens"),
        },
        limits: Limits {
            max_iterations: get
                .count("limits.max_iterations")
                .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            max_tokens: get.count("limits.max_tokens"),
            max_cost: get.money(&KeyPath::dotted("limits.max_cost")),
            max_wall_ms: get.millis("limits.timeout"),
        },
        approval: match get.text("approval").as_deref() {
            Some("auto") => ApprovalMode::Auto,
            Some("deny") => ApprovalMode::Deny,
            _ => ApprovalMode::Ask,
        },
        rules: get.rules(),
        tools: ToolSettings {
            enabled: get.names(&KeyPath::dotted("tools.enabled")),
            disabled: get.names(&KeyPath::dotted("tools.disabled")).unwrap_or_default(),
            timeout_ms: get.millis("tools.timeout"),
            max_output_bytes: get.count("tools.max_output_bytes"),
        },
        providers,
        models,
        data_dir: data_dir(merged, places),
        log: get.text("log").unwrap_or_else(|| "off".into()),
        workspace: places.cwd.clone(),
        workspace_root: places.workspace_root.clone(),
        user_file: places.user_file.clone(),
    }
}

/// Where sessions and records of trust are kept.
pub(crate) fn data_dir(merged: &Merged, places: &Places) -> PathBuf {
    match merged.sourced("data_dir") {
        Some(Sourced {
            value: Value::Text(written),
            origin,
        }) => Places::resolve(base_of(origin, places), written),
        _ => places.data_dir.clone(),
    }
}

/// Where a relative path starts: beside the file that has it, else in the working directory.
fn base_of<'a>(origin: &'a Origin, places: &'a Places) -> &'a Path {
    match origin {
        Origin::User(place) | Origin::Workspace(place) => place.file.parent().unwrap_or(&places.cwd),
        _ => &places.cwd,
    }
}

struct Getter<'a> {
    merged: &'a Merged,
    places: &'a Places,
}

impl Getter<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.text_at(&KeyPath::dotted(key))
    }

    fn text_at(&self, path: &KeyPath) -> Option<String> {
        match self.merged.get(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.count_at(&KeyPath::dotted(key))
    }

    fn count_at(&self, path: &KeyPath) -> Option<u64> {
        match self.merged.get(path) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.merged.get(&KeyPath::dotted(key)) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn millis(&self, key: &str) -> Option<u64> {
        match self.merged.get(&KeyPath::dotted(key)) {
            Some(Value::Millis(millis)) => Some(*millis),
            _ => None,
        }
    }

    fn money(&self, path: &KeyPath) -> Option<agentx_types::NanoUsd> {
        match self.merged.get(path) {
            Some(Value::Money(money)) => Some(*money),
            _ => None,
        }
    }

    fn names(&self, path: &KeyPath) -> Option<Vec<String>> {
        match self.merged.get(path) {
            Some(Value::Names(names)) => Some(names.clone()),
            _ => None,
        }
    }

    fn rules(&self) -> Vec<agentx_types::Rule> {
        match self.merged.get(&KeyPath::dotted("rules")) {
            Some(Value::Rules(rules)) => rules.iter().map(|rule| rule.value.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

fn system_prompt(get: &Getter<'_>, mistakes: &mut Vec<Mistake>) -> Option<Arc<str>> {
    let sourced = get.merged.sourced("system_prompt")?;
    let Value::File(written) = &sourced.value else {
        return Some(Arc::from(sourced.value.to_string()));
    };
    let path = Places::resolve(base_of(&sourced.origin, get.places), written);
    match read_prompt(&path) {
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

fn read_prompt(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_PROMPT_BYTES {
        return Err(format!(
            "the file has {size} bytes; at most {MAX_PROMPT_BYTES} are read"
        ));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn providers(
    get: &Getter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<ProviderSettings> {
    let mut providers = Vec::new();
    for name in get.merged.names_below("providers") {
        let path = |key: &str| KeyPath::dotted("providers").child(&name).child(key);
        let (api, base_url) = (get.text_at(&path("api")), get.text_at(&path("base_url")));
        let base = get.merged.any_below("providers", &name);
        let (Some(api), Some(base_url)) = (&api, &base_url) else {
            let missing = if api.is_none() { "api" } else { "base_url" };
            let what = format!("provider `{name}` has no `{missing}`");
            mistakes.push(mistake(&base, "", what, None));
            continue;
        };
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
        providers.push(ProviderSettings {
            name,
            api: api_of(api),
            base_url: base_url.clone(),
            base_url_given,
            key,
        });
    }
    providers
}

fn api_of(word: &str) -> Api {
    match word {
        "anthropic" => Api::Anthropic,
        "scripted" => Api::Scripted,
        _ => Api::OpenaiChat,
    }
}

fn models(
    get: &Getter<'_>,
    providers: &[ProviderSettings],
    mistakes: &mut Vec<Mistake>,
) -> Vec<ModelSettings> {
    let mut models = Vec::new();
    for name in get.merged.names_below("models") {
        let path = |key: &str| KeyPath::dotted("models").child(&name).child(key);
        let price = |key: &str| get.money(&path("prices").child(key)).map(|nano| nano.0);
        let provider = get.text_at(&path("provider"));
        if let Some(named) = provider
            .as_ref()
            .filter(|named| providers.iter().all(|known| known.name != **named))
        {
            let origin = get.merged.any_below("models", &name);
            let near = nearest(named, providers.iter().map(|known| known.name.as_str()), 1);
            let what = format!("model `{name}` names the unknown provider `{named}`");
            mistakes.push(mistake(
                &origin,
                "",
                what,
                near.first().map(|word| (*word).to_owned()),
            ));
        }
        models.push(ModelSettings {
            id: get.text_at(&path("id")),
            provider,
            aliases: get.names(&path("aliases")).unwrap_or_default(),
            context_window: get.count_at(&path("context_window")),
            max_output_tokens: get.count_at(&path("max_output_tokens")),
            prices: PriceSettings {
                input: price("input"),
                output: price("output"),
                cache_read: price("cache_read"),
                cache_write: price("cache_write"),
            },
            name,
        });
    }
    models
}

fn mistake(origin: &Origin, key: &str, what: String, nearest: Option<String>) -> Mistake {
    let at = match origin {
        Origin::User(place) | Origin::Workspace(place) => At::File(place.clone()),
        Origin::Env(name) => At::Env(name.clone()),
        Origin::Flag(name) => At::Flag(name.clone()),
        Origin::Default => At::Env("default".into()),
    };
    Mistake {
        at,
        key: key.to_owned(),
        what,
        nearest,
    }
}
