//! Tokens with which other programs of a person use `/mcp`, and nothing else: made by a signed challenge,
//! kept as hashes over a restart, and taken back by their owner. Such a program sends its token over any kind
//! of connection, because it knows nothing of the server's key.

use std::sync::{Mutex, PoisonError};

use agentx_identity::{Keyring, MCP_TOKEN, McpToken, McpTokenError, Stamp};
use agentx_types::OwnerId;
use agentx_types::wire::Problem;
use axum::http::HeaderMap;

use crate::auth::caller::Caller;
use crate::auth::credentials::{bearer, client_of};
use crate::auth::{Authenticator, Identity, check_client};
use crate::connections::channel::ConnectionChannel;
use crate::problems::problem;

/// The shortest and the longest lifetime of such a token, in milliseconds.
const LIFETIME_MS: std::ops::RangeInclusive<u64> = 60_000..=90 * 86_400_000;

/// The reason why what a token began ends.
const GONE: &str = "the token for /mcp has expired or was taken back; `agentx mcp token` makes a new one";

/// The tokens of the file, read again only after a change.
pub(super) struct KnownMcpTokens {
    pub(super) keyring: Keyring,
    read: Mutex<Option<McpTokensRead>>,
}

/// The tokens that were read, and the stamp of the file from just before.
struct McpTokensRead {
    stamp: Stamp,
    tokens: Vec<McpToken>,
}

/// The sender of a request to `/mcp`.
pub(crate) struct FoundMcpCaller {
    pub(crate) caller: Caller,
    pub(crate) login: McpTokenLogin,
}

/// The credential with which a caller opened `/mcp`. Streams and calls last longer than their requests, so it
/// is checked while they do.
#[derive(Clone)]
pub(crate) struct McpTokenLogin {
    identity: Identity,
    /// The id of the token that opens `/mcp` alone, if they came with one.
    token: Option<String>,
}

impl McpTokenLogin {
    /// Returns the id of the token that a task ends with: one for `/mcp`, or that of a page.
    pub(crate) fn token_id(&self) -> Option<&str> {
        self.token.as_deref().or_else(|| self.identity.page_login())
    }
}

impl KnownMcpTokens {
    pub(super) fn new(keyring: Keyring) -> Self {
        Self {
            keyring,
            read: Mutex::default(),
        }
    }

    /// Returns what `look` finds among the tokens. There are none in a file that cannot be read.
    pub(super) fn with<T>(&self, look: impl FnOnce(&[McpToken]) -> T) -> T {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.keyring.mcp_tokens_stamp();
        if let Some(read) = read.as_ref().filter(|read| read.stamp == stamp) {
            return look(&read.tokens);
        }
        let tokens = self.keyring.mcp_tokens().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the tokens for /mcp");
            Vec::new()
        });
        let found = look(&tokens);
        // A file that was changed just now may be changed again without looking any different.
        *read = stamp.is_settled().then_some(McpTokensRead { stamp, tokens });
        found
    }
}

impl Authenticator {
    /// Makes a token for `/mcp` of the person who signed a challenge. Waits for the disk. Returns its entry,
    /// and the token itself.
    ///
    /// # Errors
    /// Returns an error if the person is a visitor or has too many, or the name or the lifetime is out of
    /// bounds.
    pub(crate) fn make_mcp_token(
        &self,
        owner: &Identity,
        name: &str,
        lifetime_s: u64,
        now_ms: u64,
    ) -> Result<(McpToken, String), Box<Problem>> {
        let Some(maker) = owner.token_owner() else {
            return Err(problem("denied", "visitors get no token for /mcp"));
        };
        check_client(name)?;
        let lifetime_ms = lifetime_s.saturating_mul(1_000);
        if !LIFETIME_MS.contains(&lifetime_ms) {
            return Err(problem(
                "bad_request",
                "a token for /mcp lasts a minute at least and 90 days at most",
            ));
        }
        let made = self
            .mcp_tokens
            .keyring
            .make_mcp_token(&maker, name, now_ms, now_ms + lifetime_ms);
        made.map_err(|error| match error {
            McpTokenError::TooMany => problem("too_many", &error.to_string()),
            error => kept_nowhere(&error),
        })
    }

    /// Returns the valid tokens of a person for `/mcp` and for pages.
    pub(crate) fn mcp_tokens_of(&self, person: &OwnerId, now_ms: u64) -> Vec<McpToken> {
        self.mcp_tokens.with(|tokens| {
            let own = tokens.iter().filter(|token| self.is_of(token, person));
            own.filter(|token| token.expires_at_ms > now_ms)
                .cloned()
                .collect()
        })
    }

