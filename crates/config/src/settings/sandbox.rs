//! The settings of the sandbox: their values, and the choice of the stricter of two. A folder may only make the
//! sandbox stricter, even a trusted one: the person alone decides what its commands may reach.

use std::path::PathBuf;

use agentx_sandbox::SandboxMode;

use crate::folders::strictness;
use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::value::Value;
use crate::settings::SandboxSettings;
use crate::settings::getter::SettingsGetter;

const LOOSER: &str = "only your own settings may loosen the sandbox";

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>) -> SandboxSettings {
    let text = |key: &str| get.text(key);
    let mode = text("sandbox.mode").and_then(|word| SandboxMode::parse(&word));
    SandboxSettings {
        mode: mode.unwrap_or_default(),
        best_effort: text("sandbox.best_effort").as_deref() == Some("true"),
        network: text("sandbox.network").as_deref() == Some("on"),
        read: paths(get, "sandbox.read"),
        write: paths(get, "sandbox.write"),
    }
}

fn paths(get: &SettingsGetter<'_>, key: &str) -> Vec<PathBuf> {
    get.paths_at(&SettingPath::dotted(key))
}

/// Returns why a folder, trusted or not, may not set this; `None` if it may.
pub(crate) fn why_not(path: &SettingPath, value: &Value, own: &MergedSettings) -> Option<&'static str> {
    let why = why_never(path)?;
    (!strictness::is_stricter(path, value, own.get(path)?)).then_some(why)
}

/// Returns why trust in a folder does not cover a looser value of this key.
pub(crate) fn why_never(path: &SettingPath) -> Option<&'static str> {
    let is_of_sandbox = path.0.first().is_some_and(|first| first == "sandbox");
    is_of_sandbox.then_some(LOOSER)
}
