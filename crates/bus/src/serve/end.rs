//! The ends of requests, and the reasons for refusals. Tickets, claims and the dispatcher itself use both.

/// The reason why a request was refused. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No responder serves it.
    #[error("nobody serves {topic} `{key}`")]
    Nobody {
        /// The topic.
        topic: String,
        /// The key.
        key: String,
    },
    /// The queue of its responder is full.
    #[error("`{responder}` is busy: {waiting} requests are already waiting")]
    Busy {
        /// The responder's name.
        responder: String,
        /// The number of waiting requests.
        waiting: usize,
    },
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// The responder has emitted the complete outcome.
    Settled,
    /// A responder had it and is gone, or dropped it: whether it was done is not known.
    Lost,
    /// Cancelled before any responder had it: nothing was done.
    Cancelled,
    /// The responder left before it had the request, and no other responder serves it: nothing was done.
    Unserved,
}
