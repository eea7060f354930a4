//! Tokens of Google Cloud from the files that Google's programs keep, sans-IO: the contents of a file, the
//! request for a token, and its answer. The shell signs and sends.
//!
//! | `type` of the file | made by | sent |
//! | --- | --- | --- |
//! | `service_account` | the console of Google Cloud | a JWT, signed with the key of the account (RFC 7523) |
//! | `authorized_user` | `gcloud auth application-default login` | the refresh token of a person (RFC 6749) |
//!
//! As in <https://github.com/googleapis/google-auth-library-python>, `google/oauth2/service_account.py` and
//! `google/oauth2/_client.py`. Other types need further servers and are not supported.

use agentx_types::Api;
use serde_json::{Map, Value, json};

use crate::base64;
use crate::percent::encode;
use crate::secret::Secret;

/// The address at which Google issues access tokens.
pub const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// Returns the address of a publisher's models in a project, as Anthropic's client makes it
/// (<https://github.com/anthropics/anthropic-sdk-python>, `src/anthropic/lib/vertex/_client.py`). The region
/// may be `global`, or `us` or `eu` for all regions there.
///
/// ```
/// use agentx_llm::google_auth::vertex_base_url;
/// use agentx_types::Api;
///
/// assert_eq!(
///     vertex_base_url(Api::VertexAnthropic, "my-project", "europe-west1"),
///     "https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/publishers/anthropic"
/// );
/// ```
pub fn vertex_base_url(api: Api, project: &str, region: &str) -> String {
    let host = match region {
        "global" => "aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("aiplatform.{region}.rep.googleapis.com"),
        _ => format!("{region}-aiplatform.googleapis.com"),
    };
    let publisher = if api == Api::Gemini { "google" } else { "anthropic" };
    format!("https://{host}/v1/projects/{project}/locations/{region}/publishers/{publisher}")
}

/// The permitted use of a token.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The lifetime of an assertion in seconds: the maximum that Google accepts.
const ASSERTION_SECONDS: u64 = 3_600;

/// The lifetime of a token in seconds, if the server does not name it.
const TOKEN_SECONDS: u64 = 3_600;

/// The credentials in a file of Google.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoogleCredentials {
    /// The identity for which tokens are requested.
    pub grant: GoogleGrant,
    /// The server of tokens, as the file claims. Callers check it before they send anything to it.
    pub token_uri: String,
    /// The project of the account, if the file names one.
    pub project: Option<String>,
    /// The project that pays for a person's requests (`x-goog-user-project`), if the file names one.
    pub quota_project: Option<String>,
}

/// The identity for which tokens are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoogleGrant {
    /// A service account, by a signature.
    ServiceAccount {
        /// The name of the account.
        email: String,
        /// Its private key: PKCS#8 as PEM.
        private_key: Secret,
        /// The id of the key.
        key_id: Option<String>,
    },
    /// A person, by a refresh token.
    AuthorizedUser {
        /// The program that the person allowed.
        client_id: String,
        /// The program's secret.
        client_secret: Secret,
        /// The token.
        refresh_token: Secret,
    },
}

/// An access token for requests to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoogleToken {
    /// The token, for `authorization: Bearer`.
    pub token: Secret,
    /// Its lifetime in seconds.
    pub seconds: u64,
}

/// The error of a token request that the server refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TokenRefusal {
    /// The message of the server.
    pub message: String,
    /// Whether the server is only busy or failing.
    pub is_temporary: bool,
}

