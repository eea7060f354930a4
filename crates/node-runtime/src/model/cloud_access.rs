//! Authorizes requests to a cloud, each attempt anew: a signature holds for minutes, a token for an hour.
//!
//! | cloud | credentials | headers of an attempt |
//! | --- | --- | --- |
//! | Amazon Bedrock | an access key | `authorization` with a signature, `x-amz-date`, `x-amz-security-token` |
//! | Vertex AI | a service account, a person | `authorization` with a token, `x-goog-user-project` |
//!
//! An API key of Bedrock and a token that a person gives are ordinary keys: the endpoint sends them itself,
//! without this module.
//!
//! The signature is over the bytes that are sent: the host with its port, the path as it is encoded, and the
//! body. A request that waited for its next attempt is signed with the time of that attempt, because AWS
//! refuses one that is older than five minutes.

use std::sync::Arc;

use agentx_llm::CloudCredentials;
use agentx_llm::bedrock::{self, AwsCredentials, SigningRequest};
use agentx_types::Timestamp;
use reqwest::header::{AUTHORIZATION, HOST, HeaderValue};
use reqwest::{Body, Request, Url};

use super::failure::AttemptFailure;
use super::google_tokens::GoogleTokens;
use super::unix_seconds::unix_seconds;

/// The region in which requests are signed if nobody names one: that of Anthropic's own client
/// (<https://github.com/anthropics/anthropic-sdk-python>, `src/anthropic/lib/bedrock/_client.py`).
const USUAL_REGION: &str = "us-east-1";

/// The way in which requests to a cloud are authorized. Clones share tokens.
#[derive(Clone, Debug)]
pub(super) enum CloudAccess {
    /// Each request is signed.
    Aws(AwsSigner),
    /// Each request has a token, which is renewed in time.
    Google(Arc<GoogleTokens>),
}

impl CloudAccess {
    pub(super) fn new(credentials: CloudCredentials, region: Option<&str>) -> Self {
        match credentials {
            CloudCredentials::Aws(credentials) => Self::Aws(AwsSigner {
                credentials,
                region: region.map(str::to_owned),
            }),
            CloudCredentials::Google(credentials) => Self::Google(Arc::new(GoogleTokens::new(credentials))),
        }
    }

    /// The texts that must not be seen.
    ///
    /// A refusal of AWS quotes what it signed itself, and the token of a temporary key is among that.
    pub(super) fn secrets(&self) -> Vec<String> {
        match self {
            Self::Aws(signer) => {
                let credentials = &signer.credentials;
                let all = std::iter::once(&credentials.secret_access_key).chain(&credentials.session_token);
                all.map(|secret| secret.expose().to_owned()).collect()
            }
            Self::Google(tokens) => tokens.secrets(),
        }
    }

    /// Forgets a token that was refused. Returns whether there may be another one: a signature is made for
    /// the current time, so another would be refused as well.
    pub(super) fn forgets(&self, authorization: &str) -> bool {
        match self {
            Self::Aws(_) => false,
            Self::Google(tokens) => {
                let token = authorization.strip_prefix("Bearer ");
                token.is_some_and(|token| {
                    tokens.forget(token);
                    true
                })
            }
        }
    }

    /// Adds the headers that authorize a request which is sent now.
    ///
    /// # Errors
    /// Returns `bad_key` if the credentials cannot be sent, or Google gives no token for them, and the
    /// failure of the transport if its server of tokens cannot be reached.
    pub(super) async fn authorize(
        &self,
        request: &mut Request,
        now: Timestamp,
    ) -> Result<(), AttemptFailure> {
        match self {
            Self::Aws(signer) => signer.sign(request, now),
            Self::Google(tokens) => {
                let token = tokens.token(now).await?;
                let bearer = format!("Bearer {}", token.expose());
                let headers = request.headers_mut();
                headers.insert(AUTHORIZATION, header(&bearer, true)?);
                if let Some(project) = tokens.quota_project() {
                    headers.insert("x-goog-user-project", header(project, false)?);
                }
                Ok(())
            }
        }
    }
}

/// An access key of AWS, and what signing needs besides.
#[derive(Clone, Debug)]
pub(super) struct AwsSigner {
    credentials: AwsCredentials,
    region: Option<String>,
}

impl AwsSigner {
    /// Signs a request.
    ///
    /// The region is the one that the host names: a signature for another one is refused. Behind an address
    /// of a person's own, such as a proxy, it is the configured one.
    fn sign(&self, request: &mut Request, now: Timestamp) -> Result<(), AttemptFailure> {
        let host = host_of(request.url());
        let named = request.url().host_str().and_then(bedrock::region_of);
        let region = named.or(self.region.as_deref()).unwrap_or(USUAL_REGION);
        let signed = bedrock::sign(
            &SigningRequest {
                host: &host,
                path: request.url().path(),
                region,
                body: request.body().and_then(Body::as_bytes).unwrap_or_default(),
                unix_seconds: unix_seconds(now),
            },
            &self.credentials,
        );
        let headers = request.headers_mut();
        headers.insert(HOST, header(&host, false)?);
        headers.insert("x-amz-date", header(&signed.date, false)?);
        headers.insert(AUTHORIZATION, header(signed.authorization.expose(), true)?);
        if let Some(token) = &signed.security_token {
            headers.insert("x-amz-security-token", header(token.expose(), true)?);
        }
        Ok(())
    }
}

/// The value of the header `host`: with a port that is not the scheme's own.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The value of a header. A secret one is not shown by `Debug`.
fn header(value: &str, is_secret: bool) -> Result<HeaderValue, AttemptFailure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| AttemptFailure {
        code: "bad_key",
        ..AttemptFailure::setup(
            "the credentials of the cloud have characters that cannot be sent, such as a line break"
                .to_owned(),
        )
    })?;
    value.set_sensitive(is_secret);
    Ok(value)
}
