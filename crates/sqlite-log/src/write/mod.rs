//! Everything that changes a session in the database: one thread at a time adds batches, makes and forks
//! sessions, and adopts the rows of other logs.

pub(crate) mod adopt;
mod append;
mod checked_rows;
mod copied_fork;
mod open_session;
mod pack;
pub(crate) mod redact;
mod rewritten;
pub(crate) mod sessions;
pub(crate) mod writer;
