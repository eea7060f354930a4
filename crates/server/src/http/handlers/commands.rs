//! The commands that a page or a program may offer.

use agentx_services::CommandDefinition;

use crate::actions::file_commands::all_definitions;
use crate::http::requests::extract::TokenOrVisitor;
use crate::http::responses::Tagged;
use crate::http::{ApiError, HandlerState};

pub(crate) async fn list(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
) -> Result<Tagged<Vec<CommandDefinition>>, ApiError> {
    Ok(Tagged(all_definitions(&app.state, &caller)))
}
