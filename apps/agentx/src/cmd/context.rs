//! `agentx context`: the exact request that the model got at a point of a session, to the byte.

use agentx::config::Settings;
use agentx::runtime::ContextView;

use crate::args::ContextArgs;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::{clean, visible};
use crate::render::window;

/// Prints the request.
pub(crate) async fn run(
    place: &CommandTarget,
    settings: &Settings,
    args: &ContextArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let id = args.session.find(place, settings).await?;
    let view = match runtime.context(&id, args.at).await {
        Ok(view) => view,
        Err(error) => {
            // Check the last request first: a session without any has nothing to show.
            let last = runtime.context(&id, None).await.map(|view| view.seq);
            let hint = match last {
                Ok(seq) => {
                    format!("its last request is at event {seq}; without --at, that one is shown")
                }
                Err(_) => "its model was never called".into(),
            };
            return Err(ChatError::about_event(error, args.at, &hint));
        }
    };
    if let Some(number) = args.summary {
        return summary(&view, number, json, console);
    }
    if json {
        console.out_pretty(&view)?;
        return Ok(Exit::Ok);
    }
    if args.parts {
        return parts(&view, &runtime.info(&id).await?.model, console);
    }
    console.say(&format!(
        "request of event {} for the API {}\n",
        view.seq,
        view.api.as_str()
    ));
    for (number, condensed) in (1..).zip(&view.condensed) {
        console.say(&format!("{}\n", window::condensed(number, condensed, "")));
    }
    console.out_exact(&view.body)?;
    if console.terminal.output && !view.body.ends_with('\n') {
        console.out("\n")?;
    }
    Ok(Exit::Ok)
}

fn parts(view: &ContextView, model: &str, console: &mut Console) -> Result<Exit, ChatError> {
    let Some(fill) = &view.fill else {
        return Err(ChatError::usage(
            "the server is too old to report how the context window is used",
            "run it without --parts to print the whole request",
        ));
    };
    console.say(&format!("after event {}\n", fill.seq));
    console.out(&window::render(fill, &visible(model), console.out_width()))?;
    for (number, condensed) in (1..).zip(&view.condensed) {
        console.say(&format!("{}\n", window::condensed(number, condensed, "")));
    }
    Ok(Exit::Ok)
}

fn summary(view: &ContextView, number: usize, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    let Some(condensed) = number.checked_sub(1).and_then(|at| view.condensed.get(at)) else {
        let hint = match view.condensed.len() {
            0 => "the request of that event has no condensed part".to_owned(),
            many => format!("there are 1 to {many}"),
        };
        return Err(ChatError::usage(format!("there is no summary {number}"), hint));
    };
    if json {
        console.out_pretty(condensed)?;
        return Ok(Exit::Ok);
    }
    console.say(&format!("{}\n", window::condensed(number, condensed, "")));
    console.out(&clean(&condensed.summary))?;
    if !condensed.summary.ends_with('\n') {
        console.out("\n")?;
    }
    Ok(Exit::Ok)
}
