//! Authorizes requests to a cloud: each attempt is signed anew, because a signature holds for minutes.

use agentx_llm::CloudCredentials;
use agentx_llm::bedrock::{self, AwsCredentials, SigningRequest};
use agentx_types::Timestamp;
use reqwest::header::{AUTHORIZATION, HOST, HeaderValue};
use reqwest::{Request, Url};

use super::failure::AttemptFailure;

/// The region in which requests are signed if nobody names one: that of Anthropic's own client
/// (<https://github.com/anthropics/anthropic-sdk-python>, `src/anthropic/lib/bedrock/_client.py`).
const USUAL_REGION: &str = "us-east-1";

/// The credentials of a cloud, and what signing needs besides.
#[derive(Clone, Debug)]
pub(super) struct CloudAccess {
    credentials: CloudCredentials,
    region: Option<String>,
}

impl CloudAccess {
    pub(super) fn new(credentials: CloudCredentials, region: Option<&str>) -> Self {
        Self {
            credentials,
            region: region.map(str::to_owned),
        }
    }

    /// The texts that must not be seen.
    pub(super) fn secrets(&self) -> Vec<String> {
        let secrets = self.credentials.secrets().into_iter();
        secrets.map(|secret| secret.expose().to_owned()).collect()
    }

    /// Adds the headers that authorize a request which is sent now.
    pub(super) fn authorize(&self, request: &mut Request, now: Timestamp) -> Result<(), AttemptFailure> {
        match &self.credentials {
            CloudCredentials::Aws(credentials) => self.sign(credentials, request, now),
        }
    }

    fn sign(
        &self,
        credentials: &AwsCredentials,
        request: &mut Request,
        now: Timestamp,
    ) -> Result<(), AttemptFailure> {
        let host = host_of(request.url());
        let named = request.url().host_str().and_then(bedrock::region_of);
        let region = named.or(self.region.as_deref()).unwrap_or(USUAL_REGION);
        let signed = bedrock::sign(
            &SigningRequest {
                host: &host,
                path: request.url().path(),
                region,
                body: request
                    .body()
                    .and_then(|body| body.as_bytes())
                    .unwrap_or_default(),
                unix_seconds: u64::try_from(now.0 / 1_000_000).unwrap_or_default(),
            },
            credentials,
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
