//! Notes about a session on this machine before its run begins: what the person would learn too late from its
//! first command.

use std::path::Path;

use agentx::config::Settings;
use agentx::node::command_sandbox;
use agentx::runtime::Session;
use agentx::sandbox::SandboxMode;
use agentx::types::{AgentConfig, ApprovalMode, ToolSpec};

use crate::demo::note_of_demo;
use crate::place::Place;
use crate::render::unheld_commands::unheld_note;
use crate::terminal::console::Console;

/// Prints that a demo answers, and that commands about which nobody is asked run without a sandbox, if these
/// are so. Another machine is not looked at.
pub async fn say_of_this_machine(
    place: &Place,
    settings: &Settings,
    session: &dyn Session,
    console: &mut Console,
) {
    if place.remote().is_some() {
        return;
    }
    let Ok(state) = session.state().await else {
        return;
    };
    if let Some(note) = note_of_demo(settings, &state.config.model) {
        console.say(&console.err_style().dim(note));
    }
    say_if_unheld(place, settings, &state.config, console);
}

/// Prints that commands about which nobody is asked run without a sandbox, if this agent has some and they
/// do. Returns whether it did.
pub(crate) fn say_if_unheld(
    place: &Place,
    settings: &Settings,
    agent: &AgentConfig,
    console: &mut Console,
) -> bool {
    let why = place.remote().is_none().then(|| why_unheld(settings, agent));
    let Some(why) = why.flatten() else {
        return false;
    };
    say_of_unheld(&unheld_note(&why), console);
    true
}

/// Prints, once, that commands run without a sandbox. This is no progress, so `--quiet` does not hide it.
pub(super) fn say_of_unheld(note: &str, console: &mut Console) {
    let line = console.err_style().warn(&format!("· {note}"));
    console.say_once(&format!("{line}\n"));
}

/// Returns why nothing holds the commands of an agent about which nobody is asked, although the settings ask
/// for a sandbox. Starts the helper once.
fn why_unheld(settings: &Settings, agent: &AgentConfig) -> Option<String> {
    let mode = settings.sandbox.unasked;
    // A new agent gets its tools with its session.
    let is_for_commands = |tool: &ToolSpec| tool.command_argument.is_some();
    let may_run = agent.tools.is_empty() || agent.tools.iter().any(is_for_commands);
    if agent.approval != ApprovalMode::Auto || mode == SandboxMode::None || !may_run {
        return None;
    }
    command_sandbox(settings, mode).why_not_held(Path::new(&agent.workspace))
}