    /// Takes back a token of a person, for `/mcp` or for a page. Waits for the disk. Returns whether the
    /// person had one with this id.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn remove_mcp_token(&self, person: &OwnerId, id: &str) -> Result<bool, Box<Problem>> {
        let is_own = |token: &McpToken| token.id == id && self.is_of(token, person);
        if !self.mcp_tokens.with(|tokens| tokens.iter().any(is_own)) {
            return Ok(false);
        }
        let removed = self.mcp_tokens.keyring.remove_mcp_token(id);
        // The connections of its page end before their next frame.
        self.known.count_change();
        removed.map_err(|error| kept_nowhere(&error))
    }

    /// Returns who sends a request to `/mcp`: as elsewhere, or the owner of a token that opens it alone.
    ///
    /// # Errors
    /// Returns an error if [`Authenticator::caller_of`] does, or such a token is unknown, expired or taken
    /// back, or its owner has got another role since.
    pub(crate) fn mcp_caller_of(
        &self,
        headers: &HeaderMap,
        channel: &ConnectionChannel,
        address: &str,
        now_ms: u64,
    ) -> Result<FoundMcpCaller, Box<Problem>> {
        let Some(token) = bearer(headers)?.filter(|token| token.starts_with(MCP_TOKEN)) else {
            let (identity, client) = self.sender_of(headers, channel, now_ms)?;
            return Ok(FoundMcpCaller {
                caller: identity.at(client, address),
                login: McpTokenLogin {
                    identity,
                    token: None,
                },
            });
        };
        self.check_origin(headers)?;
        let client = client_of(headers)?;
        let known = |tokens: &[McpToken]| {
            let known = tokens.iter().find(|known| !known.page && known.is(token, now_ms));
            known.cloned()
        };
        let found = self.mcp_tokens.with(known);
        let owner = found.and_then(|token| Some((self.owner_of(&token)?, token.id)));
        let (identity, id) = owner.ok_or_else(|| {
            let why = "the token for /mcp is unknown, has expired, was taken back, or is of another role; `agentx mcp token` makes a new one";
            problem("unauthenticated", why)
        })?;
        Ok(FoundMcpCaller {
            caller: identity.at(client, address),
            login: McpTokenLogin {
                identity,
                token: Some(id),
            },
        })
    }

    /// Returns the login by the token of a person with this id, as if they came with it now: for a task that
    /// a restarted server continues.
    ///
    /// # Errors
    /// Returns the reason if the token does not count any more.
    pub(crate) fn login_by_token(
        &self,
        person: &OwnerId,
        id: &str,
        now_ms: u64,
    ) -> Result<McpTokenLogin, &'static str> {
        let is_it = |token: &&McpToken| token.id == id && token.expires_at_ms > now_ms;
        let found = self.mcp_tokens.with(|tokens| tokens.iter().find(is_it).cloned());
        let owner = found.and_then(|token| self.owner_of(&token));
        let identity = owner.filter(|owner| owner.person == *person).ok_or(GONE)?;
        Ok(McpTokenLogin {
            identity,
            token: Some(id.to_owned()),
        })
    }

    /// Returns why what opened `/mcp` to somebody does not open it any more; `None` if it does.
    pub(crate) fn closed_mcp(&self, login: &McpTokenLogin, now_ms: u64) -> Option<&'static str> {
        if !self.still_knows(&login.identity) {
            return Some(
                "this server no longer trusts you, or in another role than before; ask its operator",
            );
        }
        let person = &login.identity.person;
        let is_gone = |id: &String| !self.has_mcp_token(person, id, now_ms);
        let is_gone = login.token.as_ref().is_some_and(is_gone);
        is_gone.then_some(GONE)
    }

    /// Removes the tokens for `/mcp` of people who are not trusted any more, or have another role by now.
    /// Waits for the disk.
    pub(crate) fn remove_mcp_tokens_of_untrusted(&self) {
        if let Err(error) = self.mcp_tokens.keyring.remove_mcp_tokens_of_untrusted() {
            tracing::warn!(%error, "cannot remove the tokens for /mcp of people who are no longer trusted");
        }
    }

    /// Returns whether a person still has the token for `/mcp` with this id.
    fn has_mcp_token(&self, person: &OwnerId, id: &str, now_ms: u64) -> bool {
        let is_valid = |token: &McpToken| token.id == id && token.expires_at_ms > now_ms;
        self.mcp_tokens.with(|tokens| {
            let mut tokens = tokens.iter();
            tokens.any(|token| is_valid(token) && self.is_of(token, person))
        })
    }

    /// Returns whether a token is of this person, who is still trusted as when it was made.
    fn is_of(&self, token: &McpToken, person: &OwnerId) -> bool {
        let owner = self.owner_of(token);
        owner.is_some_and(|owner| owner.person == *person)
    }

    /// Returns the owner of a token, if they are still trusted as when it was made.
    pub(super) fn owner_of(&self, token: &McpToken) -> Option<Identity> {
        let identity = self.identity_of(&token.key)?;
        let is_same = identity.token_owner().is_some_and(|owner| token.is_of(&owner));
        is_same.then_some(identity)
    }
}

/// The problem of a list that cannot be written. Its path is for the operator alone.
pub(super) fn kept_nowhere(error: &dyn std::error::Error) -> Box<Problem> {
    tracing::warn!(%error, "cannot write the list of tokens");
    problem(
        "unavailable",
        "the server cannot keep its list of tokens; its log says why",
    )
}

#[cfg(test)]
impl McpTokenLogin {
    /// The token with this id, of nobody.
    pub(crate) fn of_token(id: &str) -> Self {
        Self {
            identity: Identity::visitor(),
            token: Some(id.to_owned()),
        }
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}
