//! The settings of the sandbox: their values, and the choice of the stricter of two. A folder may only make
//! the sandbox stricter, even a trusted one: the person alone decides what its commands may reach.

use std::path::PathBuf;

use agentx_llm::Secret;
use agentx_sandbox::{HostPattern, SandboxMode, SandboxNetwork, SandboxStep};

use crate::api_key_source::ApiKeySource;
use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::value::is_variable;
use crate::mistake::ConfigMistake;
use crate::origin::SettingOrigin;

/// The sandbox of `bash`, `job` and `shell`, and the files and hosts that their commands may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The sandbox of commands that a person, a rule or the approval mode `ask` let run; none by default.
    pub mode: SandboxMode,
    /// The sandbox of commands about which nobody is asked: that of `mode` if the person chose it, otherwise
    /// at least `everyday`.
    pub unasked: SandboxMode,
    /// Whether commands run although the step, or a part of it, does not work here. `false` by default.
    pub best_effort: bool,
    /// The network of commands, if a layer sets it; see [`SandboxSettings::network_in`].
    pub network: Option<SandboxNetwork>,
    /// The hosts that commands reach if a proxy decides host by host.
    pub hosts: Vec<HostPattern>,
    /// The credentials of which commands see placeholders; the proxy puts the values in.
    pub credentials: Vec<MaskedSettings>,
    /// The memory of a command and all that it starts, in bytes.
    pub memory_bytes: Option<u64>,
    /// The processes and threads of a command and all that it starts.
    pub processes: Option<u64>,
    /// The file of the folder, if one of these two limits is from there.
    pub limits_from: Option<PathBuf>,
    /// Files and directories, absolute, that can be read besides the system and the toolchains.
    pub read: Vec<PathBuf>,
    /// Files and directories, absolute, that can be written besides the workspace.
    pub write: Vec<PathBuf>,
}

impl SandboxSettings {
    /// The network of commands in this mode: by default that of this machine with `everyday`, otherwise none.
    pub fn network_in(&self, mode: SandboxMode) -> SandboxNetwork {
        let is_everyday = [mode, self.mode].contains(&SandboxMode::Everyday);
        // A sandbox that somebody chose has no network unless they want one.
        self.network.unwrap_or(if is_everyday {
            SandboxNetwork::On
        } else {
            SandboxNetwork::Off
        })
    }
}

/// A credential of which commands see a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedSettings {
    /// The variable that commands see.
    pub variable: String,
    /// The hosts that may have the value.
    pub hosts: Vec<HostPattern>,
    /// The value.
    pub value: ApiKeySource,
}

/// The settings of all layers.
pub(crate) fn settings(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> SandboxSettings {
    let text = |key: &str| get.text(key);
    let mode = text("sandbox.mode").and_then(|word| SandboxMode::parse(&word));
    let origin = get.merged.origin(&SettingPath::dotted("sandbox.mode"));
    let is_of_folder = matches!(origin, Some(SettingOrigin::Workspace(_)));
    SandboxSettings {
        mode: mode.unwrap_or_default(),
        unasked: match mode {
            Some(mode) if !is_of_folder => mode,
            mode => with_everyday(mode.unwrap_or_default()),
        },
        best_effort: text("sandbox.best_effort").as_deref() == Some("true"),
        network: text("sandbox.network").and_then(|word| SandboxNetwork::parse(&word)),
        hosts: hosts(get, &SettingPath::dotted("sandbox.hosts"), mistakes),
        credentials: credentials(get, lookup, mistakes),
        memory_bytes: limit(get, mistakes, "sandbox.memory", LEAST_MEBIBYTES)
            .map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        processes: limit(get, mistakes, "sandbox.processes", LEAST_PROCESSES),
        limits_from: file_of_folder(get, &["sandbox.memory", "sandbox.processes"]),
        read: paths(get, "sandbox.read"),
        write: paths(get, "sandbox.write"),
    }
}

/// Returns the file of the folder from which one of these settings is.
fn file_of_folder(get: &SettingsGetter<'_>, keys: &[&str]) -> Option<PathBuf> {
    keys.iter()
        .find_map(|key| match get.merged.origin(&SettingPath::dotted(key)) {
            Some(SettingOrigin::Workspace(place)) => Some(place.file.to_path_buf()),
            _ => None,
        })
}

/// Returns a mode that is at least as strict as this one and as `everyday`. `everyday` and `landlock` cannot
/// be compared; `auto` takes the stronger one that works.
fn with_everyday(mode: SandboxMode) -> SandboxMode {
    match mode {
        SandboxMode::None | SandboxMode::Everyday | SandboxMode::Step(SandboxStep::None) => {
            SandboxMode::Everyday
        }
        SandboxMode::Step(SandboxStep::Landlock) | SandboxMode::Auto => SandboxMode::Auto,
        SandboxMode::Step(SandboxStep::Namespace) => mode,
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

/// Reads a list of hosts. An entry that names no host is a mistake.
fn hosts(
    get: &SettingsGetter<'_>,
    path: &SettingPath,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<HostPattern> {
    let mut hosts = Vec::new();
    for name in get.names(path).unwrap_or_default() {
        match HostPattern::parse(&name) {
            Some(pattern) => hosts.push(pattern),
            None => {
                let what = format!(
                    "{path}: {name:?} names no host; write crates.io, *.crates.io, localhost:8080 or 10.0.0.1"
                );
                if let Some(origin) = get.merged.origin(path) {
                    mistakes.push(mistake(origin, &path.to_string(), what, None));
                }
            }
        }
    }
    hosts
}

/// Variables that programs need as they are.
const NEEDED_VARIABLES: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "USER",
];

/// Reads the credentials. One that names no variable or no host is a mistake.
fn credentials(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<MaskedSettings> {
    let all = SettingPath::dotted("sandbox.credentials");
    let mut credentials = Vec::new();
    for variable in get.merged.names_under(&all) {
        let path = all.child(&variable);
        let earlier = mistakes.len();
        let hosts = hosts(get, &path.child("hosts"), mistakes);
        let wrong = if !is_variable(&variable) || NEEDED_VARIABLES.contains(&variable.as_str()) {
            Some("it has to be the name of a variable with a secret, such as GITHUB_TOKEN")
        } else if hosts.is_empty() && mistakes.len() == earlier {
            Some("it needs `hosts` that may have its value, such as `[api.github.com]`")
        } else {
            None
        };
        if let Some(what) = wrong {
            let set = [path.child("hosts"), path.child("value")];
            if let Some(origin) = set.iter().find_map(|set| get.merged.origin(set)) {
                mistakes.push(mistake(
                    origin,
                    &path.to_string(),
                    format!("{path}: {what}"),
                    None,
                ));
            }
            continue;
        }
        let value = match get.key_at(&path.child("value"), lookup) {
            ApiKeySource::None => ApiKeySource::Env {
                value: lookup(&variable)
                    .filter(|value| !value.trim().is_empty())
                    .map(Secret::new),
                name: variable.clone(),
            },
            given => given,
        };
        credentials.push(MaskedSettings {
            variable,
            hosts,
            value,
        });
    }
    credentials
}

fn paths(get: &SettingsGetter<'_>, key: &str) -> Vec<PathBuf> {
    get.paths_at(&SettingPath::dotted(key))
}
