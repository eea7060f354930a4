//! Checks what a schedule names before it is kept. Nobody may see the run that fails when it is due.

use agentx::config::{SettingOrigin, Settings, Sourced};
use agentx::node::redactor;
use agentx_schedule::Schedule;

use crate::attach::attached_by_run;
use crate::chat::slash::prompt_commands::prompt_of_run;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::session_opening::{CommandLineOverrides, new_agent};
use crate::terminal::console::Console;

/// Checks the prompt, the agent and the model of a schedule as its run would. A missing key is only a note,
/// because the program that runs the schedule may have it.
///
/// # Errors
/// Returns an error if the prompt contains a known secret, or names a command or a file that does not exist,
/// or if the agent or the model does not exist.
pub(super) async fn check_names(
    schedule: &Schedule,
    place: &Place,
    settings: &Settings,
    console: &mut Console,
) -> Result<(), ChatError> {
    check_secrets(&schedule.prompt, settings)?;
    let prompt = prompt_of_run(&schedule.prompt, settings)?;
    let mut notes = prompt.notes;
    if prompt.attaches_files {
        attached_by_run(&prompt.text, settings)?;
    }
    let mut settings = settings.clone();
    if let Some(model) = &schedule.model {
        settings.model = Some(Sourced::new(model.clone(), SettingOrigin::Flag("--model".into())));
    }
    let named = CommandLineOverrides {
        agent: schedule.agent.clone(),
        model: schedule.model.is_some(),
        ..CommandLineOverrides::default()
    };
    if named != CommandLineOverrides::default() {
        match new_agent(place, &settings, &named).await {
            Err(error) if error.exit() == Exit::Credentials => {
                notes.push(format!("{error}; the program that runs the schedule needs it"));
            }
            made => {
                made?;
            }
        }
    }
    for note in notes {
        console.say(&console.err_style().dim(&format!("note: {note}\n")));
    }
    Ok(())
}

/// Refuses a prompt with a secret, because the file of schedules would keep it as it is.
fn check_secrets(prompt: &str, settings: &Settings) -> Result<(), ChatError> {
    let found = redactor(settings).map(|redactor| redactor.find(prompt));
    let Some(place) = found.as_deref().and_then(<[_]>::first) else {
        return Ok(());
    };
    Err(ChatError::usage(
        format!(
            "the prompt contains a secret ({}), and a schedule is kept in a file as it is written",
            place.name
        ),
        "leave it out of the prompt; a command of the agent can read it from a variable or a file",
    ))
}
