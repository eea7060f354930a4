//! Who connects: a person with a key, or a visitor. A key signs a server's challenge and nothing else, and only for the
//! server that was dialled.

use std::fmt;
use std::sync::Arc;

use agentx_identity::{Challenge, Keyring, KeyringError, Met, SecretKey, sign_challenge};
use agentx_types::wire::Authenticate;

use crate::Endpoint;

/// Who connects.
#[derive(Clone, Default)]
pub enum Who {
    /// Somebody with a key.
    Key(Arc<SecretKey>),
    /// Somebody who does not say who they are.
    #[default]
    Visitor,
}

impl Who {
    /// What is said to a server that gave this challenge.
    ///
    /// # Errors
    /// Where the server calls itself something else than what was dialled, or is another one than before at this address: somebody may
    /// stand between the two.
    pub(crate) fn answer(
        &self,
        challenge: &Challenge,
        endpoint: &Endpoint,
        (client, known): (&str, Option<&Keyring>),
    ) -> Result<Authenticate, String> {
        let client = client.to_owned();
        let Self::Key(key) = self else {
            return Ok(Authenticate {
                public_key: None,
                signature: None,
                client,
            });
        };
        if !endpoint.is_origin(&challenge.origin) {
            return Err(format!(
                "the server at {endpoint} calls itself {:?}; nothing is signed for another place. If it is the right \
                 one, start it with --origin {endpoint}",
                challenge.origin.chars().take(200).collect::<String>()
            ));
        }
        if let Some(known) = known {
            check_server(challenge, endpoint, known)?;
        }
        Ok(Authenticate {
            public_key: Some(key.public_key().to_string()),
            signature: Some(sign_challenge(key, challenge).to_string()),
            client,
        })
    }
}

/// Checks that the server is the one that was met at this address before. The signature names it, so it is worth nothing elsewhere.
fn check_server(challenge: &Challenge, endpoint: &Endpoint, known: &Keyring) -> Result<(), String> {
    let place = endpoint.host_and_port();
    let cannot = |error: KeyringError| format!("the servers that are known cannot be looked up: {error}");
    let (now, before) = match challenge.server() {
        Some(key) => match known.meet_server(&place, &key).map_err(cannot)? {
            Met::New | Met::Known => return Ok(()),
            Met::Changed { before } => (key.to_string(), before),
        },
        None => match known.server_at(&place).map_err(cannot)? {
            Some(before) => ("no key at all".to_owned(), before),
            // A server of before servers had keys.
            None => return Ok(()),
        },
    };
    Err(format!(
        "ANOTHER SERVER ANSWERS AT {endpoint}: it was {before} before, and is {now} now. Somebody may stand between you and your server, \
         or listen at its port; nothing was signed. If it was set up anew (its `agentx serve` shows its key), delete the line of {place} \
         in {}",
        known.servers_file().display()
    ))
}

impl From<SecretKey> for Who {
    fn from(key: SecretKey) -> Self {
        Self::Key(Arc::new(key))
    }
}

impl From<Arc<SecretKey>> for Who {
    fn from(key: Arc<SecretKey>) -> Self {
        Self::Key(key)
    }
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "Key({})", key.public_key()),
            Self::Visitor => f.write_str("Visitor"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use agentx_identity::server_nonce;

    use super::*;

    #[test]
    fn nothing_is_signed_for_another_place() {
        let who = Who::from(SecretKey::from_seed(&[1; 32]).unwrap());
        let endpoint = Endpoint::parse("http://localhost:5200").unwrap();
        let challenge = |origin: &str| Challenge {
            nonce: "once".into(),
            origin: origin.into(),
            expires_at_ms: 1,
        };
        let answer = who
            .answer(&challenge("http://127.0.0.1:5200"), &endpoint, ("test", None))
            .unwrap();
        assert!(answer.public_key.unwrap().starts_with("ed25519:"));
        let why = who
            .answer(&challenge("http://elsewhere:5200"), &endpoint, ("test", None))
            .unwrap_err();
        assert!(why.contains("elsewhere"), "{why}");
        let visitor = Who::Visitor
            .answer(&challenge("http://elsewhere"), &endpoint, ("test", None))
            .unwrap();
        assert_eq!((visitor.public_key, visitor.signature), (None, None));
    }

    #[test]
    fn another_server_at_the_same_address_gets_no_signature() {
        let directory = tempfile::tempdir().unwrap();
        let known = Keyring::at(directory.path());
        let key = |seed: u8| SecretKey::from_seed(&[seed; 32]).unwrap();
        let who = Who::from(key(1));
        let endpoint = Endpoint::parse("http://localhost:5200").unwrap();
        let answer = |nonce: String| {
            let challenge = Challenge {
                nonce,
                origin: "http://127.0.0.1:5200".into(),
                expires_at_ms: 1,
            };
            who.answer(&challenge, &endpoint, ("test", Some(&known)))
        };
        assert!(answer("of before servers had keys".into()).is_ok());
        let (one, other) = (*key(2).public_key(), *key(3).public_key());
        assert!(answer(server_nonce("a", &one)).is_ok());
        assert!(answer(server_nonce("b", &one)).is_ok());
        for nonce in [server_nonce("c", &other), "none".to_owned()] {
            let why = answer(nonce).unwrap_err();
            assert!(
                why.contains("ANOTHER SERVER") && why.contains(&one.to_string()),
                "{why}"
            );
        }
    }
}
