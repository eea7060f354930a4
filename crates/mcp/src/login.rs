//! The login at a server, as far as a person may see it.

use crate::oauth::StoredLogin;

/// A login at a server, without its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpLogin {
    /// The authorization server that granted it.
    pub issuer: String,
    /// The granted scopes, separated by spaces; `None` if unknown.
    pub scope: Option<String>,
    /// The time at which its token expires, in seconds since 1970; `None` if unknown.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without the person.
    pub renewable: bool,
}

impl From<&StoredLogin> for McpLogin {
    fn from(login: &StoredLogin) -> Self {
        Self {
            issuer: login.issuer.clone(),
            scope: login.scope.clone(),
            expires_at: login.expires_at,
            renewable: login.refresh_token.is_some(),
        }
    }
}
