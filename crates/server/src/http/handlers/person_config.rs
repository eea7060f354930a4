//! The settings of a person: the fields with their bounds, the values that count with their origin,
//! and the prompts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentx_config::Settings;
use agentx_services::{ContextModule, OperatorBounds, PersonError, PersonSettings, SettingField, fields};
use agentx_types::wire::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::handlers::tokens::on_disk;
use crate::http::requests::body::SettingsBody;
use crate::http::requests::extract::Member;
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState};
use crate::members::person_settings::{operator_bounds, people};
use crate::problems::problem;

/// The modules with a text.
const WITH_TEXT: [ContextModule; 3] = [
    ContextModule::Persona,
    ContextModule::System,
    ContextModule::Tools,
];
/// The longest text of a person, in characters.
const PROMPT_CHARS: usize = 16_000;

/// Changes of a person's own settings; a field that is not named stays.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ConfigWish {
    /// Values by the names of their fields; `null` takes the operator's again.
    #[serde(default)]
    config: BTreeMap<String, Value>,
    /// Texts by the names of their modules; `null` takes the usual one again.
    #[serde(default)]
    prompts: BTreeMap<String, Option<String>>,
}

/// The source of a value.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ValueOrigin {
    /// The settings of the server's operator.
    Operator,
    /// The person's own.
    Person,
}

/// A value that counts.
#[derive(Serialize, JsonSchema)]
struct EffectiveValue {
    /// The value; `null` if there is none.
    value: Value,
    /// The source.
    origin: ValueOrigin,
}

/// A text that counts.
#[derive(Serialize, JsonSchema)]
struct EffectivePrompt {
    /// The text before names such as `{person}` are filled in.
    content: String,
    /// The source.
    origin: ValueOrigin,
    /// Whether the person may write their own.
    editable: bool,
}

/// The settings of a person, as a page shows them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PersonConfig {
    /// The names of the fields, in the order in which they are shown.
    editable_fields: Vec<&'static str>,
    /// The kind and the bounds of each field.
    field_options: BTreeMap<&'static str, SettingField>,
    /// The values that count for new sessions.
    effective_config: BTreeMap<&'static str, EffectiveValue>,
    /// The person's own values, also those that no longer count.
    user_overrides: BTreeMap<String, Value>,
    /// The texts that count from the next run on.
    effective_prompts: BTreeMap<&'static str, EffectivePrompt>,
}

pub(crate) async fn get(
    app: HandlerState,
    Member(caller): Member,
) -> Result<JsonResponse<PersonConfig>, ApiError> {
    let (settings, bounds) = (app.state.settings(), operator_bounds(&app.state, &caller));
    let answer = move || {
        let own = people(&settings).read(&caller.person).map_err(refused)?;
        shown(own, &bounds, &settings)
    };
    Ok(JsonResponse(on_disk(answer).await?))
}

pub(crate) async fn set(
    app: HandlerState,
    Member(caller): Member,
    SettingsBody(wish): SettingsBody<ConfigWish>,
) -> Result<JsonResponse<PersonConfig>, ApiError> {
    let (settings, bounds) = (app.state.settings(), operator_bounds(&app.state, &caller));
    let answer = move || {
        let change = |own: &mut PersonSettings| apply(wish, own, &bounds).map_err(PersonError::Refused);
        let own = people(&settings)
            .change(&caller.person, change)
            .map_err(refused)?;
        shown(own, &bounds, &settings)
    };
    Ok(JsonResponse(on_disk(answer).await?))
}

/// Makes all changes of a wish, or returns why one of them cannot be made.
fn apply(wish: ConfigWish, own: &mut PersonSettings, bounds: &OperatorBounds) -> Result<(), String> {
    let fields = fields(bounds);
    for (key, value) in wish.config {
        let Some(field) = fields.iter().find(|field| field.key == key) else {
            let names: Vec<&str> = fields.iter().map(|field| field.key).collect();
            return Err(format!(
                "there is no field {key:?}; the fields are {}",
                names.join(", ")
            ));
        };
        if value.is_null() {
            own.config.remove(&key);
        } else {
            field.check(&value)?;
            own.config.insert(key, value);
        }
    }
    for (name, text) in wish.prompts {
        let module = ContextModule::named(&name).filter(|module| module.is_editable());
        if module.is_none() {
            return Err(format!(
                "{name:?} is not a text that you can change; `persona` and `tools` are"
            ));
        }
        let Some(text) = text else {
            own.prompts.remove(&name);
            continue;
        };
        if text.chars().count() > PROMPT_CHARS {
            return Err(format!("`{name}` has more than {PROMPT_CHARS} characters"));
        }
        own.prompts.insert(name, text);
    }
    Ok(())
}

/// Returns the settings of a person with their bounds and origins.
fn shown(
    own: PersonSettings,
    bounds: &OperatorBounds,
    settings: &Settings,
) -> Result<PersonConfig, Box<Problem>> {
    let mut counts = own.values(bounds).0;
    let fields = fields(bounds);
    let mut effective_config = BTreeMap::new();
    for field in &fields {
        let (value, origin) = match counts.remove(field.key) {
            Some(value) => (value, ValueOrigin::Person),
            None => (field.default.clone(), ValueOrigin::Operator),
        };
        effective_config.insert(field.key, EffectiveValue { value, origin });
    }
    let mut effective_prompts = BTreeMap::new();
    for module in WITH_TEXT {
        effective_prompts.insert(module.name(), prompt(module, &own, settings)?);
    }
    Ok(PersonConfig {
        editable_fields: fields.iter().map(|field| field.key).collect(),
        field_options: fields.into_iter().map(|field| (field.key, field)).collect(),
        effective_config,
        user_overrides: own.config,
        effective_prompts,
    })
}

fn prompt(
    module: ContextModule,
    own: &PersonSettings,
    settings: &Settings,
) -> Result<EffectivePrompt, Box<Problem>> {
    let own = own.prompts.get(module.name()).filter(|_| module.is_editable());
    let file = settings.context.files.get(module.name());
    let content = module.template(own.map(String::as_str), file.map(PathBuf::as_path));
    Ok(EffectivePrompt {
        content: content.map_err(|what| unreadable(&what))?,
        origin: own.map_or(ValueOrigin::Operator, |_| ValueOrigin::Person),
        editable: module.is_editable(),
    })
}

/// Returns the problem of a caller whose settings could not be read or changed.
fn refused(error: PersonError) -> Box<Problem> {
    match error {
        PersonError::Refused(what) => problem("bad_request", &what),
        PersonError::NotAnId(_) | PersonError::File { .. } | PersonError::NotSettings { .. } => {
            unreadable(&error.to_string())
        }
    }
}

/// Returns the problem for a file of the server that cannot be read. Only the operator learns the path.
fn unreadable(what: &str) -> Box<Problem> {
    tracing::warn!(%what, "the settings of a person cannot be read or written");
    problem(
        "internal",
        "the server cannot read or write your settings; its log has the reason",
    )
}
