//! `agentx replay`: derives a session again without a model and compares the result with the live session.

use agentx::config::Settings;

use crate::args::IdArgs;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::units;

/// Replays the session.
pub(crate) async fn run(
    place: &CommandTarget,
    settings: &Settings,
    args: &IdArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let id = args.find(place, settings).await?;
    let report = runtime.replay(&id).await?;
    if json {
        console.out_pretty(&report)?;
    } else if report.divergence.is_none() {
        console.out(&format!(
            "{}: {}, {}, the same to the byte\ndigest {}\n",
            report.session_id,
            units::counted(report.facts, "fact"),
            units::counted(report.derived, "derived event"),
            report.digest
        ))?;
    }
    if let Some((first, last)) = report.redacted {
        console.say(&format!(
            "note: events {first} to {last} were not compared: texts were taken out of some of them since\n"
        ));
    }
    match report.divergence {
        None => Ok(Exit::Ok),
        Some((first, last)) => Err(ChatError::Diverged {
            session: id.to_string(),
            first,
            last,
        }),
    }
}
