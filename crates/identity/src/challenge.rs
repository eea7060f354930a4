//! The challenge of a server, and the proof of the server's key. A signature over a challenge means: this
//! key, for this server, now.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{PublicKey, SecretKey, Signature, token_text};

/// The separator between the random part of a nonce and the key of its server. Neither of the two contains
/// it.
const BEFORE_KEY: char = '.';

/// The challenge of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthChallenge {
    /// A random value for one use, with the server's key: see [`server_nonce`].
    pub nonce: String,
    /// The server's own name. The signer has checked that it is the intended server.
    pub origin: String,
    /// The end of the validity of a signature: milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl AuthChallenge {
    /// The server that sent this, according to itself: the key at the end of its nonce. A signature over a
    /// nonce with this key is valid only at the server with that key, so a client that knows the key signs
    /// for no other server.
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

/// The connection that a signature belongs to. A signature counts on no other one, so a relay that passes it
/// on gains nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// No binding: a connection without TLS, or one with a certificate, whose name is in the origin.
    None,
    /// Any TLS connection on which the server proved this key: for HTTP, where requests share connections.
    ServerKey(PublicKey),
    /// This TLS connection: keying material that both ends export, as RFC 9266 has it (`tls-exporter`).
    Exporter([u8; 32]),
}

impl Binding {
    /// The label of the keying material, without a context:
    /// <https://www.rfc-editor.org/rfc/rfc9266#section-2>.
    pub const EXPORTER_LABEL: &str = "EXPORTER-Channel-Binding";
}

impl fmt::Display for Binding {
    /// The line that is signed after those of the challenge; nothing for [`Binding::None`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::ServerKey(key) => writeln!(f, "tls-server-key {key}"),
            Self::Exporter(bytes) => writeln!(f, "tls-exporter {}", token_text(bytes)),
        }
    }
}

/// The reason why a signature does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    /// The challenge has expired.
    #[error("the challenge has expired; ask for a new one")]
    Expired,
    /// Another key made it, or it is over other data.
    #[error("the signature does not match this key and challenge")]
    WrongSignature,
}

/// The text that is signed.
///
/// No two challenges of a server share a text: a line break in an origin or nonce would only add lines.
///
/// ```
/// let text = agentx_identity::challenge_text("https://agents.example", "bm9uY2U", 1_700_000_000_000);
/// assert_eq!(text, "agentx.v1 challenge\nhttps://agents.example\nbm9uY2U\n1700000000000\n");
/// ```
pub fn challenge_text(origin: &str, nonce: &str, expires_at_ms: u64) -> String {
    format!("agentx.v1 challenge\n{origin}\n{nonce}\n{expires_at_ms}\n")
}

/// Signs a challenge with your identity, on a connection without a [`Binding`].
pub fn sign_challenge(key: &SecretKey, challenge: &AuthChallenge) -> Signature {
    sign_bound_challenge(key, challenge, &Binding::None)
}

/// Signs a challenge with your identity; the signature is valid only on this connection.
pub fn sign_bound_challenge(key: &SecretKey, challenge: &AuthChallenge, binding: &Binding) -> Signature {
    key.sign(bound_text(challenge, binding).as_bytes())
}

/// Checks the answer of a client that claims this key, on a connection without a [`Binding`].
///
/// # Errors
/// Returns an error if it is too late, or the signature is not theirs over this challenge.
pub fn verify_challenge(
    key: &PublicKey,
    challenge: &AuthChallenge,
    signature: &Signature,
    now_ms: u64,
) -> Result<(), ChallengeError> {
    verify_bound_challenge(key, (challenge, &Binding::None), signature, now_ms)
}

/// Checks the answer of a client that claims this key, on the connection that it came by.
///
/// # Errors
/// Returns an error if it is too late, or the signature is not theirs over this challenge on this connection.
pub fn verify_bound_challenge(
    key: &PublicKey,
    (challenge, binding): (&AuthChallenge, &Binding),
    signature: &Signature,
    now_ms: u64,
) -> Result<(), ChallengeError> {
    if now_ms >= challenge.expires_at_ms {
        return Err(ChallengeError::Expired);
    }
    if key.verify(bound_text(challenge, binding).as_bytes(), signature) {
        Ok(())
    } else {
        Err(ChallengeError::WrongSignature)
    }
}

/// Proves to a client that this server has its key: a signature over the challenge and the nonce that the
/// client chose.
pub fn prove_server(key: &SecretKey, challenge: &AuthChallenge, client_nonce: &str) -> Signature {
    key.sign(server_text(challenge, client_nonce).as_bytes())
}

/// Returns whether this is the proof of the server with this key for this challenge and the client's own
/// nonce.
#[must_use]
pub fn verify_server(
    key: &PublicKey,
    challenge: &AuthChallenge,
    client_nonce: &str,
    proof: &Signature,
) -> bool {
    key.verify(server_text(challenge, client_nonce).as_bytes(), proof)
}

fn bound_text(challenge: &AuthChallenge, binding: &Binding) -> String {
    let text = challenge_text(&challenge.origin, &challenge.nonce, challenge.expires_at_ms);
    format!("{text}{binding}")
}

fn server_text(challenge: &AuthChallenge, client_nonce: &str) -> String {
    let AuthChallenge {
        nonce,
        origin,
        expires_at_ms,
    } = challenge;
    format!("agentx.v1 server\n{origin}\n{nonce}\n{expires_at_ms}\n{client_nonce}\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use super::*;

    fn challenge() -> AuthChallenge {
        AuthChallenge {
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
        let check = |key: &SecretKey, challenge: &AuthChallenge, now| {
            verify_challenge(key.public_key(), challenge, &signature, now)
        };
        assert_eq!(check(&me, &challenge(), 999), Ok(()));
        assert_eq!(check(&me, &challenge(), 1_000), Err(ChallengeError::Expired));
        let wrong = Err(ChallengeError::WrongSignature);
        assert_eq!(check(&other, &challenge(), 0), wrong);
        let changes: [fn(&mut AuthChallenge); 3] = [
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
    fn a_signature_counts_on_its_own_connection_alone() {
        let me = SecretKey::from_seed(&[1; 32]).unwrap();
        let server = *SecretKey::from_seed(&[3; 32]).unwrap().public_key();
        let bindings = [
            Binding::None,
            Binding::ServerKey(server),
            Binding::ServerKey(*me.public_key()),
            Binding::Exporter([0; 32]),
            Binding::Exporter([1; 32]),
        ];
        for signed in &bindings {
            let signature = sign_bound_challenge(&me, &challenge(), signed);
            for binding in &bindings {
                let counts = verify_bound_challenge(me.public_key(), (&challenge(), binding), &signature, 0);
                assert_eq!(counts.is_ok(), binding == signed, "{signed:?} on {binding:?}");
            }
        }
    }

    #[test]
    fn a_server_proves_its_key_for_one_client_and_one_challenge() {
        let server = SecretKey::from_seed(&[3; 32]).unwrap();
        let other = SecretKey::from_seed(&[4; 32]).unwrap();
        let proof = prove_server(&server, &challenge(), "mine");
        assert!(verify_server(server.public_key(), &challenge(), "mine", &proof));
        assert!(!verify_server(server.public_key(), &challenge(), "other", &proof));
        assert!(!verify_server(other.public_key(), &challenge(), "mine", &proof));
        let later = AuthChallenge {
            expires_at_ms: 1_001,
            ..challenge()
        };
        assert!(!verify_server(server.public_key(), &later, "mine", &proof));
        // A signature of a server is not an answer to a challenge.
        assert!(verify_challenge(server.public_key(), &challenge(), &proof, 0).is_err());
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