impl GoogleCredentials {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error that shows nothing from the file except its type.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| "it is not a JSON object".to_owned())?;
        let optional =
            |name: &str| Some(file.get(name)?.as_str()?.to_owned()).filter(|text| !text.is_empty());
        let text = |name: &str| optional(name).ok_or_else(|| format!("it has no `{name}`"));
        let grant = match &*text("type")? {
            "service_account" => GoogleGrant::ServiceAccount {
                email: text("client_email")?,
                private_key: Secret::new(text("private_key")?),
                key_id: optional("private_key_id"),
            },
            "authorized_user" => GoogleGrant::AuthorizedUser {
                client_id: text("client_id")?,
                client_secret: Secret::new(text("client_secret")?),
                refresh_token: Secret::new(text("refresh_token")?),
            },
            other => {
                return Err(format!(
                    "credentials of the type {other:?} are not supported; there are service_account and authorized_user"
                ));
            }
        };
        Ok(Self {
            grant,
            token_uri: optional("token_uri").unwrap_or_else(|| TOKEN_URI.to_owned()),
            project: optional("project_id"),
            quota_project: optional("quota_project_id"),
        })
    }

    /// Returns all secrets of these credentials.
    pub fn secrets(&self) -> Vec<&Secret> {
        match &self.grant {
            GoogleGrant::ServiceAccount { private_key, .. } => vec![private_key],
            GoogleGrant::AuthorizedUser {
                client_secret,
                refresh_token,
                ..
            } => vec![client_secret, refresh_token],
        }
    }

    /// Returns the text that a service account signs with RS256 at this time; `None` for a person.
    pub fn assertion(&self, unix_seconds: u64) -> Option<String> {
        let GoogleGrant::ServiceAccount { email, key_id, .. } = &self.grant else {
            return None;
        };
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if let Some(id) = key_id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": unix_seconds,
            "exp": unix_seconds + ASSERTION_SECONDS,
        });
        let part = |part: Value| url_base64(part.to_string().as_bytes());
        Some(format!("{}.{}", part(header), part(claims)))
    }

    /// Returns the form that is posted for a token: with the assertion and its signature, or with the refresh
    /// token.
    pub fn form(&self, signed: Option<(&str, &[u8])>) -> String {
        let assertion = signed.map(|(text, signature)| format!("{text}.{}", url_base64(signature)));
        let fields = match &self.grant {
            GoogleGrant::ServiceAccount { .. } => vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                ("assertion", assertion.as_deref().unwrap_or_default()),
            ],
            GoogleGrant::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
            } => vec![
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret.expose()),
                ("refresh_token", refresh_token.expose()),
            ],
        };
        let fields = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value, false)));
        fields.collect::<Vec<_>>().join("&")
    }
}

/// Reads the answer of the server of tokens.
///
/// # Errors
/// Returns the server's words if it gives no token.
pub fn decode_token(status: u16, body: &[u8]) -> Result<GoogleToken, TokenRefusal> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().filter(|text| !text.is_empty());
    if let (200..=299, Some(token)) = (status, text("access_token")) {
        // Some servers write the number as a text.
        let seconds = body["expires_in"]
            .as_u64()
            .or_else(|| text("expires_in")?.parse().ok());
        return Ok(GoogleToken {
            token: Secret::new(token),
            seconds: seconds.unwrap_or(TOKEN_SECONDS),
        });
    }
    let words = [text("error"), text("error_description")];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    Err(TokenRefusal {
        message: match words.as_slice() {
            [] => format!("HTTP {status} without a token"),
            words => words.join(": "),
        },
        is_temporary: status == 429 || status >= 500,
    })
}

/// Base64 for URLs, without padding (RFC 7515).
fn url_base64(bytes: &[u8]) -> String {
    let text = base64::encode(bytes).replace('+', "-").replace('/', "_");
    text.trim_end_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up.
    const USER: &str = r#"{"type":"authorized_user","client_id":"c&d","client_secret":"made-up-1",
        "refresh_token":"made-up/2","quota_project_id":"payer","token_uri":"http://127.0.0.1:9/token"}"#;

    #[test]
    fn a_refresh_token_is_sent_as_a_form() {
        let user = GoogleCredentials::parse(USER).expect("it is valid");
        assert_eq!(user.assertion(0), None);
        assert_eq!(
            user.form(None),
            "grant_type=refresh_token&client_id=c%26d&client_secret=made-up-1&refresh_token=made-up%2F2"
        );
        assert_eq!(user.quota_project.as_deref(), Some("payer"));
        assert!(!format!("{user:?}").contains("made-up"), "secrets are not shown");
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why_and_nothing_of_what_is_in_it() {
        for (text, why) in [
            ("made-up-secret", "it is not a JSON object"),
            ("[]", "it is not a JSON object"),
            ("{}", "it has no `type`"),
            (
                r#"{"type":"service_account","private_key":"made-up-secret"}"#,
                "it has no `client_email`",
            ),
            (
                r#"{"type":"authorized_user","client_id":"c","client_secret":7}"#,
                "it has no `client_secret`",
            ),
            (
                r#"{"type":"external_account"}"#,
                "credentials of the type \"external_account\" are not supported",
            ),
        ] {
            let said = GoogleCredentials::parse(text).expect_err("it is not valid");
            assert!(
                said.starts_with(why) && !said.contains("made-up-secret"),
                "{said}"
            );
        }
    }

    #[test]
    fn an_answer_has_a_token_or_says_why_not() {
        let token = decode_token(200, br#"{"access_token":"t","expires_in":"60"}"#).expect("a token");
        assert_eq!((token.token.expose(), token.seconds), ("t", 60));
        let refused = decode_token(
            400,
            br#"{"error":"invalid_grant","error_description":"Bad Request"}"#,
        );
        let refused = refused.expect_err("no token");
        assert_eq!(
            (refused.message.as_str(), refused.is_temporary),
            ("invalid_grant: Bad Request", false)
        );
        assert!(decode_token(503, b"<html>").is_err_and(|refused| refused.is_temporary));
        assert!(decode_token(200, b"{}").is_err());
    }
}
