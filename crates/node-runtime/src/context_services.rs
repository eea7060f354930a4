//! The service of context that follows from the settings: it serves every module under its own name.

use std::sync::Arc;

use agentx_config::{SandboxSettings, Settings};
use agentx_runtime::{Clock, Effector, SessionLog};
use agentx_sandbox::{SandboxMode, SandboxNetwork};
use agentx_services::{ContextModule, ContextOptions, ContextService, PersonStore};
use agentx_types::OwnerId;

use crate::local_owner::LOCAL_OWNER;
use crate::node_parts::ContextServices;

/// Adds the service of the modules `persona`, `system`, `tools` and `moment`.
pub(crate) fn add_context_services(
    services: &mut ContextServices,
    settings: &Settings,
    program: &str,
    log: Arc<dyn SessionLog>,
    clock: Arc<dyn Clock>,
) {
    let options = ContextOptions {
        program: program.to_owned(),
        sandbox: sandbox_words(&settings.sandbox),
        files: settings.context.files.clone(),
        time_zone: settings.context.time_zone.clone(),
    };
    let people = PersonStore::new(&settings.data_dir);
    let owner = OwnerId::new(LOCAL_OWNER);
    let service: Arc<dyn Effector> = Arc::new(ContextService::new(log, clock, people, owner, options));
    for module in ContextModule::ALL {
        services.insert(module.name().to_owned(), service.clone());
    }
}

/// The sandbox of the commands of tools, in words.
fn sandbox_words(sandbox: &SandboxSettings) -> String {
    let words = mode_words(sandbox, sandbox.mode);
    if sandbox.unasked == sandbox.mode {
        return words;
    }
    let unasked = mode_words(sandbox, sandbox.unasked);
    format!("{words}. If nobody is asked about it, as in the approval mode `auto`: {unasked}")
}

/// The sandbox of this mode, in words.
fn mode_words(sandbox: &SandboxSettings, mode: SandboxMode) -> String {
    let words = match mode {
        SandboxMode::None => return "none; a command can do what the person can".to_owned(),
        SandboxMode::Everyday => "namespaces where they work, otherwise none",
        SandboxMode::Step(step) => step.as_str(),
        SandboxMode::Auto => "the strongest one that works here",
    };
    let network = match sandbox.network_in(mode) {
        SandboxNetwork::On => "with a network",
        SandboxNetwork::Off => "without a network",
        SandboxNetwork::Hosts => "with the hosts that the person named as its network",
        SandboxNetwork::Ask => "with the hosts that the person named or allows as its network",
    };
    let weaker = if sandbox.best_effort {
        ", or less where it does not work"
    } else {
        ""
    };
    format!("{words}, {network}{weaker}")
}
