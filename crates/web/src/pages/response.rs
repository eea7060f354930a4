//! Parts of answers that pages and `robots.txt` files share: a header, and the reason if a server is silent.

use reqwest::header::{HeaderMap, HeaderName};

use crate::cause;

/// The value of a header in lower case; empty if there is none.
pub(super) fn header(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

/// The reason why a server did not answer.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn unreachable(error: reqwest::Error) -> String {
    format!("it cannot be reached: {}", cause(&error))
}
