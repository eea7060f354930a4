//! `agentx context`: the exact request that the model got at a point of a session, to the byte.

use agentx::runtime::Runtime;

use crate::args::ContextArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;

/// Prints the request.
pub(crate) async fn run(
    runtime: &dyn Runtime,
    args: &ContextArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let id = runtime.resolve(&args.id).await?;
    let view = runtime.context(&id, args.at).await?;
    if json {
        console.out_pretty(&view)?;
        return Ok(Exit::Ok);
    }
    console.say(&format!(
        "request of event {} for the API {}\n",
        view.seq,
        view.api.as_str()
    ));
    console.out(&view.body)?;
    if console.terminal.output && !view.body.ends_with('\n') {
        console.out("\n")?;
    }
    Ok(Exit::Ok)
}
