//! `agentx models`: lists models and what some lack, shows one, and reads newer figures from a list.

use agentx::config::Loaded;

use super::{only_here, with_runtime};
use crate::args::{Global, ModelsCommand};

use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::model_facts;
use crate::models::{render, usual, with_own_servers};
use crate::refreshed_models::{ModelRefreshRequest, refresh};
use crate::start::SettingsRead::All;

/// Does what was asked for; lists the models by default.
pub(crate) fn run(
    command: Option<ModelsCommand>,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    with_runtime(All, global, console, async |place, loaded, console| {
        let json = global.json;
        match command.unwrap_or(ModelsCommand::List) {
            ModelsCommand::List => list(place, loaded, json, console).await,
            ModelsCommand::Show { name } => model_facts::show(loaded, &name, json, console),
            ModelsCommand::Refresh(args) => {
                only_here("models refresh", global)?;
                let wish = ModelRefreshRequest {
                    from: args.from,
                    dry_run: args.dry_run,
                    forget: args.forget,
                    json,
                };
                refresh(loaded, &wish, console).await
            }
        }
    })
}

async fn list(
    place: &CommandTarget,
    loaded: &Loaded,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let mut models = place.runtime().models();
    let mut settings = loaded.settings.clone();
    if place.remote().is_none() {
        let notes = with_own_servers(&mut settings, &mut models).await;
        console.say(&notes);
    }
    if json {
        console.out_pretty(&models)?;
        return Ok(Exit::Ok);
    }
    let chosen = match place.default_agent().await? {
        Some(agent) => agent.model.reference(),
        None => usual(&settings),
    };
    console.out(&render(&models, &settings, &chosen, console.out_width()))?;
    Ok(Exit::Ok)
}
