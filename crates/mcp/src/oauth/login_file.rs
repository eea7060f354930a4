//! The stored login at a server: a file of the person alone, mode 0600, in the data directory. A lock keeps
//! two processes from spending the same refresh token.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentx_config::Secret;
use agentx_files::{
    FileLock, ReplaceOptions, SecretFileError, make_private_directory, open_secret, remove_leftovers,
    replace_locked,
};
use agentx_runtime::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};

/// The version of the file's format. A file of another version is not read.
const FORM: u32 = 1;
/// The longest file.
const FILE_BYTES: u64 = 256 << 10;
/// A token is renewed this long before it expires.
const MARGIN: Duration = Duration::from_secs(60);
/// The time to wait for another process that renews the login.
const LOCKED: Duration = Duration::from_secs(60);
/// The time that a removal waits for another process that renews the login; it blocks its thread.
const LOCKED_FOR_REMOVAL: Duration = Duration::from_secs(5);
/// The pause between two looks whether it is done.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// The stored form of a login. `Debug` shows no token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    form: u32,
    /// The address of the MCP server; the tokens are sent nowhere else.
    pub(crate) server: String,
    /// The resource that the tokens are for.
    pub(crate) resource: String,
    /// The authorization server.
    pub(crate) issuer: String,
    /// The address that renews the tokens.
    pub(crate) token_endpoint: String,
    /// The client that the authorization server knows.
    pub(crate) client_id: String,
    /// The secret that the authorization server gave to the client.
    #[serde(default)]
    pub(crate) client_secret: Option<String>,
    /// Whether the secret goes into the body of a request.
    #[serde(default)]
    pub(crate) secret_in_body: bool,
    pub(crate) access_token: String,
    #[serde(default)]
    pub(crate) refresh_token: Option<String>,
    /// The time at which the access token expires, in seconds since 1970; `None` if unknown.
    #[serde(default)]
    pub(crate) expires_at: Option<u64>,
    /// The scopes that were granted, separated by spaces.
    #[serde(default)]
    pub(crate) scope: Option<String>,
}

impl std::fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLogin")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// The parts of a login that stay as tokens come and go.
#[derive(Clone, Debug)]
pub(crate) struct LoginParties {
    pub(crate) server: String,
    pub(crate) resource: String,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) secret_in_body: bool,
}

impl LoginParties {
    /// The login with the tokens that were granted.
    pub(crate) fn with(self, granted: GrantedTokens) -> StoredLogin {
        StoredLogin {
            form: FORM,
            server: self.server,
            resource: self.resource,
            issuer: self.issuer,
            token_endpoint: self.token_endpoint,
            client_id: self.client_id,
            client_secret: self.client_secret.map(|secret| secret.expose().to_owned()),
            secret_in_body: self.secret_in_body,
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            expires_at: granted.expires_at,
            scope: granted.scope,
        }
    }
}

/// Tokens that an authorization server granted.
pub(crate) struct GrantedTokens {
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) scope: Option<String>,
}

impl StoredLogin {
    /// Returns whether the access token is valid for a while yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.expires_at.is_none_or(|end| end > now() + MARGIN.as_secs())
    }

    /// The parts that stay.
    pub(crate) fn parties(&self) -> LoginParties {
        LoginParties {
            server: self.server.clone(),
            resource: self.resource.clone(),
            issuer: self.issuer.clone(),
            token_endpoint: self.token_endpoint.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone().map(Secret::new),
            secret_in_body: self.secret_in_body,
        }
    }

    /// The values that no text may show.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let values = [
            Some(&self.access_token),
            self.refresh_token.as_ref(),
            self.client_secret.as_ref(),
        ];
        values.into_iter().flatten().map(Secret::new).collect()
    }
}

/// The seconds since 1970.
pub(crate) fn now() -> u64 {
    u64::try_from(SystemClock.now().0 / 1_000_000).unwrap_or_default()
}

/// The file of a login.
#[derive(Clone, Debug)]
pub(crate) struct LoginFile {
    path: PathBuf,
    /// The currently configured address of the server.
    server: String,
}

impl LoginFile {
    pub(crate) fn new(path: PathBuf, server: &str) -> Self {
        Self {
            path,
            server: server.to_owned(),
        }
    }

    /// The login; `None` if there is none at this server, the file cannot be read, or others have access to
    /// it or own it.
    pub(crate) fn read(&self) -> Option<StoredLogin> {
        let mut bytes = Vec::new();
        let file = open_secret(&self.path)
            .inspect_err(|error| {
                if let SecretFileError::OpenToOthers(_) | SecretFileError::OtherOwner(_) = error {
                    let path = self.path.display();
                    tracing::warn!("{path}: {error}; log in again, and withdraw this login at the server");
                }
            })
            .ok()?;
        file.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
        let login: StoredLogin = serde_json::from_slice(&bytes)
            .inspect_err(|_| tracing::warn!(file = %self.path.display(), "a login cannot be read"))
            .ok()?;
        (login.form == FORM && login.server == self.server).then_some(login)
    }

