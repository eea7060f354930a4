//! The settings of the sandbox: their values, and the choice of the stricter of two. A folder may only make
//! the sandbox stricter, even a trusted one: the person alone decides what its commands may reach.

use std::path::PathBuf;

use agentx_sandbox::SandboxMode;

use crate::layers::getter::SettingsGetter;
use crate::layers::keys::SettingPath;
use crate::settings::SandboxSettings;

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>) -> SandboxSettings {
    let text = |key: &str| get.text(key);
    let mode = text("sandbox.mode").and_then(|word| SandboxMode::parse(&word));
    let mode = mode.unwrap_or_default();
    // A sandbox that somebody chose has no network unless they want one.
    let network = match text("sandbox.network").as_deref() {
        Some(word) => word == "on",
        None => mode == SandboxMode::Everyday,
    };
    SandboxSettings {
        mode,
        best_effort: text("sandbox.best_effort").as_deref() == Some("true"),
        network,
        read: paths(get, "sandbox.read"),
        write: paths(get, "sandbox.write"),
    }
}

fn paths(get: &SettingsGetter<'_>, key: &str) -> Vec<PathBuf> {
    get.paths_at(&SettingPath::dotted(key))
}
