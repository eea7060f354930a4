//! Signature Version 4 of AWS for one request with a body in memory. The caller passes the time; this module
//! reads neither a clock nor the environment.

use std::fmt::Write as _;

use agentx_types::{Timestamp, UtcTime, hex};
use ring::{digest, hmac};

use super::credentials::AwsCredentials;
use crate::percent::encode;
use crate::secret::Secret;

/// The service in the scope of a signature.
const SERVICE: &str = "bedrock";

/// A POST request to sign. Its `content-type` is `application/json`.
#[derive(Clone, Copy, Debug)]
pub struct SigningRequest<'a> {
    /// The host, with a port that is not the scheme's own.
    pub host: &'a str,
    /// The path of the request, from [`invoke_path`](super::invoke_path).
    pub path: &'a str,
    /// The region, such as `us-east-1`.
    pub region: &'a str,
    /// The body of the request.
    pub body: &'a [u8],
    /// The time of the request, in seconds since 1970-01-01 UTC.
    pub unix_seconds: u64,
}

/// The headers that a signed request has besides `host` and `content-type: application/json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHeaders {
    /// `x-amz-date`: the time that was signed.
    pub date: String,
    /// The value of the header `authorization`.
    pub authorization: Secret,
    /// `x-amz-security-token`, if the credentials are temporary.
    pub security_token: Option<Secret>,
}

/// Signs a request with AWS Signature Version 4.
pub fn sign(request: &SigningRequest<'_>, credentials: &AwsCredentials) -> SignedHeaders {
    let date = timestamp(request.unix_seconds);
    let day = &date[..8];
    let scope = format!("{day}/{}/{SERVICE}/aws4_request", request.region);
    let mut names = "content-type;host;x-amz-date".to_owned();
    let mut headers = format!(
        "content-type:application/json\nhost:{}\nx-amz-date:{date}\n",
        request.host
    );
    if let Some(token) = &credentials.session_token {
        names.push_str(";x-amz-security-token");
        let _ = writeln!(headers, "x-amz-security-token:{}", token.expose());
    }
    // The signature covers the path encoded once more: `%3A` becomes `%253A`.
    let canonical = format!(
        "POST\n{}\n\n{headers}\n{names}\n{}",
        encode(request.path, true),
        sha256(request.body)
    );
    let text = format!(
        "AWS4-HMAC-SHA256\n{date}\n{scope}\n{}",
        sha256(canonical.as_bytes())
    );
    let first = format!("AWS4{}", credentials.secret_access_key.expose());
    let key = [day, request.region, SERVICE, "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, part| {
            hmac_sha256(&key, part.as_bytes()).as_ref().to_vec()
        });
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        credentials.access_key_id,
        hex(hmac_sha256(&key, text.as_bytes()).as_ref())
    );
    SignedHeaders {
        date,
        authorization: Secret::new(authorization),
        security_token: credentials.session_token.clone(),
    }
}

/// Returns SHA-256 in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Returns HMAC-SHA256 (RFC 2104).
fn hmac_sha256(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

/// Returns a time as `20260304T050607Z`.
fn timestamp(unix_seconds: u64) -> String {
    let micros = i64::try_from(unix_seconds)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000_000);
    let UtcTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
    } = Timestamp(micros).utc();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_times_as_aws_reads_them() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(timestamp(seconds), text);
        }
    }
}