    /// Replaces the login, and removes tokens that a killed process left beside it. `lock` is that of
    /// [`LoginFile::lock`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn write(&self, login: &StoredLogin, lock: &FileLock) -> std::io::Result<()> {
        let options = ReplaceOptions {
            // A rotated refresh token that is lost means another login.
            durable: true,
            ..ReplaceOptions::default()
        };
        replace_locked(&self.path, &serde_json::to_vec(login)?, options, lock)
    }

    /// Removes the login, and tokens that a killed process left beside it. Returns whether there was a login.
    ///
    /// # Errors
    /// Returns an error if the file cannot be removed, or another process is renewing the login.
    pub(crate) fn remove(&self) -> std::io::Result<bool> {
        let lock = match FileLock::wait(&FileLock::path_for(&self.path), LOCKED_FOR_REMOVAL) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                let busy = "another process is renewing the login; try again when it is done";
                return Err(std::io::Error::other(busy));
            }
            // Without a directory, no login was ever stored.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        remove_leftovers(&self.path, &lock);
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true),
        }
    }

    /// Waits until no other process renews the login, and keeps others from it until the result is dropped.
    /// Makes the directory of the file if there is none.
    ///
    /// # Errors
    /// Returns the reason if another process takes too long, or the lock cannot be made.
    pub(crate) async fn lock(&self) -> Result<FileLock, String> {
        let path = FileLock::path_for(&self.path);
        if let Some(folder) = self.path.parent() {
            make_private_directory(folder)
                .map_err(|error| format!("{} cannot be created: {error}", folder.display()))?;
        }
        let tried = async {
            loop {
                match FileLock::take(&path) {
                    Ok(Some(lock)) => return Ok(lock),
                    Ok(None) => tokio::time::sleep(BETWEEN_ATTEMPTS).await,
                    Err(error) => return Err(format!("{} cannot be locked: {error}", path.display())),
                }
            }
        };
        let locked = tokio::time::timeout(LOCKED, tried).await;
        locked.unwrap_or_else(|_| Err("another process did not finish renewing the login".to_owned()))
    }

    /// The path of the file, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> StoredLogin {
        let parties = LoginParties {
            server: "https://a.example/mcp".into(),
            resource: "https://a.example/mcp".into(),
            issuer: "https://login.example".into(),
            token_endpoint: "https://login.example/token".into(),
            client_id: "c".into(),
            client_secret: Some(Secret::new("made-up-client-secret")),
            secret_in_body: false,
        };
        parties.with(GrantedTokens {
            access_token: "made-up-access".into(),
            refresh_token: Some("made-up-refresh".into()),
            expires_at: Some(now() + 3600),
            scope: None,
        })
    }

    #[tokio::test]
    async fn a_login_is_a_private_file_for_one_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp/a.login");
        let file = LoginFile::new(path.clone(), "https://a.example/mcp");
        assert_eq!(file.read(), None);
        file.write(&login(), &file.lock().await.unwrap()).unwrap();
        assert_eq!(file.read(), Some(login()));
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
            let set_mode = |mode| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
                std::fs::set_permissions(&path, mode).unwrap();
            };
            for open in [0o666, 0o644] {
                set_mode(open);
                assert_eq!(file.read(), None, "others may know it, or have put it there");
            }
            set_mode(0o600);
            assert_eq!(file.read(), Some(login()));
        }
        let elsewhere = LoginFile::new(path.clone(), "https://b.example/mcp");
        assert_eq!(elsewhere.read(), None, "tokens go to their own server alone");
        std::fs::write(&path, "{").unwrap();
        assert_eq!(file.read(), None);
        assert!(file.remove().unwrap() && !file.remove().unwrap());
    }

    #[tokio::test]
    async fn tokens_that_a_killed_process_left_go_with_the_next_write_and_the_removal() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoginFile::new(folder.path().join("a.login"), "https://a.example/mcp");
        let left = folder.path().join("a.login.4194304-0.new");
        std::fs::write(&left, "made-up-refresh").unwrap();
        file.write(&login(), &file.lock().await.unwrap()).unwrap();
        assert!(!left.exists());
        for there_is_one in [true, false] {
            std::fs::write(&left, "made-up-refresh").unwrap();
            assert_eq!(file.remove().unwrap(), there_is_one);
            assert!(!left.exists());
        }
    }

    #[test]
    fn nothing_shows_a_token_and_one_that_ends_soon_is_not_fresh() {
        let shown = format!("{:?}", login());
        assert!(!shown.contains("made-up"), "{shown}");
        assert_eq!(login().secrets().len(), 3);
        assert!(login().is_fresh());
        let soon = StoredLogin {
            expires_at: Some(now() + 30),
            ..login()
        };
        assert!(!soon.is_fresh());
        let never = StoredLogin {
            expires_at: None,
            ..login()
        };
        assert!(never.is_fresh());
    }

    #[tokio::test]
    async fn one_process_at_a_time_renews_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoginFile::new(folder.path().join("a.login"), "x");
        let held = file.lock().await.unwrap();
        let second = file.lock();
        tokio::pin!(second);
        let waits = tokio::time::timeout(Duration::from_millis(120), second.as_mut()).await;
        assert!(waits.is_err());
        drop(held);
        second.await.unwrap();
    }
}
