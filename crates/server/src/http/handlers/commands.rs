//! The commands that a page or a program may offer.

use agentx_services::{CommandDefinition, definitions};

use crate::actions::file_commands::definitions_of_files;
use crate::http::requests::extract::TokenOrVisitor;
use crate::http::responses::Tagged;
use crate::http::{ApiError, HandlerState};

pub(crate) async fn list(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
) -> Result<Tagged<Vec<CommandDefinition>>, ApiError> {
    let mut commands = definitions();
    commands.extend(definitions_of_files(&app.state, &caller));
    Ok(Tagged(commands))
}
