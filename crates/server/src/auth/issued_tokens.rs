//! Tokens for answered challenges: over HTTP, where a challenge waits until anybody answers it, and for one
//! connection of another protocol, which keeps its own.

use std::sync::PoisonError;

use agentx_identity::AuthChallenge;
use agentx_types::wire::Problem;

use super::random::{hash, random};
use super::{Authenticator, Identity, TOKEN_MS};
use crate::connections::channel::ConnectionChannel;
use crate::problems::problem;

/// A new token, in the form that its owner gets once.
pub struct IssuedToken {
    /// The token to send from now on.
    pub token: String,
    /// The identity of its owner.
    pub identity: Identity,
    /// The time at which it expires: milliseconds since 1970.
    pub expires_at_ms: u64,
}

/// The client to whom a token is issued, and the time.
pub(crate) struct TokenClient<'a> {
    /// The kind of connection on which the token will count.
    pub(crate) channel: &'a ConnectionChannel,
    /// The address, as it is counted.
    pub(crate) address: &'a str,
    /// Milliseconds since 1970.
    pub(crate) now_ms: u64,
}

impl Authenticator {
    /// Answers an open challenge from `address` with a token. The token is valid only on connections of the
    /// same kind: a token that was issued after the server had proved its key is useless on a connection
    /// without that proof.
    ///
    /// # Errors
    /// Returns an error if [`Authenticator::identify`] does, or if the nonce is unknown, used or expired.
    pub fn token(
        &self,
        public_key: &str,
        challenge: (String, u64),
        signature: &str,
        (channel, address, now_ms): (&ConnectionChannel, &str, u64),
    ) -> Result<IssuedToken, Box<Problem>> {
        let (nonce, expires_at_ms) = challenge;
        let challenge = self.challenge_of(nonce, expires_at_ms);
        let identity = self.answered(public_key, &challenge, signature, channel, now_ms)?;
        let client = TokenClient {
            channel,
            address,
            now_ms,
        };
        self.issue(identity, &client)
    }

    /// Takes an open challenge out of those that count over HTTP: from then on it counts only where it is
    /// kept. `None` if it is unknown, was used or has expired.
    pub(crate) fn withdraw(&self, nonce: &str, now_ms: u64) -> Option<AuthChallenge> {
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        let ((), expires_at_ms) = nonces.take(&nonce.to_owned(), now_ms)?;
        Some(self.challenge_of(nonce.to_owned(), expires_at_ms))
    }

    /// Answers a challenge that was kept for one connection with a token, as [`Self::token`] does for an open
    /// one. The caller answers each challenge once.
    ///
    /// # Errors
    /// Returns an error if [`Authenticator::identify`] does.
    pub(crate) fn token_of_kept(
        &self,
        public_key: &str,
        challenge: &AuthChallenge,
        signature: &str,
        client: &TokenClient<'_>,
    ) -> Result<IssuedToken, Box<Problem>> {
        let binding = client.channel.of_requests(self.server_key());
        let identity = self.identify(public_key, (challenge, &binding), signature, client.now_ms)?;
        self.issue(identity, client)
    }

    /// Issues a token for connections of this kind.
    fn issue(&self, identity: Identity, client: &TokenClient<'_>) -> Result<IssuedToken, Box<Problem>> {
        let now_ms = client.now_ms;
        let token = random()?;
        let expires_at_ms = now_ms + TOKEN_MS;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let line = identity.line(client.address);
        let value = (identity.clone(), client.channel.is_keyed());
        tokens.insert(line.as_str(), hash(&token), value, expires_at_ms, now_ms);
        drop(tokens);
        Ok(IssuedToken {
            token,
            identity,
            expires_at_ms,
        })
    }

    /// Returns the challenge of this server with that nonce.
    pub(crate) fn challenge_of(&self, nonce: String, expires_at_ms: u64) -> AuthChallenge {
        AuthChallenge {
            nonce,
            origin: self.origin.clone(),
            expires_at_ms,
        }
    }

    /// Returns who answered an open challenge, which counts once.
    pub(crate) fn answered(
        &self,
        public_key: &str,
        challenge: &AuthChallenge,
        signature: &str,
        channel: &ConnectionChannel,
        now_ms: u64,
    ) -> Result<Identity, Box<Problem>> {
        let open = self
            .nonces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(&challenge.nonce, now_ms);
        if open.is_none_or(|((), until)| until != challenge.expires_at_ms) {
            return Err(problem(
                "stale_challenge",
                "the nonce is unknown, was used or has expired; ask for a new challenge",
            ));
        }
        let binding = channel.of_requests(self.server_key());
        self.identify(public_key, (challenge, &binding), signature, now_ms)
    }
}
