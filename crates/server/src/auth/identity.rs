//! The identity of a caller, as a signature or a token shows it.

use agentx_identity::{McpTokenOwner, PublicKey, TrustedAs};
use agentx_types::{OwnerId, Seat, VISITORS};

use crate::auth::caller::Caller;

/// The identity of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id of the person.
    pub person: OwnerId,
    /// Their name, if the server has one.
    pub name: Option<String>,
    /// Whether they may do what the operator may.
    pub operator: bool,
    /// Whether they decide about calls of members, as the operator does.
    pub approver: bool,
    /// Whether they have not authenticated.
    pub visitor: bool,
    /// The key that identifies them.
    pub(super) key: Option<PublicKey>,
    /// The number of the change of the trusted people since which they are known; see `KnownPeople::person`.
    pub(super) since: u64,
    /// The grant of their role, as in `KnownPerson`.
    pub(super) grant: Option<String>,
    /// The id of the token of their page, if they came with one: what it opened ends with it.
    pub(super) page_token: Option<String>,
}

impl Identity {
    /// Returns the identity of a caller who has not authenticated.
    pub fn visitor() -> Self {
        Self {
            key: None,
            since: 0,
            grant: None,
            page_token: None,
            person: OwnerId::new(VISITORS),
            name: None,
            operator: false,
            approver: false,
            visitor: true,
        }
    }

    /// Returns the name of their queue and counter: their own id, or for a visitor that of the address.
    pub(super) fn line(&self, address: &str) -> OwnerId {
        if self.visitor {
            OwnerId::new(format!("visitors at {address}"))
        } else {
            self.person.clone()
        }
    }

    /// Returns the id of the token of their page, if they came with one.
    pub(crate) fn page_login(&self) -> Option<&str> {
        self.page_token.as_deref()
    }

    /// Returns them as the owner of a token for `/mcp`; `None` for a visitor.
    pub(super) fn token_owner(&self) -> Option<McpTokenOwner> {
        let role = match (self.operator, self.approver) {
            (true, _) => TrustedAs::Operator,
            (false, true) => TrustedAs::Approver,
            (false, false) => TrustedAs::Member,
        };
        Some(McpTokenOwner {
            key: self.key?,
            role,
            grant: self.grant.clone(),
        })
    }

    /// Returns them as a caller with one of their programs, at `address`.
    pub fn at(&self, client: &str, address: &str) -> Caller {
        Caller {
            line: self.line(address),
            person: self.person.clone(),
            name: self.name.clone(),
            operator: self.operator,
            approver: self.approver,
            visitor: self.visitor,
            seat: Seat {
                person: self.person.clone(),
                client: client.to_owned(),
            },
        }
    }
}
