//! The caller of a request: the person, what they may do at this server, and their program.

use agentx_types::{OwnerId, Seat};

/// The sender of a request or the holder of a connection, with their program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The person.
    pub person: OwnerId,
    /// Their name, if the server has one.
    pub name: Option<String>,
    /// Whether they have the operator's permissions.
    pub operator: bool,
    /// Whether they decide about calls of members, as the operator does.
    pub approver: bool,
    /// Whether they have not authenticated.
    pub visitor: bool,
    /// The queue in which they wait for permits: their own, or for a visitor that of their address.
    pub line: OwnerId,
    /// The seat: this person with this program.
    pub seat: Seat,
}
