//! The names of hidden sessions that hold the shared events of a fork: `ANCESTOR@FORK`.

/// The separator between the names of an ancestor and of its fork.
pub(crate) const OF: char = '@';

/// The id of the session of a chain, from a name in the table of sessions.
pub(crate) fn chain_name(id: &str) -> &str {
    id.split(OF).next().unwrap_or(id)
}
