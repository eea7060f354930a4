//! Google's token server: it returns a token for the signature of a service account, or for a person's
//! refresh token, and refuses the same requests as Google.

use std::collections::BTreeMap;

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use super::{VendorRefusal, VendorRule, base64};
use crate::HttpRequest;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Google's server of tokens.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    FORM: "google-token-form", "A request for a token is a POST of a form with a `grant_type` that the server knows.",
        "https://developers.google.com/identity/protocols/oauth2/service-account", "2026-11-28";
    ASSERTION: "google-assertion", "An assertion is a JWT with the issuer, the audience and a scope, signed by the account with RS256.",
        "https://developers.google.com/identity/protocols/oauth2/service-account", "2026-11-28";
    TIME: "google-assertion-time", "An assertion is of now, and holds for at most an hour.",
        "https://developers.google.com/identity/protocols/oauth2/service-account", "2026-11-28";
    REFRESH: "google-refresh-token", "A refresh token is one that was given to this client.",
        "https://developers.google.com/identity/protocols/oauth2/web-server#offline", "2026-11-28";
}

/// The maximum error of a caller's clock in seconds.
const SKEW: u64 = 300;

/// The server.
#[derive(Clone, Debug, Default)]
pub struct GoogleTokenServer {
    /// Public keys of service accounts, by name.
    accounts: BTreeMap<String, Vec<u8>>,
    /// Client, secret and refresh token of people.
    people: Vec<[String; 3]>,
    given: u64,
}

impl GoogleTokenServer {
    /// Creates a server that knows nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows a service account by its public key (PKCS#1, DER).
    #[must_use]
    pub fn with_account(mut self, email: &str, public_key: &[u8]) -> Self {
        self.accounts.insert(email.to_owned(), public_key.to_vec());
        self
    }

    /// Knows a refresh token.
    #[must_use]
    pub fn with_person(mut self, client_id: &str, client_secret: &str, refresh_token: &str) -> Self {
        let person = [client_id, client_secret, refresh_token].map(str::to_owned);
        self.people.push(person);
        self
    }

    /// Answers a request to `address` that came at a time: a token that holds for an hour, `made-up-token-N`.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn token(
        &mut self,
        address: &str,
        request: &HttpRequest,
        unix_seconds: u64,
    ) -> Result<Value, VendorRefusal> {
        let is_form = request.header("content-type") == Some("application/x-www-form-urlencoded");
        if request.method != "POST" || !is_form {
            return Err(refuse(
                FORM,
                "invalid_request",
                "Missing required parameter: grant_type",
            ));
        }
        let form = form(&request.body);
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        match field("grant_type") {
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                self.check_assertion(field("assertion"), address, unix_seconds)?;
            }
            "refresh_token" => {
                let person = ["client_id", "client_secret", "refresh_token"].map(field);
                if !self.people.iter().any(|known| known == &person) {
                    return Err(refuse(REFRESH, "invalid_grant", "Bad Request"));
                }
            }
            other => {
                return Err(refuse(
                    FORM,
                    "unsupported_grant_type",
                    &format!("Invalid grant_type: {other}"),
                ));
            }
        }
        self.given += 1;
        let token = format!("made-up-token-{}", self.given);
        Ok(json!({ "access_token": token, "expires_in": 3_599, "token_type": "Bearer" }))
    }

    fn check_assertion(&self, assertion: &str, address: &str, now: u64) -> Result<(), VendorRefusal> {
        let wrong = |what: &str| refuse(ASSERTION, "invalid_grant", what);
        let (text, signature) = assertion.rsplit_once('.').unwrap_or_default();
        let (header, claims) = text.split_once('.').unwrap_or_default();
        let json = |part: &str| -> Value {
            let bytes = decoded(part).unwrap_or_default();
            serde_json::from_slice(&bytes).unwrap_or_default()
        };
        let (header, claims) = (json(header), json(claims));
        if header["alg"] != "RS256" || claims["aud"] != address || !claims["scope"].is_string() {
            return Err(wrong("Invalid JWT: Failed audience check."));
        }
        let key = claims["iss"]
            .as_str()
            .and_then(|issuer| self.accounts.get(issuer));
        let key = key.ok_or_else(|| wrong("Invalid grant: account not found"))?;
        let signature = decoded(signature).unwrap_or_default();
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        if key.verify(text.as_bytes(), &signature).is_err() {
            return Err(wrong("Invalid JWT Signature."));
        }
        let (from, until) = (
            claims["iat"].as_u64().unwrap_or_default(),
            claims["exp"].as_u64().unwrap_or_default(),
        );
        if from.abs_diff(now) > SKEW || until <= now || until > from + 3_600 {
            let what =
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.";
            return Err(refuse(TIME, "invalid_grant", what));
        }
        Ok(())
    }
}

/// Decodes base64 for URLs without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let padding = "=".repeat((4 - text.len() % 4) % 4);
    base64(&format!("{}{padding}", text.replace('-', "+").replace('_', "/")))
}

/// The fields of a form.
fn form(body: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(body);
    let fields = text.split('&').filter_map(|field| field.split_once('='));
    fields
        .map(|(name, value)| (name.to_owned(), unescaped(value)))
        .collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let code: Option<u8> = (byte == b'%')
            .then(|| {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
            })
            .flatten();
        bytes.push(code.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A refusal in the form of RFC 6749.
fn refuse(rule: &'static VendorRule, error: &str, message: &str) -> VendorRefusal {
    VendorRefusal {
        rule,
        status: 400,
        message: message.to_owned(),
        body: json!({ "error": error, "error_description": message }),
    }
}
