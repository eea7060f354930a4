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
    let view = match runtime.context(&id, args.at).await {
        Ok(view) => view,
        Err(error) => {
            // The last request says how far one may go back at all; a session without one has nothing to show.
            let last = runtime.context(&id, None).await.map(|view| view.seq);
            let hint = match last {
                Ok(seq) => {
                    format!("its last request is that of event {seq}; without --at, that one is shown")
                }
                Err(_) => "its model was never asked".into(),
            };
            return Err(CliError::about_event(error, args.at, &hint));
        }
    };
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
