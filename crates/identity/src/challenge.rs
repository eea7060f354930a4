//! What a server asks to have signed, and what its signature means: this key, for this server, now.

use serde::{Deserialize, Serialize};

use crate::{PublicKey, SecretKey, Signature};

/// What stands between the random part of a nonce and the key of its server. Neither of the two has it.
const BEFORE_KEY: char = '.';

/// What a server wants signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Random, once, and whose it is: see [`server_nonce`].
    pub nonce: String,
    /// What the server calls itself. Who signs it has made sure that it is the server that they mean.
    pub origin: String,
    /// Until when a signature counts: milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl Challenge {
    /// The server that asks for this, as far as it says so: the key that its nonce ends with. A signature over a nonce with this key counts
    /// at the server alone that made it, so whoever knows that server's key signs for no other.
    pub fn server(&self) -> Option<PublicKey> {
        let (_, letters) = self.nonce.rsplit_once(BEFORE_KEY)?;
        format!("ed25519:{letters}").parse().ok()
    }
}

/// The nonce of a server: something random, and the server's own key.
pub fn server_nonce(random: &str, server: &PublicKey) -> String {
    let key = server.to_string();
    let letters = key.rsplit(':').next().unwrap_or_default();
    format!("{random}{BEFORE_KEY}{letters}")
}

/// Why a signature does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    /// It came too late.
    #[error("the challenge has expired; ask for a new one")]
    Expired,
    /// It was made by another key, or over something else.
    #[error("the signature is not this key's over this challenge")]
    WrongSignature,
}

/// The very text that is signed.
///
/// No two challenges that a server makes share a text: one whose origin or nonce had a line break would only have more lines.
///
/// ```
/// let text = agentx_identity::challenge_text("https://agents.example", "bm9uY2U", 1_700_000_000_000);
/// assert_eq!(text, "agentx.v1 challenge\nhttps://agents.example\nbm9uY2U\n1700000000000\n");
/// ```
pub fn challenge_text(origin: &str, nonce: &str, expires_at_ms: u64) -> String {
    format!("agentx.v1 challenge\n{origin}\n{nonce}\n{expires_at_ms}\n")
}

/// Answers a challenge in one's own name.
pub fn sign_challenge(key: &SecretKey, challenge: &Challenge) -> Signature {
    key.sign(text(challenge).as_bytes())
}

/// Checks the answer of somebody who says that they have this key.
///
/// # Errors
/// Where it is too late, or the signature is not theirs over this challenge.
pub fn verify_challenge(
    key: &PublicKey,
    challenge: &Challenge,
    signature: &Signature,
    now_ms: u64,
) -> Result<(), ChallengeError> {
    if now_ms >= challenge.expires_at_ms {
        return Err(ChallengeError::Expired);
    }
    if key.verify(text(challenge).as_bytes(), signature) {
        Ok(())
    } else {
        Err(ChallengeError::WrongSignature)
    }
}

fn text(challenge: &Challenge) -> String {
    challenge_text(&challenge.origin, &challenge.nonce, challenge.expires_at_ms)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use super::*;

    fn challenge() -> Challenge {
        Challenge {
            nonce: "once".into(),
            origin: "http://127.0.0.1:7777".into(),
            expires_at_ms: 1_000,
        }
    }

    #[test]
    fn a_signature_counts_for_one_challenge_of_one_server_and_for_a_time() {
        let (me, other) = (
            SecretKey::from_seed(&[1; 32]).unwrap(),
            SecretKey::from_seed(&[2; 32]).unwrap(),
        );
        let signature = sign_challenge(&me, &challenge());
        let check = |key: &SecretKey, challenge: &Challenge, now| {
            verify_challenge(key.public_key(), challenge, &signature, now)
        };
        assert_eq!(check(&me, &challenge(), 999), Ok(()));
        assert_eq!(check(&me, &challenge(), 1_000), Err(ChallengeError::Expired));
        let wrong = Err(ChallengeError::WrongSignature);
        assert_eq!(check(&other, &challenge(), 0), wrong);
        let changes: [fn(&mut Challenge); 3] = [
            |challenge| challenge.nonce.push('x'),
            |challenge| challenge.origin = "http://127.0.0.1:7778".into(),
            |challenge| challenge.expires_at_ms += 1,
        ];
        for change in changes {
            let mut changed = challenge();
            change(&mut changed);
            assert_eq!(check(&me, &changed, 0), wrong, "{changed:?}");
        }
    }

    #[test]
    fn a_nonce_says_whose_it_is() {
        let server = *SecretKey::from_seed(&[3; 32]).unwrap().public_key();
        let mut asked = challenge();
        assert_eq!(asked.server(), None);
        asked.nonce = server_nonce("once", &server);
        assert_eq!(asked.server(), Some(server));
        asked.nonce.push('x');
        assert_eq!(asked.server(), None);
    }

    #[test]
    fn a_line_break_in_one_part_makes_no_other_challenge() {
        let nested = challenge_text("http://a\nonce\n5", "once", 5);
        assert_ne!(nested, challenge_text("http://a", "once", 5));
        assert_eq!(challenge_text("http://a", "once", 5).lines().count(), 4);
        assert_eq!(nested.lines().count(), 6);
    }
}
