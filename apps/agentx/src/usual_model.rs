//! The model of a new session where nobody names one, and a person names a server of their own (`OPENAI_BASE_URL`): what the server has.

use agentx::config::{Loaded, Origin, ProviderSettings, Settings, Sourced};
use agentx::node::model::models_of_server;
use agentx::types::{Api, ModelSpec};

use crate::console::Console;
use crate::error::CliError;
use crate::render::clean::visible;
use crate::start::is_demo;

/// So many names are told.
const NAMES: usize = 8;

/// Makes the one model of such a server the one to ask, and says so.
///
/// # Errors
/// Where it has several or none, or does not say which: to ask it for the default model of a vendor would make no sense.
pub(crate) async fn settle(settings: &mut Settings, console: &mut Console) -> Result<(), CliError> {
    let Some(provider) = own_server(settings) else {
        return Ok(());
    };
    let Some(asked) = models_of_server(settings, &provider.name).await else {
        return Ok(());
    };
    let (name, at) = (&provider.name, visible(&provider.base_url));
    let choose = |example: &str| {
        format!(
            "name one: --model {name}/{example}, AGENTX_MODEL, or `agentx config set model {name}/{example}`"
        )
    };
    let models = asked.map_err(|why| {
        let message = format!(
            "no model is named, and the server at {at} does not say which it has: {}",
            visible(&why)
        );
        CliError::usage(message, choose("NAME"))
    })?;
    if provider
        .default_model
        .as_ref()
        .is_some_and(|usual| models.contains(usual))
    {
        return Ok(());
    }
    match &models[..] {
        [] => Err(CliError::usage(
            format!("no model is named, and the server at {at} has none"),
            "load one there, then try again",
        )),
        [one] => {
            console.say(&format!(
                "note: the server at {at} has one model, {}: it is asked\n",
                visible(one)
            ));
            settings.model = Some(Sourced::new(format!("{name}/{one}"), Origin::Default));
            Ok(())
        }
        [first, ..] => {
            let told: Vec<String> = models.iter().take(NAMES).map(|model| visible(model)).collect();
            let more = match models.len().saturating_sub(NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let message = format!(
                "no model is named, and the server at {at} has several: {}{more}",
                told.join(", ")
            );
            Err(CliError::usage(message, choose(&visible(first))))
        }
    }
}

/// Refuses to answer with the demo where a person has configured a provider that cannot be asked: the answer would pass for that of a model.
///
/// # Errors
/// What is missing: a key, or the name of a model.
pub(crate) fn check_configured(loaded: &Loaded) -> Result<(), CliError> {
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
        Some(variable) => Err(CliError::MissingKey {
            model: usual.unwrap_or_else(|| format!("{}/…", provider.name)),
            variable: variable.to_owned(),
            user_file: settings.user_file.clone(),
        }),
        None => {
            let name = visible(&provider.name);
            Err(CliError::usage(
                format!("no model is named, and none is known of the provider {name}"),
                format!(
                    "name one: --model {name}/NAME, AGENTX_MODEL, or `agentx config set model {name}/NAME`"
                ),
            ))
        }
    }
}

/// The providers that a file, a variable or the command line says something about.
pub(crate) fn configured_providers(loaded: &Loaded) -> Vec<&ProviderSettings> {
    let rows = loaded.merged.rows();
    let is_configured = |provider: &&ProviderSettings| {
        let branch = format!("providers.{}.", provider.name);
        let mut of_it = rows.iter().filter(|row| row.key.starts_with(&branch));
        of_it.any(|row| row.value.is_some() && row.origin != Origin::Default)
    };
    loaded.settings.providers.iter().filter(is_configured).collect()
}

/// What a person should know where the offline demo answers and nobody asked for it.
pub(crate) fn note_of_demo(settings: &Settings, model: &ModelSpec) -> Option<&'static str> {
    let is_wanted = settings.model.as_ref().is_some_and(|model| is_demo(&model.value));
    let is_demo = model.api == Api::Scripted && settings.scripted_answers.is_empty();
    (is_demo && !is_wanted).then_some(
        "note: the offline demo answers, which is a script and no model; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a server \
         (`agentx help settings`)\n",
    )
}

/// The provider whose default model would be asked, where a person has named its server and no model.
fn own_server(settings: &Settings) -> Option<ProviderSettings> {
    if settings.model.is_some() || settings.connect.is_some() {
        return None;
    }
    let connected = || {
        settings
            .providers
            .iter()
            .filter(|provider| provider.is_connected())
    };
    let usual = connected().find(|provider| provider.default_model.is_some());
    let first = usual.or_else(|| connected().find(|provider| provider.base_url_given))?;
    // Gateways of Anthropic's protocol serve Claude under its own names.
    let api = settings.catalog.provider(&first.name)?.api;
    (first.base_url_given && api == Api::OpenaiChat).then(|| first.clone())
}
