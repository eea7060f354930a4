//! The settings of each person on this server, within the operator's settings.

use agentx_config::Settings;
use agentx_runtime::Runtime as _;
use agentx_services::{OperatorBounds, PersonSettings, PersonStore, PersonValues};
use agentx_types::OwnerId;

use crate::auth::caller::Caller;
use crate::state::ServerState;

/// Returns the settings of all persons of this server.
pub(crate) fn people(settings: &Settings) -> PersonStore {
    PersonStore::new(&settings.data_dir)
}

/// Returns the operator's settings, as bounds of what a person may set.
pub(crate) fn operator_bounds(state: &ServerState, caller: &Caller) -> OperatorBounds {
    let settings = state.settings();
    let known = state.runtime_of(&caller.person).models().into_iter();
    let callable = known.filter(|model| model.missing.is_none());
    let model = settings.model_or_default().value;
    let mut models: Vec<String> = callable
        .map(|model| model.spec.name.unwrap_or(model.spec.id))
        .collect();
    if !models.contains(&model) {
        models.insert(0, model.clone());
    }
    OperatorBounds {
        models,
        model,
        temperature: settings.params.temperature,
        max_tokens: settings.params.max_output_tokens,
        limits: settings.limits,
        history_context_size: settings.context.history_context_size,
        approval: settings.approval,
        time_zone: settings.context.time_zone.clone(),
    }
}

/// Returns the values of the caller that count. Settings that cannot be read count as none, so that a damaged
/// file keeps nobody from a session.
pub(crate) fn own_values(state: &ServerState, caller: &Caller) -> PersonValues {
    let own = read(&state.settings(), &caller.person);
    if own == PersonSettings::default() {
        return PersonValues::default();
    }
    own.values(&operator_bounds(state, caller))
}

fn read(settings: &Settings, person: &OwnerId) -> PersonSettings {
    people(settings).read(person).unwrap_or_else(|error| {
        tracing::warn!(%error, "the settings of a person are not used");
        PersonSettings::default()
    })
}
