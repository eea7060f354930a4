//! Commands, carried out for a caller.

use agentx_types::wire::Person;
use axum::http::Method;
use serde_json::{Value, json};

use super::caller::NexusCaller;
use super::conversation::Conversations;
use super::refusal::ApiRefusal;
use crate::frames::commands::{
    NexusCommandLine, NexusCommandPlace, NexusResult, definitions_document, place_of,
};

/// The words about the deletion of an identity, which NEXUS has.
const NO_DELETION: &str = "an identity here is a key and the trust of the operator, who ends it with \
    `agentx identity untrust`; your sessions stay yours until you delete them";

/// Returns the definitions of the commands that the caller may give.
pub(crate) async fn definitions(caller: &NexusCaller) -> Result<Value, ApiRefusal> {
    let own = caller.ask(Method::GET, "/v1/commands", None).await?;
    Ok(definitions_document(&own))
}

/// Carries out a command. A refusal is an outcome, as in NEXUS.
pub(crate) async fn run(
    caller: &NexusCaller,
    conversations: &Conversations,
    person: &Person,
    line: &NexusCommandLine,
) -> NexusResult {
    let outcome = match place_of(&line.name) {
        NexusCommandPlace::Here => run_here(caller, line).await,
        NexusCommandPlace::Client => Ok(NexusResult::error(format!(
            "/{} is a command of your own program",
            line.name
        ))),
        NexusCommandPlace::Request(path) => Ok(NexusResult::error(format!(
            "/{} is read and changed at {path}",
            line.name
        ))),
        NexusCommandPlace::Session => in_session(caller, conversations, person, line).await,
    };
    outcome.unwrap_or_else(|refused| NexusResult::error(refused.detail))
}

/// Carries out a command of this module. Each asks the API who the caller is, which also counts the request.
async fn run_here(caller: &NexusCaller, line: &NexusCommandLine) -> Result<NexusResult, ApiRefusal> {
    let person = caller.person().await?;
    Ok(match line.name.as_str() {
        "ping" => NexusResult::success("pong", json!({})),
        "identity" if line.words == "delete" => NexusResult::error(NO_DELETION),
        "identity" => identity(&person),
        _ => NexusResult::success("the commands of this server", definitions(caller).await?),
    })
}

fn identity(person: &Person) -> NexusResult {
    if person.visitor {
        return NexusResult::error(ApiRefusal::of_visitor().detail);
    }
    let message = match &person.name {
        Some(name) => format!("you are {name} ({})", person.person),
        None => format!("you are {}", person.person),
    };
    let data = json!({
        "public_key": person.person, "name": person.name, "verified": true, "is_new": false,
    });
    NexusResult::success(message, data)
}

/// Carries out a command of a file or of a reactor in the conversation of the person.
async fn in_session(
    caller: &NexusCaller,
    conversations: &Conversations,
    person: &Person,
    line: &NexusCommandLine,
) -> Result<NexusResult, ApiRefusal> {
    let known = definitions(caller).await?;
    let is_known = known
        .as_array()
        .is_some_and(|all| all.iter().any(|command| command["name"] == line.name));
    if !is_known {
        let what = format!("unknown command: {}; /help lists those that there are", line.name);
        return Ok(NexusResult::error(what));
    }
    let session = conversations.open(caller, person).await?;
    let args = json!({"words": line.words});
    Ok(match caller.command(session, &line.name, args).await {
        Ok(data) => NexusResult::success("done", data),
        Err(what) => NexusResult::error(what),
    })
}
