//! The identity of a client that opens a WebSocket.

use agentx_server::CountedConnection;
use agentx_types::wire::Person;

use crate::gateway::caller::NexusCaller;
use crate::gateway::refusal::ApiRefusal;
use crate::routes::paths::check_path;

/// A client before its first frame.
pub(super) struct NexusOpening {
    /// The person, if a token or the admission of visitors tells. Others prove a key on the socket.
    pub(super) person: Option<Person>,
    /// The place of the connection in the quota of its person.
    pub(super) counted: Option<CountedConnection>,
}

/// Returns who opens a WebSocket at this path.
///
/// # Errors
/// Returns an error if the token is not valid, the path names somebody else, or the client has too many
/// connections.
pub(super) async fn opening(caller: &NexusCaller, path: &str) -> Result<NexusOpening, ApiRefusal> {
    let person = match caller.person().await {
        Ok(person) => person,
        Err(refused) if refused.code == "unauthenticated" && !caller.has_token() => {
            return Ok(NexusOpening {
                person: None,
                counted: None,
            });
        }
        Err(refused) => return Err(refused),
    };
    check_path(path, &person, None)?;
    Ok(NexusOpening {
        counted: Some(caller.count()?),
        person: Some(person),
    })
}
