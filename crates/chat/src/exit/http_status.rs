//! Names the HTTP status of a failed model call: servers word their refusals in many ways, and people look up
//! the number.

/// Returns the standard words of a status.
fn standard_words(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "bad request",
        401 => "unauthorized",
        402 => "payment required",
        403 => "forbidden",
        404 => "not found",
        405 => "method not allowed",
        408 => "timeout",
        409 => "conflict",
        413 => "too large",
        422 => "unprocessable",
        429 => "rate limited",
        501 => "not implemented",
        502 => "bad gateway",
        503 => "unavailable",
        504 => "gateway timeout",
        529 => "overloaded",
        other => match other / 100 {
            4 => "refused",
            5 => "server error",
            _ => return None,
        },
    })
}

/// Returns what a message does not say about its status: the number and the standard words, as "HTTP 429,
/// rate limited", or the number alone.
pub(crate) fn unnamed_status(message: &str, status: Option<u16>) -> Option<String> {
    let number = format!("HTTP {}", status?);
    if message.contains(&number) {
        return None;
    }
    let message = message.to_lowercase();
    let words = standard_words(status?).filter(|words| !message.contains(words));
    Some(match words {
        Some(words) => format!("{number}, {words}"),
        None => number,
    })
}

/// Returns a message with its HTTP status, in front of a remark about the attempts if there is one.
pub(crate) fn with_status(message: &str, status: Option<u16>) -> String {
    let Some(words) = unnamed_status(message, status) else {
        return message.to_owned();
    };
    let remark = message.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match remark.filter(|(_, remark)| is_about_attempts(remark)) {
        Some((said, remark)) => format!("{said} ({words}; {remark})"),
        None => format!("{message} ({words})"),
    }
}

/// Returns whether a remark is the one of the runtime about the attempts, not the server's.
fn is_about_attempts(remark: &str) -> bool {
    ["gave up after ", "at attempt ", "it asks to wait "]
        .iter()
        .any(|words| remark.starts_with(words))
}

/// Returns whether a message says how many attempts failed.
pub(crate) fn counts_attempts(message: &str) -> bool {
    let remark = message.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    remark
        .is_some_and(|(_, remark)| remark.starts_with("gave up after ") || remark.starts_with("at attempt "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_status_once() {
        for (said, status, told) in [
            ("busy", None, "busy"),
            ("no", Some(400), "no (HTTP 400, bad request)"),
            ("no", Some(401), "no (HTTP 401, unauthorized)"),
            ("no", Some(404), "no (HTTP 404, not found)"),
            ("no", Some(418), "no (HTTP 418, refused)"),
            ("no", Some(429), "no (HTTP 429, rate limited)"),
            ("no", Some(500), "no (HTTP 500, server error)"),
            ("no", Some(529), "no (HTTP 529, overloaded)"),
            ("no", Some(302), "no (HTTP 302)"),
            ("Overloaded", Some(529), "Overloaded (HTTP 529)"),
            ("no (made up)", Some(500), "no (made up) (HTTP 500, server error)"),
            (
                "no (gave up after 7 attempts in 15s)",
                Some(500),
                "no (HTTP 500, server error; gave up after 7 attempts in 15s)",
            ),
            (
                "HTTP 500 without a message (server_error)",
                Some(500),
                "HTTP 500 without a message (server_error)",
            ),
        ] {
            assert_eq!(with_status(said, status), told);
        }
    }

    #[test]
    fn a_remark_about_attempts_counts_them() {
        assert!(counts_attempts("no (gave up after 7 attempts in 15s)"));
        assert!(counts_attempts("no (at attempt 2)"));
        assert!(!counts_attempts("no (it asks to wait 2h, but more is too long)"));
        assert!(!counts_attempts("gave up after 7 attempts"));
    }
}
