//! What handlers take from a request: the caller and the session, the body, the query, places in lists and streams.

pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod event_id;
pub(crate) mod extract;
pub(crate) mod query;
