//! Chooses the model of a new session if no model is set, but the address of a server of the user's own is
//! (`OPENAI_BASE_URL`): it is the model of that server.

use agentx::config::{ApiKeySource, Loaded, ProviderSettings, SettingOrigin, Settings, Sourced};
use agentx::llm::Catalog;
use agentx::llm::catalog::{CatalogConfig, ModelConfig};
use agentx::node::model::{ModelListError, listed_window, models_of_server};
use agentx::types::{Api, ModelSpec, Prices};

use crate::demo::is_demo;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::{OLLAMA, START_OLLAMA};
use crate::models::other_server;
use crate::render::clean::visible;
use crate::terminal::console::Console;

/// Maximum number of names to print.
const NAMES: usize = 8;

/// Uses a model of one of the user's own servers: its only one if none is named, or the named one if only
/// that server knows it. Prints a note if no setting names it.
///
/// # Errors
/// Returns an error if the server rejects the API key, and if no model is named and the server has several or
/// none, or does not list them: its default cannot be the default model of a vendor.
pub async fn settle(settings: &mut Settings, console: &mut Console) -> Result<(), ChatError> {
    if settings.connect.is_some() {
        return Ok(());
    }
    if let Some(named) = settings.model.clone() {
        if let Some(known) = known_to_own_server(settings, &named.value).await? {
            settings.model = Some(Sourced::new(known, named.origin));
        }
        return Ok(());
    }
    if let Some(only) = only_model(settings).await? {
        let (id, at) = (visible(&only.id), visible(&only.at));
        console.say(&format!(
            "note: using {id}, the only model of the server at {at}\n"
        ));
        settings.model = Some(Sourced::new(only.name(), SettingOrigin::Default));
        learn_window(settings).await;
    }
    Ok(())
}

/// Takes over the window that the list of the user's own server reports for the chosen model, if nothing sets
/// one. A report may only make the window smaller than the assumed one.
pub(crate) async fn learn_window(settings: &mut Settings) {
    let Ok(spec) = settings.choose_model(&settings.model_or_default().value, &[]) else {
        return;
    };
    let (provider, id, assumed) = (&spec.provider, &spec.id, spec.context_window);
    if !settings.catalog.assumes_window(provider, id, assumed) {
        return;
    }
    if let Some(window) = listed_window(settings, provider, id).await {
        settings.catalog = with_window(settings.catalog.clone(), &spec, window);
    }
}

/// Returns a catalog in which a model has this window, if that is smaller than the assumed one.
fn with_window(catalog: Catalog, model: &ModelSpec, window: u64) -> Catalog {
    if window >= model.context_window {
        return catalog;
    }
    let known = CatalogConfig {
        models: vec![ModelConfig {
            id: model.id.clone(),
            provider: model.provider.clone(),
            name: model.name.clone(),
            context_window: Some(window),
            ..ModelConfig::default()
        }],
        ..CatalogConfig::default()
    };
    catalog.clone().extended(&known).unwrap_or(catalog)
}

/// The only model of a server.
pub struct OnlyModel {
    provider: String,
    /// The id of the model at the server.
    id: String,
    /// The address of the server.
    at: String,
}

