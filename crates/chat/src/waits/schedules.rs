//! `agentx schedule`: prompts that are run at set times.

use agentx::config::Settings;
use agentx_schedule::{Schedule, ScheduleError, ScheduleStore, check_schedule, system_zone};
use serde_json::{Value, json};

use super::arguments::{ScheduleArguments, ScheduleCommand};
use super::schedule_checks::check_names;
use super::sessions::due;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// The columns of the list.
const HEADS: [&str; 6] = ["NAME", "TIMES", "NEXT", "AGENT", "LAST SESSION", "PROMPT"];
/// The number of characters of a prompt in the list.
const SHOWN_PROMPT: usize = 60;

/// Adds, lists or removes schedules of the data directory.
///
/// # Errors
/// Returns an error if the schedule cannot be used or does not exist, the file cannot be read or changed, or
/// the output cannot be written.
pub async fn run_schedules(
    command: Option<ScheduleCommand>,
    place: &Place,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let store = ScheduleStore::at(&settings.data_dir);
    match command.unwrap_or(ScheduleCommand::List) {
        ScheduleCommand::Add(arguments) => {
            let mut schedule = made(&arguments, settings);
            if arguments.name.is_none() {
                schedule.name = free_name(&schedule.name, &store.list().map_err(failed)?);
            }
            check_schedule(&schedule).map_err(failed)?;
            check_names(&schedule, place, settings, console).await?;
            store.add(schedule.clone()).map_err(failed)?;
            report(&schedule, "added", json, console)?;
            console.say("hint: `agentx waits run` or `agentx serve` runs what is due\n");
        }
        ScheduleCommand::List => list(&store.list().map_err(failed)?, json, console)?,
        ScheduleCommand::Remove { name } => {
            let removed = store.remove(&name).map_err(failed)?;
            report(&removed, "removed", json, console)?;
        }
    }
    Ok(Exit::Ok)
}

/// The schedule that the words describe.
fn made(arguments: &ScheduleArguments, settings: &Settings) -> Schedule {
    let name = arguments.name.as_ref().or(arguments.agent.as_ref());
    Schedule {
        name: name.cloned().unwrap_or_else(|| "schedule".to_owned()),
        pattern: arguments.pattern.clone(),
        zone: arguments.zone.clone().unwrap_or_else(system_zone),
        agent: arguments.agent.clone(),
        model: arguments.model.clone(),
        prompt: arguments.prompt.join(" "),
        workspace: settings.workspace.to_string_lossy().into_owned(),
        created_at: units::now(),
        last_due: None,
        ahead: None,
        begun: None,
        begun_session: None,
        last_session: None,
    }
}

/// Returns a name that no schedule has: this one, or one with a number behind it.
fn free_name(base: &str, known: &[Schedule]) -> String {
    let (mut name, mut number) = (base.to_owned(), 1);
    while known.iter().any(|schedule| schedule.name == name) {
        number += 1;
        name = format!("{base}-{number}");
    }
    name
}

fn report(schedule: &Schedule, what: &str, json: bool, console: &mut Console) -> Result<(), ChatError> {
    if json {
        return console.out_pretty(&object(schedule));
    }
    let (pattern, zone) = (visible(&schedule.pattern), visible(&schedule.zone));
    console.out(&format!(
        "{what} {}: {pattern} ({zone}), next {}\n",
        schedule.name,
        next(schedule)
    ))
}

fn list(schedules: &[Schedule], json: bool, console: &mut Console) -> Result<(), ChatError> {
    if json {
        let all: Vec<Value> = schedules.iter().map(object).collect();
        return console.out_pretty(&all);
    }
    if schedules.is_empty() {
        console
            .say("there are no schedules\nhint: `agentx schedule add \"0 8 * * 1-5\" \"PROMPT\"` adds one\n");
        return Ok(());
    }
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    rows.extend(schedules.iter().map(row));
    console.out(&table(&rows, console.out_width()))
}

fn row(schedule: &Schedule) -> Vec<String> {
    let prompt: String = schedule.prompt.chars().take(SHOWN_PROMPT).collect();
    let last = schedule.last_session.as_ref();
    vec![
        schedule.name.clone(),
        visible(&format!("{} {}", schedule.pattern, schedule.zone)),
        next(schedule),
        visible(schedule.agent.as_deref().unwrap_or("-")),
        last.map_or_else(|| "-".to_owned(), ToString::to_string),
        visible(&prompt),
    ]
}

/// Returns when the schedule is run next; the reason, if that is unknown.
fn next(schedule: &Schedule) -> String {
    match schedule.next_due() {
        Ok(Some(at)) => due(at, units::now()),
        Ok(None) => "never".to_owned(),
        Err(error) => visible(&error.to_string()),
    }
}

fn object(schedule: &Schedule) -> Value {
    let next = schedule.next_due().ok().flatten();
    json!({
        "name": schedule.name,
        "times": schedule.pattern,
        "zone": schedule.zone,
        "next_at": next.map(agentx::types::Timestamp::rfc3339),
        "agent": schedule.agent,
        "model": schedule.model,
        "prompt": schedule.prompt,
        "workspace": schedule.workspace,
        "is_running": schedule.begun.is_some(),
        "last_session": schedule.last_session,
    })
}

/// Returns the error of a schedule, with what to do.
pub(super) fn failed(error: ScheduleError) -> ChatError {
    let hint = match &error {
        ScheduleError::Pattern { .. } | ScheduleError::Never { .. } => {
            "five fields: minute, hour, day of the month, month, day of the week; \"0 8 * * 1-5\" is 8:00 from Monday to Friday"
        }
        ScheduleError::Zone { .. } => "name a zone as in Europe/Berlin or UTC",
        ScheduleError::Name { .. } => "choose another name with --name",
        ScheduleError::Prompt { .. } => "name a file in it to give it more: @notes.md",
        ScheduleError::Exists(_) => {
            "`agentx schedule remove NAME` removes it; --name gives the new one another name"
        }
        ScheduleError::NotFound(_) => "`agentx schedule list` lists them",
        ScheduleError::Full(_) => "`agentx schedule remove NAME` removes one",
        ScheduleError::FullInbox(_) => "`agentx waits run` runs what waits",
        ScheduleError::Busy { .. } => "try again",
        ScheduleError::File { path, what } => {
            return ChatError::File {
                path: path.clone(),
                what: what.clone(),
            };
        }
    };
    ChatError::usage(error.to_string(), hint)
}
