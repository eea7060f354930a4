//! Tokens with which other programs of this person use `/mcp` of a server: made, listed and taken back.

use std::time::Duration;

use agentx_runtime::RuntimeError;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::RemoteRuntime;
use crate::http::Query;

/// A new token. `Debug` does not show it.
pub struct NewMcpToken {
    /// The id, by which it is taken back.
    pub id: String,
    /// The token, which the server shows once.
    pub token: String,
    /// The time at which it expires: milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl std::fmt::Debug for NewMcpToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewMcpToken")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A token, without its text.
#[derive(Clone, Debug, Deserialize)]
pub struct ListedMcpToken {
    /// The id, by which it is taken back.
    pub id: String,
    /// The name of the program that has it.
    pub name: String,
    /// The time at which it was made: milliseconds since 1970.
    pub made_at_ms: u64,
    /// The time at which it expires: milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl RemoteRuntime {
    /// Makes a token with which the program `name` uses `/mcp` as this person, and nothing else.
    ///
    /// # Errors
    /// Returns an error if the server refuses, or is too old to make such tokens.
    pub async fn make_mcp_token(&self, name: &str, lifetime: Duration) -> Result<NewMcpToken, RuntimeError> {
        let wish = json!({"name": name, "lifetime_s": lifetime.as_secs()});
        let made = self.core().http.sign_in(Some(&wish)).await?;
        let Some(id) = made.id else {
            return Err(RuntimeError::Refused(
                "this server cannot make tokens for other programs, because it is older; update it".into(),
            ));
        };
        Ok(NewMcpToken {
            id,
            token: made.token,
            expires_at_ms: made.expires_at_ms,
        })
    }

    /// Lists the valid tokens of this person for `/mcp`.
    ///
    /// # Errors
    /// Returns an error as [`RuntimeError`] describes.
    pub async fn mcp_tokens(&self) -> Result<Vec<ListedMcpToken>, RuntimeError> {
        self.core().http.json(Query::get(&["tokens"])).await
    }

    /// Takes a token back: its next request is refused.
    ///
    /// # Errors
    /// Returns an error if this person has no token with that id.
    pub async fn revoke_mcp_token(&self, id: &str) -> Result<(), RuntimeError> {
        let path = ["tokens", id];
        let ask = Query::new(Method::DELETE, &path);
        self.core().http.bytes(ask).await.map(drop)
    }
}
