//! The place of a caller who follows a session, which `ServerState::follow` gives out.

use agentx_types::SessionRole;

use crate::feed::FeedReader;
use crate::rooms::Membership;

/// A reader of a session, who is present in its room until this is dropped.
pub struct SessionReaderSeat {
    /// The reader of its events.
    pub reader: FeedReader,
    /// The presence in the room.
    pub membership: Membership,
    /// The role in the session.
    pub role: SessionRole,
}
