//! Whose the sessions and memories of a data directory are that one person uses.

/// The owner of sessions in a single-user data directory.
pub(crate) const LOCAL_OWNER: &str = "own_local";
