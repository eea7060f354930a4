//! The settings of the sandbox: their values, and the choice of the stricter of two. A folder may only make
//! the sandbox stricter, even a trusted one: the person alone decides what its commands may reach.

use std::path::PathBuf;

use agentx_sandbox::{HostPattern, SandboxMode, SandboxNetwork};

use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::mistake::ConfigMistake;
use crate::settings::SandboxSettings;

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> SandboxSettings {
    let text = |key: &str| get.text(key);
    let mode = text("sandbox.mode").and_then(|word| SandboxMode::parse(&word));
    let mode = mode.unwrap_or_default();
    // A sandbox that somebody chose has no network unless they want one.
    let network = text("sandbox.network").and_then(|word| SandboxNetwork::parse(&word));
    let network = network.unwrap_or(match mode {
        SandboxMode::Everyday => SandboxNetwork::On,
        SandboxMode::None | SandboxMode::Auto | SandboxMode::Step(_) => SandboxNetwork::Off,
    });
    SandboxSettings {
        mode,
        best_effort: text("sandbox.best_effort").as_deref() == Some("true"),
        network,
        hosts: hosts(get, mistakes),
        memory_bytes: limit(get, mistakes, "sandbox.memory", LEAST_MEBIBYTES)
            .map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        processes: limit(get, mistakes, "sandbox.processes", LEAST_PROCESSES),
        read: paths(get, "sandbox.read"),
        write: paths(get, "sandbox.write"),
    }
}

/// The least memory of a command, in MiB: with less no shell starts.
const LEAST_MEBIBYTES: u64 = 16;
/// The fewest processes of a command: its own, two of the sandbox, and some of a shell.
const LEAST_PROCESSES: u64 = 8;

/// A limit that is not below `least`, with which no command could run.
fn limit(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>, key: &str, least: u64) -> Option<u64> {
    let most = get.count(key)?;
    if most < least
        && let Some(origin) = get.merged.origin(&SettingPath::dotted(key))
    {
        let what = format!("{key}: {most} is too little to start a command; it has to be at least {least}");
        mistakes.push(mistake(origin, key, what, None));
    }
    Some(most.max(least))
}

/// The hosts that commands reach through the proxy. An entry that names no host is a mistake.
fn hosts(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> Vec<HostPattern> {
    let path = SettingPath::dotted("sandbox.hosts");
    let mut hosts = Vec::new();
    for name in get.names(&path).unwrap_or_default() {
        match HostPattern::parse(&name) {
            Some(pattern) => hosts.push(pattern),
            None => {
                let what = format!(
                    "sandbox.hosts: {name:?} names no host; write crates.io, *.crates.io, localhost:8080 or 10.0.0.1"
                );
                if let Some(origin) = get.merged.origin(&path) {
                    mistakes.push(mistake(origin, "sandbox.hosts", what, None));
                }
            }
        }
    }
    hosts
}

fn paths(get: &SettingsGetter<'_>, key: &str) -> Vec<PathBuf> {
    get.paths_at(&SettingPath::dotted(key))
}
