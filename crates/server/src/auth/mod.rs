//! Authentication: a signed challenge becomes a token, or identifies one connection; there are no passwords.
//!
//! A nonce is valid once and for a minute. It is signed together with this server's origin, so that a
//! signature for another server is useless here. On a connection on which the server proved its key, the
//! nonce is bound to that key too. Tokens are kept as hashes, in memory only, except those of pages and of
//! programs at `/mcp`. A page has no key to sign with: it shows a code that the server gave its person.

pub(crate) mod caller;
pub(crate) mod credentials;
pub(crate) mod expiring;
mod identity;
pub(crate) mod issued_tokens;
pub(crate) mod known_people;
pub(crate) mod mcp_tokens;
mod page_logins;
pub(crate) mod random;

use std::sync::{Arc, Mutex, PoisonError};

use agentx_identity::{
    AuthChallenge, Binding, KeyError, Keyring, MCP_TOKEN, PAGE_TOKEN, PublicKey, SecretKey, Signature,
    owner_of, prove_server, server_nonce, verify_bound_challenge,
};
use agentx_types::wire::Problem;
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use crate::auth::caller::Caller;
pub(crate) use crate::auth::credentials::bearer;
use crate::auth::credentials::client_of;
pub use crate::auth::credentials::{CLIENT_CHARS, CLIENT_HEADER, bearer_subprotocol, check_client};
use crate::auth::expiring::Expiring;
pub use crate::auth::identity::Identity;
pub use crate::auth::issued_tokens::IssuedToken;
use crate::auth::known_people::KnownPeople;
use crate::auth::mcp_tokens::KnownMcpTokens;
use crate::auth::random::{hash, random};
use crate::connections::channel::ConnectionChannel;
use crate::problems::problem;

/// The time within which a challenge has to be answered.
const CHALLENGE_MS: u64 = 60_000;
/// The lifetime of a token.
const TOKEN_MS: u64 = 3_600_000;

/// Decides who a caller is, by signatures and tokens.
pub struct Authenticator {
    known: KnownPeople,
    key: Arc<SecretKey>,
    origin: String,
    allowed: Vec<String>,
    visitors: bool,
    nonces: Mutex<Expiring<String, ()>>,
    /// The owner of each token, and whether it was issued on a connection on which the server had proved its
    /// key.
    tokens: Mutex<Expiring<[u8; 32], (Identity, bool)>>,
    mcp_tokens: KnownMcpTokens,
    /// The hashes of codes with which pages sign in, each once, and the person of each.
    page_codes: Mutex<Expiring<[u8; 32], Identity>>,
}

impl Authenticator {
    /// `key` and `origin` are the server's own. The numbers are the limits of known nonces, in all and per
    /// address, and of tokens, in all and per person.
    pub fn new(
        keyring: Keyring,
        (key, origin): (Arc<SecretKey>, String),
        allowed: Vec<String>,
        visitors: bool,
        (nonces, tokens): ((usize, usize), (usize, usize)),
    ) -> Self {
        Self {
            mcp_tokens: KnownMcpTokens::new(keyring.clone()),
            known: KnownPeople::new(keyring),
            key,
            origin,
            allowed,
            visitors,
            nonces: Mutex::new(Expiring::new(nonces.0, nonces.1)),
            tokens: Mutex::new(Expiring::new(tokens.0, tokens.1)),
            page_codes: Mutex::new(Expiring::new(tokens.0, tokens.1)),
        }
    }

    /// Returns the key by which clients know this server: they sign no challenge of another one at its
    /// address.
    pub fn server_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    /// Returns the origin of this server, which signatures are bound to.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns whether visitors are let in.
    pub fn lets_visitors_in(&self) -> bool {
        self.visitors
    }

