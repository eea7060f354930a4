//! From settings to the sandbox of commands.
//!
//! Each setting and the part of the profile that it becomes:
//!
//! | setting | part |
//! | --- | --- |
//! | `sandbox.mode` | the step, or the choice of one |
//! | `sandbox.network`, `sandbox.hosts` | the network of commands, and the hosts behind a proxy |
//! | `sandbox.credentials` | variables of which commands see placeholders ([`masked_credentials`]) |
//! | `sandbox.memory`, `sandbox.processes` | what a command and all that it starts may use |
//! | `sandbox.read`, `sandbox.write` | what is let in besides the workspace, the system and the toolchains |
//! | `sandbox.best_effort` | whether commands run although a step does not work |
//! | `data_dir`, the folder of the person's configuration | never reached, wherever they lie |
//! | the files of a trusted folder that its settings run outside of a sandbox | not changed by commands |
//!
//! The home directory, `CARGO_HOME`, `RUSTUP_HOME` and `PATH` of this process locate the toolchains, and
//! variables such as `GOPATH` and `PIP_CACHE_DIR` their caches.

use std::path::PathBuf;

use agentx_config::{FolderTrust, Settings};
use agentx_sandbox::{SandboxLauncher, SandboxMode, SandboxProfile, caches_in_variables};
use agentx_tools::{MaskedCredential, MaskedCredentials, ProgramEnvironment};

/// Returns what starts commands in a sandbox, in the step that `mode` names instead of the settings. The
/// helper is this program, whose `main` has to begin with `act_as_helper`.
///
/// The settings have two modes:
///
/// | mode | commands |
/// | --- | --- |
/// | `settings.sandbox.mode` | those that a person or a rule with a pattern let run |
/// | `settings.sandbox.unasked` | those about which nobody is asked |
///
/// Nobody is asked in the mode `auto`, about calls that a judge allows, about calls that a rule without a
/// pattern allows (`allow bash`), and about commands that only read the workspace.
///
/// A sandbox that does not work on this machine is found out when a command starts: the launcher then refuses
/// the command, or starts it with less if the mode or `sandbox.best_effort` allows that.
pub fn command_sandbox(settings: &Settings, mode: SandboxMode) -> SandboxLauncher {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sandbox = &settings.sandbox;
    let profile = SandboxProfile {
        home: std::env::home_dir(),
        cargo_home: variable("CARGO_HOME"),
        rustup_home: variable("RUSTUP_HOME"),
        program_directories: std::env::split_paths(&path).collect(),
        caches: caches_in_variables(variable),
        read: sandbox.read.clone(),
        write: sandbox.write.clone(),
        hidden: vec![
            settings.data_dir.clone(),
            settings.trust_dir.clone(),
            settings.configuration().to_owned(),
        ],
        programs: programs_of_folder(settings),
        network: sandbox.network_in(mode),
        hosts: sandbox.hosts.clone(),
        memory_bytes: sandbox.memory_bytes,
        tasks: sandbox.processes,
        best_effort: sandbox.best_effort,
    };
    SandboxLauncher::of_this_program(mode, profile)
}

/// Returns the files that a trusted folder's servers, status command and the like run by the hash that the
/// person accepted.
fn programs_of_folder(settings: &Settings) -> Vec<PathBuf> {
    if settings.folder.trust != FolderTrust::Trusted {
        return Vec::new();
    }
    let root = &settings.workspace_root;
    let root = root.canonicalize().unwrap_or_else(|_| root.clone());
    settings
        .named_files
        .iter()
        .map(|file| root.join(&file.path))
        .collect()
}

/// Returns the credentials of which commands see placeholders: those that have a value, and whose variable
/// `environment` keeps from commands.
///
/// One whose variable commands would get anyway is left out, with a warning in the log, because the command
/// could then read what the placeholder hides. The same happens if the system has no random numbers.
pub fn masked_credentials(settings: &Settings, environment: &ProgramEnvironment) -> MaskedCredentials {
    let mut masked = Vec::new();
    for credential in &settings.sandbox.credentials {
        let (variable, hosts) = (&credential.variable, &credential.hosts);
        let Some(value) = credential.value.value().map(|value| value.expose().trim()) else {
            continue;
        };
        if !environment.withholds(variable, value) {
            tracing::warn!(variable, "this variable cannot be masked");
            continue;
        }
        match MaskedCredential::new(variable, value, hosts.clone()) {
            Ok(credential) => masked.push(credential),
            Err(error) => tracing::warn!(variable, %error, "this variable cannot be masked"),
        }
    }
    MaskedCredentials::new(masked)
}
