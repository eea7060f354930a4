//! Tasks from the reading half of a connection for the writing half: subscriptions that begin or end.

use agentx_types::SessionId;

use crate::feed::FeedReader;
use crate::rooms::Membership;

/// A task for the writing half, in order with the reading half's answers.
pub(super) enum WriterTask {
    /// A subscription begins.
    Attach(Box<ClientSubscription>),
    /// Ends a subscription.
    Detach(SessionId),
}

pub(super) struct ClientSubscription {
    pub(super) session: SessionId,
    pub(super) reader: FeedReader,
    pub(super) membership: Membership,
}
