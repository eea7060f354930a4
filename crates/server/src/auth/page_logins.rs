//! Logins of web pages. A page has no key: the server gives a person a code, and the page in their browser
//! exchanges it, once, for a token. Codes are in memory, and tokens are in the list with those for `/mcp`, so
//! that a page stays signed in over a restart and its person can take the token back.

use std::sync::PoisonError;

use agentx_identity::McpToken;
use agentx_types::wire::Problem;

use crate::auth::mcp_tokens::kept_nowhere;
use crate::auth::random::{hash, random};
use crate::auth::{Authenticator, Identity, check_client};
use crate::problems::problem;

/// The lifetime of a code, in milliseconds.
const CODE_MS: u64 = 3_600_000;
/// The lifetime of the token of a page, in milliseconds.
const PAGE_MS: u64 = 30 * 86_400_000;

/// A token of a page, in the form that the page gets once.
pub(crate) struct IssuedPage {
    /// The id, by which the token is taken back.
    pub(crate) id: String,
    /// The token to send from now on.
    pub(crate) token: String,
    /// The owner of the token.
    pub(crate) identity: Identity,
    /// The time at which it expires: milliseconds since 1970.
    pub(crate) expires_at_ms: u64,
}

impl Authenticator {
    /// Creates a code with which one page signs in as this person, and returns it with the time at which it
    /// expires.
    ///
    /// # Errors
    /// Returns an error if they are a visitor, or the system has no randomness.
    pub(crate) fn page_code(&self, owner: &Identity, now_ms: u64) -> Result<(String, u64), Box<Problem>> {
        if owner.visitor {
            return Err(problem("denied", "visitors get no code for a page"));
        }
        let code = random()?;
        let expires_at_ms = now_ms + CODE_MS;
        let mut codes = self.page_codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.insert(
            owner.person.as_str(),
            hash(&code),
            owner.clone(),
            expires_at_ms,
            now_ms,
        );
        Ok((code, expires_at_ms))
    }

    /// Creates a code for a page of the operator, whose identity is in the data directory.
    ///
    /// # Errors
    /// Returns an error if there is no identity, or the system has no randomness.
    pub(crate) fn page_code_of_operator(&self, now_ms: u64) -> Result<(String, u64), Box<Problem>> {
        let key = self.mcp_tokens.keyring.identity();
        let key = key.map_err(|error| problem("unavailable", &error.to_string()))?;
        let owner = key.and_then(|key| self.identity_of(key.public_key()));
        let owner = owner.ok_or_else(|| problem("unavailable", "this data directory has no identity"))?;
        self.page_code(&owner, now_ms)
    }

    /// Exchanges a code for a token of the page in the browser `name`. Waits for the disk.
    ///
    /// # Errors
    /// Returns an error if the code is unknown, was used or has expired, the name is malformed, or the list
    /// of tokens cannot be written.
    pub(crate) fn page_login(&self, code: &str, name: &str, now_ms: u64) -> Result<IssuedPage, Box<Problem>> {
        check_client(name)?;
        let taken = self
            .page_codes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(&hash(code), now_ms);
        let owner = taken
            .map(|(owner, _)| owner)
            .filter(|owner| self.still_knows(owner));
        let found = owner.and_then(|owner| Some((owner.token_owner()?, owner)));
        let Some((maker, owner)) = found else {
            return Err(problem(
                "stale_challenge",
                "the code is unknown, was used or has expired; `agentx serve` shows a new one when it starts",
            ));
        };
        let expires_at_ms = now_ms + PAGE_MS;
        let keyring = &self.mcp_tokens.keyring;
        let made = keyring.make_page_token(&maker, name, now_ms, expires_at_ms);
        let (entry, token) = made.map_err(|error| kept_nowhere(&error))?;
        Ok(IssuedPage {
            id: entry.id,
            token,
            identity: owner,
            expires_at_ms,
        })
    }

    /// Returns the person who has this token of a page.
    pub(super) fn page_of(&self, token: &str, now_ms: u64) -> Option<Identity> {
        let entry = self.mcp_tokens.with(|tokens| {
            let found = tokens.iter().find(|known| known.page && known.is(token, now_ms));
            found.cloned()
        })?;
        let mut identity = self.owner_of(&entry)?;
        identity.page_token = Some(entry.id);
        Some(identity)
    }

    /// Returns the person who is signed in with the token of a page with this id; `None` if it has expired or
    /// was taken back, or they are not trusted as when it was made.
    pub(crate) fn page_owner(&self, id: &str, now_ms: u64) -> Option<Identity> {
        let is_it = |token: &&McpToken| token.page && token.id == id && token.expires_at_ms > now_ms;
        let entry = self
            .mcp_tokens
            .with(|tokens| tokens.iter().find(is_it).cloned())?;
        self.owner_of(&entry)
    }

    /// Returns whether the token of a page with this id was not taken back.
    pub(super) fn has_page(&self, id: &str) -> bool {
        self.mcp_tokens
            .with(|tokens| tokens.iter().any(|token| token.page && token.id == id))
    }
}
