//! The parts of a request that handlers use: the caller and the session, the body, the query, positions in
//! lists and streams.

pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod event_id;
pub(crate) mod extract;
pub(crate) mod query;
pub(crate) mod signed_in;
