//! Mints ids of sessions and agents: short, random, easy to read aloud.
//!
//! An id is a prefix that says its kind (`ses_`, `agt_`) and 12 letters of 5 bits. It is not a secret and
//! proves nothing: owner and roles decide who may see a session.

use agentx_types::{AgentStateId, SessionId};

/// Letters and digits that cannot be taken for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 60 bits: among a million sessions, two ids are equal with a probability of one in two million.
const LENGTH: usize = 12;

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
    let mut bytes = [0u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
        .collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_short_and_differ() {
        let (a, b) = (super::session().unwrap(), super::session().unwrap());
        assert_eq!(a.as_str().len(), "ses_".len() + super::LENGTH);
        assert_ne!(a, b);
    }
}
