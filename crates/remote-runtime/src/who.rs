//! Who connects: a person with a key, or a visitor. A key signs a server's challenge and nothing else, and only for the
//! server that was dialled.

use std::fmt;
use std::sync::Arc;

use agentx_identity::{Challenge, SecretKey, sign_challenge};
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
    /// Where the server calls itself something else than what was dialled: somebody may stand between the two.
    pub(crate) fn answer(
        &self,
        challenge: &Challenge,
        endpoint: &Endpoint,
        client: &str,
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
        Ok(Authenticate {
            public_key: Some(key.public_key().to_string()),
            signature: Some(sign_challenge(key, challenge).to_string()),
            client,
        })
    }
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
            .answer(&challenge("http://127.0.0.1:5200"), &endpoint, "test")
            .unwrap();
        assert!(answer.public_key.unwrap().starts_with("ed25519:"));
        let why = who
            .answer(&challenge("http://elsewhere:5200"), &endpoint, "test")
            .unwrap_err();
        assert!(why.contains("elsewhere"), "{why}");
        let visitor = Who::Visitor
            .answer(&challenge("http://elsewhere"), &endpoint, "test")
            .unwrap();
        assert_eq!((visitor.public_key, visitor.signature), (None, None));
    }
}
