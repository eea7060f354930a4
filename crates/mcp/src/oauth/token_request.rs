//! Requests to a token endpoint: a code for tokens, and a refresh token for new ones (RFC 6749, RFC 7636,
//! RFC 8707).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde::Deserialize;

use super::login_file::{GrantedTokens, LoginParties, now};
use super::requests::LoginRequests;
use crate::server_tool::shown;

/// The reason for a failed token request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenFailure {
    /// The grant is used up, expired or revoked: only a new login helps.
    Refused(String),
    /// The server could not be asked, or did not answer as it should; the grant may still be valid.
    Unavailable(String),
}

impl std::fmt::Display for TokenFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(why) | Self::Unavailable(why) => f.write_str(why),
        }
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    #[serde(default)]
    token_type: String,
    expires_in: Option<serde_json::Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

/// An error of an authorization server, as it describes it.
#[derive(Default, Deserialize)]
pub(super) struct ErrorAnswer {
    #[serde(default)]
    pub(super) error: String,
    #[serde(default)]
    pub(super) error_description: String,
}

impl ErrorAnswer {
    /// The error for people, without control characters and bounded.
    pub(super) fn in_words(&self) -> String {
        const LONGEST: usize = 300;
        let text = match self.error_description.as_str() {
            "" => self.error.clone(),
            description => format!("{}: {description}", self.error),
        };
        crate::server_tool::cut(&shown(&text), LONGEST)
    }
}

/// Asks for tokens: `grant` has the grant type and what belongs to it.
pub(super) async fn tokens(
    requests: &LoginRequests,
    parties: &LoginParties,
    grant: &[(&str, &str)],
) -> Result<GrantedTokens, TokenFailure> {
    let endpoint = requests
        .parse(&parties.token_endpoint)
        .map_err(TokenFailure::Unavailable)?;
    let mut fields = grant.to_vec();
    fields.push(("resource", &parties.resource));
    let secret = parties.client_secret.as_ref().map(|secret| secret.expose());
    if secret.is_none() || parties.secret_in_body {
        fields.push(("client_id", &parties.client_id));
    }
    if let Some(secret) = secret.filter(|_| parties.secret_in_body) {
        fields.push(("client_secret", secret));
    }
    let mut request = requests
        .post(&endpoint)
        .map_err(TokenFailure::Unavailable)?
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form(&fields));
    if let Some(secret) = secret.filter(|_| !parties.secret_in_body) {
        let pair = format!("{}:{}", encoded(&parties.client_id), encoded(secret));
        request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
    }
    let (status, body) = requests.send(request).await.map_err(TokenFailure::Unavailable)?;
    if status.is_client_error() {
        let said: ErrorAnswer = serde_json::from_slice(&body).unwrap_or_default();
        let words = format!("the token endpoint refused: {status} {}", said.in_words());
        return Err(match said.error.as_str() {
            "invalid_grant" | "invalid_client" | "unauthorized_client" => TokenFailure::Refused(words),
            _ => TokenFailure::Unavailable(words),
        });
    }
    if !status.is_success() {
        return Err(TokenFailure::Unavailable(format!(
            "the token endpoint answered {status}"
        )));
    }
    granted(&body).map_err(TokenFailure::Unavailable)
}

/// Reads the answer of a token endpoint. The error contains no part of it, because it may hold a token.
fn granted(body: &[u8]) -> Result<GrantedTokens, String> {
    let answer: TokenResponse = serde_json::from_slice(body)
        .map_err(|_| "the answer of the token endpoint has no token".to_owned())?;
    if !answer.token_type.eq_ignore_ascii_case("bearer") {
        return Err(format!(
            "the token endpoint granted a token of the type {:?}; only `Bearer` is supported",
            shown(&answer.token_type)
        ));
    }
    let is_plain = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_plain(&answer.access_token) {
        return Err("the token that was granted cannot be sent in a header".to_owned());
    }
    // Some servers send the number as a text.
    let seconds = answer.expires_in.and_then(|value| match value {
        serde_json::Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    });
    Ok(GrantedTokens {
        access_token: answer.access_token,
        refresh_token: answer.refresh_token.filter(|token| !token.is_empty()),
        expires_at: seconds.map(|seconds: u64| now().saturating_add(seconds)),
        scope: answer.scope,
    })
}

/// The fields of a form in a body.
fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter();
    let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Encodes a text for a form.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_bearer_token_or_an_error_without_it() {
        let read = |json: &str| granted(json.as_bytes());
        let tokens =
            read(r#"{"access_token":"a","token_type":"bearer","expires_in":60,"refresh_token":"r"}"#);
        let tokens = tokens.ok().unwrap();
        assert!(tokens.expires_at.is_some_and(|end| end >= now() + 59));
        assert_eq!(
            (tokens.access_token.as_str(), tokens.refresh_token.as_deref()),
            ("a", Some("r"))
        );
        let text = read(r#"{"access_token":"a","token_type":"Bearer","expires_in":"60"}"#)
            .ok()
            .unwrap();
        assert!(text.expires_at.is_some());
        for wrong in [
            r#"{"access_token":"secret","token_type":"mac"}"#,
            r#"{"access_token":"secret"}"#,
            r#"{"access_token":"sec ret","token_type":"Bearer"}"#,
            r#"{"access_token":"","token_type":"Bearer"}"#,
            r#"{"token":"secret"}"#,
            "secret",
        ] {
            let error = read(wrong).err().unwrap();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn fields_are_encoded() {
        assert_eq!(form(&[("a", "1 2"), ("b", "ü&=")]), "a=1%202&b=%C3%BC%26%3D");
    }
}
