//! `agentx diff`: compares two branches of a session.

use agentx::config::Settings;
use agentx::history::branches_of;

use crate::args::DiffArgs;
use crate::branches::{only, relatives_of};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::branches;
use crate::session_opening::{Target, find_existing};

/// Compares them.
pub(crate) async fn run(
    place: &CommandTarget,
    settings: &Settings,
    args: &DiffArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let (target, other) = match (&args.id, args.last) {
        (Some(id), false) => (Target::Id(id.clone()), &args.other),
        (other, _) => (Target::Last, other),
    };
    let id = find_existing(place, settings, &target).await?;
    let other = match other {
        Some(other) => runtime.resolve(other).await?,
        None => only(&id, relatives_of(runtime, &id).await?)?,
    };
    let found = branches_of(runtime, &other, &id).await?;
    if as_json {
        console.out_pretty(&branches::json(&found))?;
    } else {
        console.out(&branches::render(
            &found,
            console.out_style(),
            console.terminal.width,
        ))?;
    }
    Ok(Exit::Ok)
}
