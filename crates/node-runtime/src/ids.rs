//! Mints ids of sessions and agents: short, random, easy to read aloud.
//!
//! An id consists of a prefix for its kind (`ses_`, `agt_`) and 12 letters of 5 bits. It is not a secret and
//! proves nothing: owner and roles decide who may see a session.

use agentx_types::{AgentStateId, SessionId, id_letters};

/// A new session's id.
///
/// # Errors
/// Returns an error if the system has no randomness to give.
pub(crate) fn session() -> Result<SessionId, String> {
    suffix().map(SessionId::with_suffix)
}

/// A new agent's id.
///
/// # Errors
/// Returns an error if the system has no randomness to give.
pub(crate) fn agent() -> Result<AgentStateId, String> {
    suffix().map(AgentStateId::with_suffix)
}

fn suffix() -> Result<String, String> {
    let mut bytes = [0u8; 12];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(id_letters(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_short_and_differ() {
        let (a, b) = (super::session().unwrap(), super::session().unwrap());
        assert!(a.is_minted() && b.is_minted());
        assert_ne!(a, b);
    }
}
