//! `agentx models`: the models that can be asked, and what is missing for the others.

use agentx::config::Loaded;

use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::models::{render, with_own_servers};

/// Lists the models.
pub(crate) async fn run(
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
        Some(agent) => agent.model.id,
        None => settings.model_or_default().value,
    };
    console.out(&render(&models, &settings, &chosen, console.out_width()))?;
    Ok(Exit::Ok)
}