    /// Creates a challenge that is given out once.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn challenge(&self, now_ms: u64) -> Result<AuthChallenge, Box<Problem>> {
        Ok(AuthChallenge {
            nonce: server_nonce(&random()?, self.server_key()),
            origin: self.origin.clone(),
            expires_at_ms: now_ms + CHALLENGE_MS,
        })
    }

    /// Returns a challenge over HTTP, if it cannot belong to a connection: it is remembered until it is
    /// answered. If `address` has too many open challenges, its oldest one is forgotten.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn open_challenge(&self, address: &str, now_ms: u64) -> Result<AuthChallenge, Box<Problem>> {
        let challenge = self.challenge(now_ms)?;
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.insert(
            address,
            challenge.nonce.clone(),
            (),
            challenge.expires_at_ms,
            now_ms,
        );
        Ok(challenge)
    }

    /// Proves that this server has its key, to a client that chose `client_nonce`.
    pub fn proof(&self, challenge: &AuthChallenge, client_nonce: &str) -> String {
        prove_server(&self.key, challenge, client_nonce).to_string()
    }

    /// Returns who signed `challenge`, which this server made for the very connection that the answer came
    /// by.
    ///
    /// # Errors
    /// Returns an error if the signature is not of that key over that challenge with that binding, or the key
    /// is not known here.
    pub fn identify(
        &self,
        public_key: &str,
        (challenge, binding): (&AuthChallenge, &Binding),
        signature: &str,
        now_ms: u64,
    ) -> Result<Identity, Box<Problem>> {
        let bad = |what: String| problem("bad_signature", &what);
        let key: PublicKey = public_key
            .parse()
            .map_err(|error: KeyError| bad(format!("public_key: {error}")))?;
        let signature: Signature = signature
            .parse()
            .map_err(|error: KeyError| bad(format!("signature: {error}")))?;
        verify_bound_challenge(&key, (challenge, binding), &signature, now_ms)
            .map_err(|error| bad(error.to_string()))?;
        match self.identity_of(&key) {
            Some(identity) => Ok(identity),
            None if self.visitors => Ok(Identity::visitor()),
            None => Err(problem(
                "unknown_person",
                &format!(
                    "this server does not know {public_key} ({}); its operator adds it with `agentx identity trust`",
                    owner_of(&key)
                ),
            )),
        }
    }

    fn identity_of(&self, key: &PublicKey) -> Option<Identity> {
        let (known, since) = self.known.person(key)?;
        Some(Identity {
            since,
            person: known.owner,
            name: known.name,
            operator: known.operator,
            approver: known.approver,
            visitor: false,
            key: Some(*key),
            grant: known.grant,
            page_token: None,
        })
    }

    /// Returns a number that grows whenever a change of the trusted people is noticed, by a request or by the
    /// check each second, and whenever a token is taken back.
    pub(crate) fn trust_generation(&self) -> u64 {
        self.known.generation()
    }

    /// Returns the people whom the operator trusts.
    pub(crate) fn known(&self) -> &KnownPeople {
        &self.known
    }

    /// Returns whether an identity is still valid: the operator may stop trusting a person at any time, and a
    /// person may take back the token of a page. It does not become valid again when they trust the person
    /// again, or in the same role again.
    pub fn still_knows(&self, identity: &Identity) -> bool {
        if identity.page_token.as_ref().is_some_and(|id| !self.has_page(id)) {
            return false;
        }
        match &identity.key {
            None => self.visitors,
            Some(key) => self.identity_of(key).is_some_and(|now| {
                let rank = |identity: &Identity| (identity.operator, identity.approver);
                now.person == identity.person && now.since == identity.since && rank(&now) == rank(identity)
            }),
        }
    }

    /// Returns the owner of a token.
    ///
    /// # Errors
    /// Returns an error if it is not known here, has expired, or was given out on another kind of connection.
    pub fn holder(
        &self,
        token: &str,
        (channel, now_ms): (&ConnectionChannel, u64),
    ) -> Result<Identity, Box<Problem>> {
        let unknown = || {
            let why = if token.starts_with(MCP_TOKEN) {
                "this token opens /mcp alone"
            } else {
                "the token is unknown or has expired; ask for a new one with a signed challenge"
            };
            problem("unauthenticated", why)
        };
        if token.starts_with(PAGE_TOKEN) {
            return self.page_of(token, now_ms).ok_or_else(unknown);
        }
        let (identity, keyed) = {
            let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.get(&hash(token), now_ms).cloned().ok_or_else(unknown)?
        };
        if keyed == channel.is_keyed() && self.still_knows(&identity) {
            Ok(identity)
        } else {
            Err(unknown())
        }
    }

    /// Returns who sends a request with these headers from `address`: the holder of its token, or a visitor.
    ///
    /// # Errors
    /// Returns `unauthenticated` if there is no token and visitors are not allowed, or the token is not
    /// valid; `bad_origin` if a web page of another origin sends it; `bad_request` if a header is malformed.
    pub fn caller_of(
        &self,
        headers: &HeaderMap,
        (channel, address, now_ms): (&ConnectionChannel, &str, u64),
    ) -> Result<Caller, Box<Problem>> {
        let (identity, client) = self.sender_of(headers, channel, now_ms)?;
        Ok(identity.at(client, address))
    }

    /// Returns who sends a request with these headers, as [`Authenticator::caller_of`] does, and the name of
    /// their program.
    pub(crate) fn sender_of<'a>(
        &self,
        headers: &'a HeaderMap,
        channel: &ConnectionChannel,
        now_ms: u64,
    ) -> Result<(Identity, &'a str), Box<Problem>> {
        self.check_origin(headers)?;
        let client = client_of(headers)?;
        let identity = match bearer(headers)? {
            Some(token) => self.holder(token, (channel, now_ms))?,
            None if self.visitors => Identity::visitor(),
            None => {
                return Err(problem(
                    "unauthenticated",
                    "authentication required: POST /v1/auth/challenge, sign it, POST /v1/auth/token",
                ));
            }
        };
        Ok((identity, client))
    }

    /// Checks the header `Origin`, which browsers send and other programs need not. A page that this server
    /// served has the address to which the request goes as its origin, whichever of the server's names that
    /// is; the name itself is checked with `Host`.
    ///
    /// # Errors
    /// Returns `bad_origin` if the origin is neither this server's own nor an allowed one.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Box<Problem>> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(());
        };
        let known = |known: &str| origin.as_bytes().eq_ignore_ascii_case(known.as_bytes());
        let is_known = known(&self.origin)
            || self.allowed.iter().any(|allowed| known(allowed))
            || is_of_this_address(origin.as_bytes(), headers);
        if is_known && origins.next().is_none() {
            return Ok(());
        }
        Err(problem(
            "bad_origin",
            "pages of this origin may not connect to this server; start it with --allow-origin to let them",
        ))
    }
}

/// Returns whether a page with this origin came from the very address that the request is for.
fn is_of_this_address(origin: &[u8], headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (host, other) = (hosts.next(), hosts.next());
    let place = origin
        .strip_prefix(b"http://")
        .or_else(|| origin.strip_prefix(b"https://"));
    match (place, host, other) {
        (Some(place), Some(host), None) => !place.is_empty() && place.eq_ignore_ascii_case(host.as_bytes()),
        _ => false,
    }
}
