//! Reports the keys of providers for `agentx config check`.

use agentx::config::{Loaded, SettingOrigin};

use crate::models::default_model::configured_providers;
use crate::render::clean::visible;

/// Returns the keys that the configuration names and that are not set, in lines for the person.
pub fn missing(loaded: &Loaded) -> String {
    let configured = configured_providers(loaded).into_iter();
    let missing = configured.filter_map(|provider| Some((&provider.name, provider.missing_variable()?)));
    missing
        .map(|(name, variable)| {
            format!("warning: `providers.{name}` cannot be used, because {variable} is not set\n")
        })
        .collect()
}

/// Returns the keys of providers to which AgentX sends no key, in lines for the person.
pub fn unsent(loaded: &Loaded) -> String {
    let rows = loaded.merged.rows();
    let set = |key: String| {
        rows.iter()
            .find(|row| row.key == key && row.value.is_some() && row.origin != SettingOrigin::Default)
    };
    let unsent = loaded.settings.providers.iter().filter_map(|provider| {
        let name = &provider.name;
        let auth = set(format!("providers.{name}.auth"))?;
        let key = set(format!("providers.{name}.api_key"))?;
        (auth.value.as_deref() == Some("none")).then(|| {
            format!(
                "note: `{}` is not sent, because `{}` is `none` ({}); remove one of the two\n",
                visible(&key.key),
                visible(&auth.key),
                auth.origin
            )
        })
    });
    unsent.collect()
}
