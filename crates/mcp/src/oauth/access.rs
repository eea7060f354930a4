//! The token of a server that is used: read from its file, and renewed before it expires or once it is
//! refused.

use agentx_config::Secret;
use reqwest::Url;

use super::login_file::{LoginFile, StoredLogin};
use super::requests::LoginRequests;
use super::token_request::{TokenFailure, tokens};
use crate::failure::McpFailure;
use crate::hidden::HiddenValues;

/// The login of one server.
#[derive(Clone, Debug)]
pub(crate) struct LoginAccess {
    file: LoginFile,
    hidden: HiddenValues,
}

impl LoginAccess {
    /// The login in a file. Its tokens are added to `hidden` when they are used.
    pub(crate) fn new(file: LoginFile, hidden: HiddenValues) -> Self {
        Self { file, hidden }
    }

    /// The token to send; `None` if there is no login. One that expires soon is renewed first.
    ///
    /// # Errors
    /// Returns an error if the login has ended, or cannot be renewed now.
    pub(crate) async fn token(&self) -> Result<Option<Secret>, McpFailure> {
        match self.file.read() {
            None => Ok(None),
            Some(login) if login.is_fresh() => Ok(Some(self.used(&login))),
            Some(login) => self.renewed(&Secret::new(login.access_token)).await.map(Some),
        }
    }

    /// A token in place of `refused`: another process may have renewed it already.
    ///
    /// # Errors
    /// Returns an error if the login has ended, or cannot be renewed now.
    pub(crate) async fn renewed(&self, refused: &Secret) -> Result<Secret, McpFailure> {
        let lock = self.file.lock().await.map_err(McpFailure::Login)?;
        let login = self.file.read().ok_or(McpFailure::Unauthorized)?;
        if login.access_token != refused.expose() && login.is_fresh() {
            return Ok(self.used(&login));
        }
        let renewed = match renew(&login).await {
            Ok(renewed) => renewed,
            Err(TokenFailure::Refused(_)) => return Err(McpFailure::Unauthorized),
            Err(TokenFailure::Unavailable(why)) => {
                return Err(McpFailure::Login(format!("it cannot be renewed now: {why}")));
            }
        };
        let token = self.used(&renewed);
        self.file
            .write(&renewed, &lock)
            .map_err(|error| McpFailure::Store(self.file.path().display().to_string(), error.to_string()))?;
        Ok(token)
    }

    fn used(&self, login: &StoredLogin) -> Secret {
        self.hidden.add(login.secrets());
        Secret::new(&login.access_token)
    }
}

/// Exchanges the refresh token for new tokens.
async fn renew(login: &StoredLogin) -> Result<StoredLogin, TokenFailure> {
    let Some(refresh) = &login.refresh_token else {
        return Err(TokenFailure::Refused("the login cannot be renewed".to_owned()));
    };
    let server = Url::parse(&login.server).map_err(|error| TokenFailure::Unavailable(error.to_string()))?;
    let requests = LoginRequests::of(&server)
        .await
        .map_err(TokenFailure::Unavailable)?;
    let grant = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
    ];
    let mut granted = tokens(&requests, &login.parties(), &grant).await?;
    granted.refresh_token = granted.refresh_token.or_else(|| login.refresh_token.clone());
    granted.scope = granted.scope.or_else(|| login.scope.clone());
    Ok(login.parties().with(granted))
}
