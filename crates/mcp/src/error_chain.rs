//! The text of an error of a connection, with those behind it.

use std::error::Error;

use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::server_tool::cut;

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        next = cause(inner);
    }
    cut(&text.replace('\n', " "), 2000)
}

/// Returns the next cause. The library does not name the error of its HTTP client as one.
pub(crate) fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(inner)) => Some(inner),
        _ => error.source(),
    }
}

/// An error of a transport without the name of its Rust type: `Transport [TYPE] error: WHAT`.
pub(crate) fn without_types(text: &str) -> String {
    let plain = text.strip_prefix("Send message error ").unwrap_or(text);
    let plain = plain.strip_prefix("Transport send error: ").unwrap_or(plain);
    let cut = plain
        .strip_prefix("Transport [")
        .and_then(|rest| rest.split_once("] error: "));
    let plain = cut.map_or(plain, |(_, what)| what);
    let plain = plain
        .split(", when send ")
        .next()
        .unwrap_or(plain)
        .trim_end_matches(',');
    if text.contains("Connection refused") {
        return "nothing listens at its address (connection refused)".to_owned();
    }
    plain.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_a_connection_names_no_type_of_the_program() {
        let refused = "Send message error Transport [rmcp::transport::worker::WorkerTransport<X>] error: Client error: error sending request: Connection refused (os error 111), when send discover request";
        assert_eq!(
            without_types(refused),
            "nothing listens at its address (connection refused)"
        );
        let other = "Send message error Transport [a::b<c::D>] error: Client error: unexpected end, when send initialize request";
        assert_eq!(without_types(other), "Client error: unexpected end");
        let later = "Transport send error: Transport [a::b<c::D>] error: Client error: unexpected end";
        assert_eq!(without_types(later), "Client error: unexpected end");
        assert_eq!(without_types("it closed"), "it closed");
    }
}
