//! `agentx fork`: a copy of a session, to try another way. Standard output gets its id.

use agentx::config::Settings;
use serde_json::json;

use crate::args::ForkArgs;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::conversation;

/// Forks the session.
pub(crate) async fn run(
    place: &CommandTarget,
    settings: &Settings,
    args: &ForkArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let parent = args.session.find(place, settings).await?;
    let hint = "use --at with an event of this session, or leave it out to copy all of it";
    let fork = runtime
        .fork(&parent, args.at)
        .await
        .map_err(|error| ChatError::about_event(error, args.at, hint))?;
    let left = runtime.left_running(&parent).await?;
    if json {
        console.out_pretty(
            &json!({ "session_id": fork, "parent": parent, "at_seq": args.at, "left_running": left }),
        )?;
        return Ok(Exit::Ok);
    }
    console.out(&format!("{fork}\n"))?;
    let command = place.command(&format!("resume {fork}"));
    console.say(&conversation::continue_hint(&command, console.terminal.width));
    let opens = place.command(&format!("resume {parent}"));
    if let Some(note) = conversation::still_runs(&left, &opens) {
        console.say(&note);
    }
    Ok(Exit::Ok)
}
