//! Tokens of Google Cloud: requested when the first call needs one, kept until shortly before they end, and
//! requested once for all calls that wait.
//!
//! # The order of things
//!
//! 1. A token that holds for some minutes more is used again. Nothing is sent.
//! 2. Otherwise one call requests another one, and the others wait for it. A call that is cancelled while it
//!    requests leaves that to the next one.
//! 3. A service account signs an assertion (RS256, RFC 7523) with the time of the request; a person's refresh
//!    token is sent as it is. The answer has the token and its time.
//!
//! A token that the server of models refuses (401) is forgotten, and the request is sent once more with
//! another one.
//!
//! A server of tokens that is busy or failing is waited for like a model's server. Any other refusal ends the
//! call as `bad_key`, with the server's words and without anything of the file.
//!
//! # Where credentials go
//!
//! The address of the server of tokens is a claim of a file. It is https at a public address, or this
//! machine: a name that resolves to a local network is refused, and redirects are not followed. Through a
//! proxy, the proxy resolves the name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_http::{Certificates, GuardedResolver, client_builder, literal_address, only_public};
use agentx_llm::google_auth::{GoogleCredentials, GoogleGrant, GoogleToken, decode_token};
use agentx_llm::{Secret, base64};
use agentx_types::{Timestamp, is_public_address};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use tokio::sync::OnceCell;

use super::failure::{AttemptFailure, describe};
use super::unix_seconds::unix_seconds;

/// The time before its end at which a token is renewed, in seconds: the `REFRESH_THRESHOLD` of Google's own
/// library.
const RENEWED_BEFORE: u64 = 225;

/// The maximum time of a request for a token.
const REQUEST: Duration = Duration::from_secs(30);

/// The longest answer, in bytes.
const ANSWER_BYTES: usize = 64 * 1024;

/// The tokens of one account.
#[derive(Debug)]
pub(super) struct GoogleTokens {
    credentials: GoogleCredentials,
    client: OnceCell<Client>,
    /// The latest token, with the second at which it is renewed.
    current: Mutex<Option<(Secret, u64)>>,
    /// Held while a token is requested.
    requesting: tokio::sync::Mutex<()>,
}

impl GoogleTokens {
    pub(super) fn new(credentials: GoogleCredentials) -> Self {
        Self {
            credentials,
            client: OnceCell::new(),
            current: Mutex::new(None),
            requesting: tokio::sync::Mutex::new(()),
        }
    }

    /// The project that pays for a person's requests.
    pub(super) fn quota_project(&self) -> Option<&str> {
        self.credentials.quota_project.as_deref()
    }

    /// The texts that must not be seen.
    pub(super) fn secrets(&self) -> Vec<String> {
        let current = self
            .current()
            .as_ref()
            .map(|(token, _)| token.expose().to_owned());
        let own = self.credentials.secrets().into_iter();
        own.map(|secret| secret.expose().to_owned())
            .chain(current)
            .collect()
    }

    /// Returns a token that holds now.
    ///
    /// # Errors
    /// Returns `bad_key` if there is none, and the failure of the transport if the server cannot be reached.
    pub(super) async fn token(&self, now: Timestamp) -> Result<Secret, AttemptFailure> {
        let present = unix_seconds(now);
        if let Some(token) = self.valid(present) {
            return Ok(token);
        }
        let _alone = self.requesting.lock().await;
        if let Some(token) = self.valid(present) {
            return Ok(token);
        }
        let GoogleToken { token, seconds } = self.request(present).await?;
        let renewed_at = present.saturating_add(seconds).saturating_sub(RENEWED_BEFORE);
        *self.current() = Some((token.clone(), renewed_at));
        Ok(token)
    }

    /// Forgets this token, unless another call has replaced it already.
    pub(super) fn forget(&self, token: &str) {
        let mut current = self.current();
        if current.as_ref().is_some_and(|(known, _)| known.expose() == token) {
            *current = None;
        }
    }

    /// The latest token, if it need not be renewed at this second.
    fn valid(&self, present: u64) -> Option<Secret> {
        let current = self.current();
        let (token, renewed_at) = current.as_ref()?;
        (present < *renewed_at).then(|| token.clone())
    }

