//! The answer of a person or a visitor to the challenge of a server.

use agentx_identity::sign_bound_challenge;
use agentx_types::wire::Authenticate;

use crate::Credentials;
use crate::peer::{Peer, ServerChallenge};

impl Credentials {
    /// Returns the answer to this challenge of a server.
    ///
    /// # Errors
    /// Returns an error if [`Peer::check`] finds that this may be another server than was dialled: then
    /// nothing is signed.
    pub(crate) fn answer(
        &self,
        asked: &ServerChallenge<'_>,
        peer: &Peer,
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
        let binding = peer.check(asked)?;
        Ok(Authenticate {
            public_key: Some(key.public_key().to_string()),
            signature: Some(sign_bound_challenge(key, asked.challenge, &binding).to_string()),
            client,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use agentx_identity::{AuthChallenge, Keyring, SecretKey, prove_server, server_nonce};

    use super::*;
    use crate::{ConnectOptions, ServerEndpoint};

    fn peer(address: &str, known: Option<Keyring>) -> Peer {
        let options = ConnectOptions {
            known_servers: known,
            allow_plain_http: true,
            ..ConnectOptions::new(address, Credentials::Visitor, "test")
        };
        Peer::new(ServerEndpoint::parse(address).unwrap(), &options).unwrap()
    }

    fn asked<'a>(challenge: &'a AuthChallenge, proof: Option<&'a str>) -> ServerChallenge<'a> {
        ServerChallenge {
            challenge,
            proof,
            nonce: "ours",
            exported: None,
        }
    }

    #[test]
    fn nothing_is_signed_for_another_place() {
        let who = Credentials::from(SecretKey::from_seed(&[1; 32]).unwrap());
        let peer = peer("http://localhost:5200", None);
        let answer = |who: &Credentials, origin: &str| {
            let challenge = AuthChallenge {
                nonce: "once".into(),
                origin: origin.into(),
                expires_at_ms: 1,
            };
            who.answer(&asked(&challenge, None), &peer, "test")
        };
        let right = answer(&who, "http://127.0.0.1:5200").unwrap();
        assert!(right.public_key.unwrap().starts_with("ed25519:"));
        let why = answer(&who, "http://elsewhere:5200").unwrap_err();
        assert!(why.contains("elsewhere"), "{why}");
        let visitor = answer(&Credentials::Visitor, "http://elsewhere").unwrap();
        assert_eq!((visitor.public_key, visitor.signature), (None, None));
    }

    #[test]
    fn another_server_at_the_same_address_gets_no_signature() {
        let directory = tempfile::tempdir().unwrap();
        let known = Keyring::at(directory.path());
        let key = |seed: u8| SecretKey::from_seed(&[seed; 32]).unwrap();
        let who = Credentials::from(key(1));
        let answer = |nonce: String| {
            let challenge = AuthChallenge {
                nonce,
                origin: "http://127.0.0.1:5200".into(),
                expires_at_ms: 1,
            };
            // Each time as a program that has just started.
            let peer = peer("http://localhost:5200", Some(known.clone()));
            who.answer(&asked(&challenge, None), &peer, "test")
        };
        assert!(answer("of before servers had keys".into()).is_ok());
        let (one, other) = (*key(2).public_key(), *key(3).public_key());
        assert!(answer(server_nonce("a", &one)).is_ok());
        assert!(answer(server_nonce("b", &one)).is_ok());
        for nonce in [server_nonce("c", &other), "none".to_owned()] {
            let why = answer(nonce).unwrap_err();
            assert!(
                why.contains("HAS CHANGED") && why.contains(&one.to_string()),
                "{why}"
            );
        }
    }

    #[test]
    fn a_server_with_a_certificate_proves_the_key_that_it_names() {
        let who = Credentials::from(SecretKey::from_seed(&[1; 32]).unwrap());
        let (own, other) = (
            SecretKey::from_seed(&[2; 32]).unwrap(),
            SecretKey::from_seed(&[3; 32]).unwrap(),
        );
        let peer = peer("https://agents.example", None);
        let challenge = AuthChallenge {
            nonce: server_nonce("once", own.public_key()),
            origin: "https://agents.example".into(),
            expires_at_ms: 1,
        };
        let answer = |proof: Option<String>| {
            let asked = asked(&challenge, proof.as_deref());
            who.answer(&asked, &peer, "test")
        };
        assert!(answer(Some(prove_server(&own, &challenge, "ours").to_string())).is_ok());
        for proof in [
            None,
            Some("not a signature".to_owned()),
            Some(prove_server(&other, &challenge, "ours").to_string()),
            Some(prove_server(&own, &challenge, "another's").to_string()),
        ] {
            let why = answer(proof).unwrap_err();
            assert!(why.contains("does not prove it"), "{why}");
        }
    }
}
