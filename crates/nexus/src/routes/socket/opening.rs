//! The identity of a client that opens a WebSocket.

use agentx_server::CountedConnection;
use agentx_types::wire::Person;

use crate::gateway::caller::NexusCaller;
use crate::gateway::refusal::ApiRefusal;
use crate::routes::paths::check_path;

/// A client before its first frame.
pub(super) struct NexusOpening {
    /// The name in the path.
    pub(super) path: String,
    /// The place after which the client wants events.
    pub(super) after: Option<String>,
    /// The person, if a token or the admission of visitors tells. Others prove a key on the socket.
    pub(super) person: Option<Person>,
    /// The place of the connection in the quota of its person.
    pub(super) counted: Option<CountedConnection>,
}

/// Returns who opens a WebSocket at this path, after this place.
///
/// # Errors
/// Returns an error if the token is not valid, the path names somebody else, or the client has too many
/// connections.
pub(super) async fn opening(
    caller: &NexusCaller,
    path: String,
    after: Option<String>,
) -> Result<NexusOpening, ApiRefusal> {
    let mut opening = NexusOpening {
        path,
        after,
        person: None,
        counted: None,
    };
    match caller.person().await {
        Ok(person) => {
            check_path(&opening.path, &person, None)?;
            opening.counted = Some(caller.count()?);
            opening.person = Some(person);
            Ok(opening)
        }
        // Who sends no token may prove a key on the socket.
        Err(refused) if refused.code == "unauthenticated" && !caller.has_token() => Ok(opening),
        Err(refused) => Err(refused),
    }
}
