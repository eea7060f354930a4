//! Checks a Signature Version 4 from the request as it arrived, independently of the client's code
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>).

use std::fmt::Write as _;

use ring::{digest, hmac};

use super::{AccessKey, refuse, rules};
use crate::HttpRequest;
use crate::vendors::VendorRefusal;

/// The maximum age of a signature in seconds.
const MAX_AGE: u64 = 300;

/// The parts of an `authorization`.
struct AuthorizationParts<'a> {
    access_key: &'a str,
    scope: &'a str,
    signed: &'a str,
    signature: &'a str,
}

/// Looks at the signature of a request that came at a time.
pub(super) fn check(
    request: &HttpRequest,
    authorization: &str,
    keys: &[AccessKey],
    region: &str,
    unix_seconds: u64,
) -> Result<(), VendorRefusal> {
    let incomplete = || {
        refuse(
            rules::TOKEN,
            403,
            "Authorization header requires existence of a signature.",
        )
    };
    let claim = claim(authorization).ok_or_else(incomplete)?;
    let token = request.header("x-amz-security-token");
    let key = keys
        .iter()
        .find(|key| key.id == claim.access_key && key.token.as_deref() == token);
    let Some(key) = key else {
        let message = "The security token included in the request is invalid.";
        return Err(refuse(rules::ACCESS_KEY, 403, message));
    };
    let date = request.header("x-amz-date").unwrap_or_default();
    let day = date.get(..8).unwrap_or_default();
    if claim.scope != format!("{day}/{region}/bedrock/aws4_request") {
        let message = format!(
            "Credential should be scoped to a valid region, not {}.",
            claim.scope
        );
        return Err(refuse(rules::SCOPE, 403, &message));
    }
    let names: Vec<&str> = claim.signed.split(';').collect();
    let has_to_be = |name: &str| name == "host" || name.starts_with("x-amz-");
    let missing = request
        .headers
        .iter()
        .find(|(name, _)| has_to_be(name) && !names.contains(&name.as_str()));
    if let Some((name, _)) = missing {
        let message = format!("{name} is not a signed header.");
        return Err(refuse(rules::SIGNED, 403, &message));
    }
    let signed_at = seconds(date).ok_or_else(incomplete)?;
    if signed_at.abs_diff(unix_seconds) > MAX_AGE {
        let message =
            format!("Signature expired: {date} is now earlier than the clock of the server allows.");
        return Err(refuse(rules::TIME, 403, &message));
    }
    let text = format!(
        "AWS4-HMAC-SHA256\n{date}\n{}\n{}",
        claim.scope,
        hash(canonical(request, claim.signed).as_bytes())
    );
    let secret = format!("AWS4{}", key.secret).into_bytes();
    let signing = claim
        .scope
        .split('/')
        .fold(secret, |key, part| mac(&key, part.as_bytes()));
    if hex(&mac(&signing, text.as_bytes())) != claim.signature {
        let message = "The request signature we calculated does not match the signature you provided. \
                       Check your AWS Secret Access Key and signing method.";
        return Err(refuse(rules::SIGNATURE, 403, message));
    }
    Ok(())
}

fn claim(authorization: &str) -> Option<AuthorizationParts<'_>> {
    let fields = authorization.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let field = |name: &str| {
        let mut all = fields.split(',').map(str::trim);
        all.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    let (access_key, scope) = field("Credential")?.split_once('/')?;
    Some(AuthorizationParts {
        access_key,
        scope,
        signed: field("SignedHeaders")?,
        signature: field("Signature")?,
    })
}

/// The canonical request. The segments of the path are encoded once more than they came.
fn canonical(request: &HttpRequest, signed: &str) -> String {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let path: Vec<String> = path.split('/').map(encoded).collect();
    let mut text = format!("{}\n{}\n{query}\n", request.method, path.join("/"));
    for name in signed.split(';') {
        let _ = writeln!(text, "{name}:{}", request.header(name).unwrap_or_default().trim());
    }
    let _ = write!(text, "\n{signed}\n{}", hash(&request.body));
    text
}

fn encoded(segment: &str) -> String {
    segment.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte))
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        text
    })
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
        .as_ref()
        .to_vec()
}

fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The seconds since 1970 of a time such as `20261128T200000Z`; `None` for another form.
fn seconds(date: &str) -> Option<u64> {
    let number = |from: usize, to: usize| date.get(from..to)?.parse::<u64>().ok();
    if date.len() != 16 || date.get(8..9) != Some("T") || !date.ends_with('Z') {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_years: u64 = (1970..year)
        .map(|year| if is_leap(year) { 366 } else { 365 })
        .sum();
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let of_months: u64 = months
        .iter()
        .take(usize::try_from(month.checked_sub(1)?).ok()?)
        .sum();
    let days = of_years + of_months + day.checked_sub(1)?;
    Some(days * 86_400 + number(9, 11)? * 3_600 + number(11, 13)? * 60 + number(13, 15)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_aws_are_read() {
        assert_eq!(seconds("19700101T000000Z"), Some(0));
        assert_eq!(seconds("20000229T000000Z"), Some(951_782_400));
        assert_eq!(seconds("21000301T000000Z"), Some(4_107_542_400));
        assert_eq!(seconds("2000-02-29T00:00"), None);
    }
}