    fn current(&self) -> MutexGuard<'_, Option<(Secret, u64)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests a token, with the time of the assertion in seconds since 1970.
    async fn request(&self, present: u64) -> Result<GoogleToken, AttemptFailure> {
        let url = address(&self.credentials.token_uri).map_err(|why| refused(&why))?;
        let form = self.form(present)?;
        let client = self.client.get_or_try_init(make_client).await?;
        let place = url.origin().ascii_serialization();
        let request = client
            .post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let sent = request.send().await;
        let mut response = sent.map_err(|error| AttemptFailure::transport(&error, &place, false))?;
        let mut body = Vec::new();
        loop {
            let piece = response.chunk().await;
            match piece.map_err(|error| AttemptFailure::transport(&error, &place, false))? {
                Some(piece) if body.len() + piece.len() <= ANSWER_BYTES => body.extend_from_slice(&piece),
                Some(_) => return Err(refused(&format!("the answer of {place} is too long"))),
                None => break,
            }
        }
        decode_token(response.status().as_u16(), &body).map_err(|refusal| AttemptFailure {
            retryable: refusal.is_temporary,
            unavailable: refusal.is_temporary,
            ..refused(&format!("{place} gives no token: {refusal}"))
        })
    }

    /// The form for a token at this time, signed by a service account.
    fn form(&self, present: u64) -> Result<String, AttemptFailure> {
        let GoogleGrant::ServiceAccount { private_key, .. } = &self.credentials.grant else {
            return Ok(self.credentials.form(None));
        };
        let assertion = self.credentials.assertion(present).unwrap_or_default();
        let signature = sign(private_key, &assertion).ok_or_else(|| {
            refused(
                "the private key in the file is not an RSA key in PKCS#8, or it is shorter than 2,048 bits",
            )
        })?;
        Ok(self.credentials.form(Some((&assertion, &signature))))
    }
}

/// Signs a text with RS256. Returns `None` if the key is not an RSA key in PKCS#8, or is too short.
///
/// The lines of the armour are skipped, so a key is read with or without them.
fn sign(private_key: &Secret, text: &str) -> Option<Vec<u8>> {
    let pem = private_key.expose();
    let lines = pem
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("-----"));
    let key = base64::decode(&lines.collect::<String>())?;
    let key = RsaKeyPair::from_pkcs8(&key).ok()?;
    let mut signature = vec![0; key.public().modulus_len()];
    let signed = key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text.as_bytes(),
        &mut signature,
    );
    signed.ok().map(|()| signature)
}

/// Checks the address that a file claims.
///
/// # Errors
/// Returns why it is refused; the address itself is not repeated, because it may hold a password.
fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|error| format!("the `token_uri` of the file is not an address: {error}"))?;
    let literal = literal_address(&url);
    let is_here = url.host_str() == Some("localhost") || literal.is_some_and(|address| address.is_loopback());
    let is_private = literal.is_some_and(|address| !is_public_address(address));
    let why = match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => "it contains a user or a password",
        "http" | "https" if is_here => return Ok(url),
        "https" if is_private => "it is in a local network",
        "https" => return Ok(url),
        _ => "it is not https",
    };
    Err(format!("the `token_uri` of the file is refused: {why}"))
}

/// A failure that has nothing to do with the server of models.
fn refused(why: &str) -> AttemptFailure {
    AttemptFailure {
        code: "bad_key",
        ..AttemptFailure::setup(format!("no token of Google Cloud: {why}"))
    }
}

/// Reading the machine's root certificates takes milliseconds and blocks.
async fn make_client() -> Result<Client, AttemptFailure> {
    let made = tokio::task::spawn_blocking(|| {
        client_builder(Certificates::OfThisMachine)
            .timeout(REQUEST)
            .dns_resolver(Arc::new(GuardedResolver::new(only_public)))
            .build()
            .map_err(|error| refused(&describe(&error)))
    });
    made.await.map_err(|error| refused(&error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_tokens_is_public_or_this_machine() {
        for right in [
            "https://oauth2.googleapis.com/token",
            "http://127.0.0.1:9/token",
            "http://[::1]:9/token",
            "http://localhost:9",
        ] {
            assert!(address(right).is_ok(), "{right}");
        }
        for wrong in [
            "http://oauth2.googleapis.com/token",
            "https://10.0.0.1/token",
            "https://169.254.169.254/token",
            "https://[fd00::1]/token",
            "https://[::ffff:10.0.0.1]/",
            "http://localhost.example/",
            "https://me:pw@h.example/",
            "file:///etc/passwd",
            "token",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
