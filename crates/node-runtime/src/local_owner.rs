//! The owner of the sessions and memories in a data directory that one person uses.

/// The owner of sessions in a single-user data directory.
pub(crate) const LOCAL_OWNER: &str = "own_local";
