//! The text of an error of a connection, with those behind it.

use crate::server_tool::cut;

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = inner.source();
    }
    cut(&text.replace('\n', " "), 2000)
}