impl OnlyModel {
    /// Returns the name as `PROVIDER/ID`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// Returns the only model of a server of the user, if no model is named and that server is the one to ask;
/// `None` if the settings name the model.
///
/// # Errors
/// Returns an error for the same reasons as [`settle`].
pub async fn only_model(settings: &Settings) -> Result<Option<OnlyModel>, ChatError> {
    let Some(provider) = own_server(settings) else {
        return Ok(None);
    };
    let Some(asked) = models_of_server(settings, &provider.name).await else {
        return Ok(None);
    };
    let (name, at) = (&provider.name, visible(&provider.base_url));
    let choose = |example: &str| {
        format!(
            "choose one: --model {name}/{example}, AGENTX_MODEL, or `agentx config set model {name}/{example}`"
        )
    };
    let models = asked.map_err(|why| {
        if let ModelListError::KeyRefused(status) = why {
            return key_refused(&provider, status);
        }
        let message = format!(
            "no model is set, and the server at {at} does not list its models: {}",
            visible(&why.to_string())
        );
        ChatError::usage(
            message,
            format!(
                "{}; if it is running but has no list of models, {}",
                if at.contains(OLLAMA) {
                    START_OLLAMA
                } else {
                    "start the server"
                },
                choose("NAME")
            ),
        )
    })?;
    if provider
        .default_model
        .as_ref()
        .is_some_and(|usual| models.contains(usual))
    {
        return Ok(None);
    }
    match &models[..] {
        [] => Err(ChatError::usage(
            format!("no model is set, and the server at {at} has none"),
            "load one there, then try again",
        )),
        [one] => Ok(Some(OnlyModel {
            provider: provider.name.clone(),
            id: one.clone(),
            at: provider.base_url.clone(),
        })),
        [first, ..] => {
            let told: Vec<String> = models.iter().take(NAMES).map(|model| visible(model)).collect();
            let more = match models.len().saturating_sub(NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let message = format!(
                "no model is set, and the server at {at} has several: {}{more}",
                told.join(", ")
            );
            Err(ChatError::usage(message, choose(&visible(first))))
        }
    }
}

/// Returns `PROVIDER/NAME` of a model that only a server of the user knows; `None` for any other name.
///
/// # Errors
/// Returns an error if no server has it and one rejects the API key, so that its models are unknown.
pub(crate) async fn known_to_own_server(
    settings: &Settings,
    name: &str,
) -> Result<Option<String>, ChatError> {
    if is_demo(name) || settings.choose_model(name, &[]).is_ok() {
        return Ok(None);
    }
    let mut refused = None;
    for provider in own_servers(settings) {
        match models_of_server(settings, &provider.name).await {
            Some(Ok(models)) if models.iter().any(|model| model == name) => {
                return Ok(Some(format!("{}/{name}", provider.name)));
            }
            Some(Err(ModelListError::KeyRefused(status))) => refused = Some(key_refused(provider, status)),
            _ => {}
        }
    }
    refused.map_or(Ok(None), Err)
}

/// A server of the user that does not take the key, or wants one.
fn key_refused(provider: &ProviderSettings, status: u16) -> ChatError {
    let at = visible(&provider.base_url);
    let what = match provider.key() {
        Some(_) => "rejects the API key",
        None => "wants a key",
    };
    let of = match &provider.key {
        ApiKeySource::Env { name, .. } => format!(" in {name}"),
        _ => String::new(),
    };
    ChatError::Run {
        exit: Exit::Credentials,
        code: "unauthorized".to_owned(),
        message: format!("the server at {at} {what}{of} (HTTP {status})"),
    }
}

/// The providers of OpenAI's protocol at an address that a person gave. (Gateways of Anthropic's protocol
/// serve Claude under its own names.)
pub(crate) fn own_servers(settings: &Settings) -> impl Iterator<Item = &ProviderSettings> {
    settings.providers.iter().filter(|provider| {
        let api = settings.catalog.provider(&provider.name).map(|entry| entry.api);
        let is_openais = matches!(api, Some(Api::OpenaiChat | Api::OpenaiResponses));
        provider.base_url_given && provider.is_connected() && is_openais
    })
}

/// Refuses to let the demo answer a command that is given to a model: its exit code and text could be taken
/// for those of a model.
///
/// # Errors
/// Returns an error if no model is connected, and neither the demo nor a file of answers is named.
pub fn check_connected(settings: &Settings) -> Result<(), ChatError> {
    let is_asked = settings.connect.is_none() && settings.model.is_none();
    if is_asked && is_demo(&settings.model_or_default().value) && settings.scripted_answers.is_empty() {
        Err(ChatError::NoModel)
    } else {
        Ok(())
    }
}

/// Refuses to answer with the demo if a person has configured a provider that cannot be asked: the answer
/// could be taken for that of a model.
///
/// # Errors
/// Returns an error that names what is missing: a key, or the name of a model.
pub fn check_configured(loaded: &Loaded) -> Result<(), ChatError> {
    let settings = &loaded.settings;
    let is_asked = settings.connect.is_none() && settings.model.is_none();
    if !is_asked || !is_demo(&settings.model_or_default().value) || !settings.scripted_answers.is_empty() {
        return Ok(());
    }
    let configured = configured_providers(loaded);
    let lacks_key = |provider: &&&ProviderSettings| provider.missing_variable().is_some();
    let Some(provider) = configured.iter().find(lacks_key).or_else(|| configured.first()) else {
        return Ok(());
    };
    let usual = provider.default_model.clone();
    match provider.missing_variable() {
        Some(variable) => Err(ChatError::MissingKey {
            model: usual.unwrap_or_else(|| format!("{}/…", provider.name)),
            provider: provider.name.clone(),
            variable: variable.to_owned(),
            why: provider.cloud_problem().map(str::to_owned),
            user_file: settings.user_file.clone(),
        }),
        None => {
            let name = visible(&provider.name);
            Err(ChatError::usage(
                format!("no model is set, and no models of the provider {name} are known"),
                format!(
                    "choose one: --model {name}/NAME, AGENTX_MODEL, or `agentx config set model {name}/NAME`"
                ),
            ))
        }
    }
}

/// The providers that a file, a variable or the command line says something about.
pub fn configured_providers(loaded: &Loaded) -> Vec<&ProviderSettings> {
    let rows = loaded.merged.rows();
    let is_configured = |provider: &&ProviderSettings| {
        let branch = format!("providers.{}.", provider.name);
        let mut of_it = rows.iter().filter(|row| row.key.starts_with(&branch));
        of_it.any(|row| row.value.is_some() && row.origin != SettingOrigin::Default)
    };
    loaded.settings.providers.iter().filter(is_configured).collect()
}

/// A note for a session that is resumed: the demo answers in it although a model has been connected since, or
/// its model was asked at another server, or lacks a key.
pub fn note_of_session(settings: &Settings, model: &ModelSpec) -> Option<String> {
    const OTHER: &str = "`/model` lists models, `/model NAME` switches";
    if model.api == Api::Scripted {
        let is_wanted = is_demo(&settings.model_or_default().value) || !settings.scripted_answers.is_empty();
        return (!is_wanted).then(|| format!("note: the offline demo answers in this session; {OTHER}\n"));
    }
    if let Some(moved) = other_server::moved(settings, model) {
        return Some(moved.note());
    }
    let variable = settings.provider(&model.provider)?.missing_variable()?;
    let id = visible(&model.id);
    Some(format!(
        "note: the model of this session, {id}, needs an API key, and {variable} is not set; {OTHER}\n"
    ))
}

/// The server of the user that would be asked for its model, if no model is named and no provider has a
/// default model that a person set.
pub fn own_server(settings: &Settings) -> Option<ProviderSettings> {
    if settings.model.is_some() || settings.connect.is_some() {
        return None;
    }
    let connected = || {
        settings
            .providers
            .iter()
            .filter(|provider| provider.is_connected())
    };
    let usual = settings.default_provider();
    if usual.is_some_and(|provider| provider.default_model_given) {
        return None;
    }
    let first = usual.or_else(|| connected().find(|provider| provider.base_url_given))?;
    own_servers(settings).find(|own| own.name == first.name).cloned()
}

/// The placeholder for the model if none can be used. No provider has this name, so a request to it fails.
pub fn no_model() -> ModelSpec {
    ModelSpec {
        id: "none".into(),
        provider: "none".into(),
        api: Api::OpenaiChat,
        context_window: 0,
        max_output_tokens: 0,
        input: None,
        prices: Prices::default(),
        server: None,
        assumes_output: false,
        name: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_window_makes_the_assumed_one_smaller_and_never_larger() {
        let window = |reported| {
            let catalog = Catalog::builtin();
            let model = catalog.resolve("openai/made-up").expect("a model");
            let catalog = with_window(catalog, &model, reported);
            let model = catalog.resolve("openai/made-up").expect("a model");
            let is_assumed = catalog.assumes_window("openai", "made-up", model.context_window);
            (model.context_window, is_assumed)
        };
        assert_eq!(window(8_192), (8_192, false));
        assert_eq!(window(1_000_000), (128_000, true));
    }
}
