//! `agentx diff`: compares two branches of a session.

use agentx::history::branches_of;

use crate::args::DiffArgs;
use crate::branches::{only, relatives_of};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::branches;

/// Compares them.
pub(crate) async fn run(
    place: &CommandTarget,
    args: &DiffArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let id = runtime.resolve(&args.id).await?;
    let other = match &args.other {
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
