//! Notes about a session on this machine before its run begins: what the person would learn too late from its
//! first command.

use std::path::Path;

use agentx::config::Settings;
use agentx::node::command_sandbox;
use agentx::runtime::Session;
use agentx::sandbox::SandboxMode;
use agentx::types::{AgentConfig, ApprovalMode};

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
    if let Some(why) = why_unheld(settings, &state.config) {
        say_of_unheld(&unheld_note(&why), console);
    }
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
    let has_commands = agent.tools.iter().any(|tool| tool.command_argument.is_some());
    if agent.approval != ApprovalMode::Auto || mode == SandboxMode::None || !has_commands {
        return None;
    }
    command_sandbox(settings, mode).why_not_held(Path::new(&agent.workspace))
}
