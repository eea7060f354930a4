//! The headers that identify the sender of a request: a token, the name of the program, and a nonce for the
//! server to sign.

use agentx_types::wire::{BEARER_SUBPROTOCOL, NONCE_HEADER, Problem};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};

use crate::problems::problem;

/// The header in which a program sends its name.
pub const CLIENT_HEADER: &str = "agentx-client";
/// The largest length of that name, in characters.
pub const CLIENT_CHARS: usize = 64;
/// The allowed lengths of a client's nonce.
const NONCE_CHARS: std::ops::RangeInclusive<usize> = 16..=128;

/// Returns the token in `Authorization: Bearer …`. Refuses two such headers, because a proxy might read the
/// other one.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Box<Problem>> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(problem(
            "unauthenticated",
            "a request has at most one header Authorization",
        ));
    }
    let text = value.to_str().unwrap_or_default();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() {
        return Ok(Some(token.trim()));
    }
    Err(problem(
        "unauthenticated",
        "the header Authorization is not of the form `Bearer <token>`",
    ))
}

/// Returns the token that a browser offers as a WebSocket subprotocol.
pub fn bearer_subprotocol(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|name| name.trim().strip_prefix(BEARER_SUBPROTOCOL))
}

pub(crate) fn client_of(headers: &HeaderMap) -> Result<&str, Box<Problem>> {
    let Some(value) = headers.get(CLIENT_HEADER) else {
        return Ok("http");
    };
    let name = value.to_str().unwrap_or_default();
    check_client(name).map(|()| name)
}

/// Checks the name that a program gives itself.
///
/// # Errors
/// Returns `bad_request` if the name is empty, too long, or could be mistaken for more than a name: it is
/// shown in lines about people.
pub fn check_client(name: &str) -> Result<(), Box<Problem>> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    if !name.is_empty() && name.len() <= CLIENT_CHARS && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(problem(
        "bad_request",
        &format!("a client's name has 1 to {CLIENT_CHARS} letters and digits of ASCII, `-`, `_` and `.`"),
    ))
}

/// Returns the client's nonce, if it sends one. The nonce becomes a line of a text that the server signs, so
/// only letters are allowed.
///
/// # Errors
/// Returns `bad_request` if it is too short, too long or no base64url.
pub(crate) fn nonce_of(headers: &HeaderMap) -> Result<Option<String>, Box<Problem>> {
    let Some(value) = headers.get(NONCE_HEADER) else {
        return Ok(None);
    };
    let nonce = value.to_str().unwrap_or_default();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if NONCE_CHARS.contains(&nonce.len()) && nonce.bytes().all(is_letter) {
        return Ok(Some(nonce.to_owned()));
    }
    let (least, most) = (NONCE_CHARS.start(), NONCE_CHARS.end());
    Err(problem(
        "bad_request",
        &format!("a client's nonce is {least} to {most} characters of base64url"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_comes_with_a_request() {
        let bearer = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            bearer(&headers)
                .map(|token| token.map(str::to_owned))
                .map_err(|problem| problem.code)
        };
        let refused = Err("unauthenticated".to_owned());
        assert_eq!(bearer(&[]), Ok(None));
        assert_eq!(bearer(&["bearer a"]), Ok(Some("a".into())));
        for values in [
            &["a"][..],
            &["Basic a"],
            &["Bearer "],
            &["Bearer a", "Bearer b"],
            &["Bearer a", "x"],
        ] {
            assert_eq!(bearer(values), refused, "{values:?}");
        }
    }
}
