//! The ids of streamed events, by which a client that was cut off continues: `seq`, or `seq.index`.

use agentx_runtime::EventCursor;
use agentx_types::wire::WireView;

use crate::http::ApiError;

/// Parses an event id to a cursor.
///
/// # Errors
/// Returns an error if the id is malformed.
pub(crate) fn place(id: &str) -> Result<EventCursor, ApiError> {
    let found = match id.split_once('.') {
        Some((seq, index)) => seq.parse().ok().zip(index.parse().ok()).map(EventCursor::from),
        None => id.parse().ok().map(EventCursor::after),
    };
    found.ok_or_else(|| ApiError::new("bad_request", "Last-Event-ID was not issued by this server"))
}

/// Writes the id of the event at this place.
pub(crate) fn write_id(view: WireView, EventCursor { seq, index }: EventCursor, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to memory has no way to fail.
    let _ = match view {
        WireView::Environment => write!(out, "{seq}"),
        WireView::Runtime | WireView::Ui => write!(out, "{seq}.{index}"),
    };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn an_id_says_where_to_go_on() {
        for (view, here) in [
            (WireView::Environment, EventCursor::after(17)),
            (WireView::Runtime, (17, 2).into()),
        ] {
            let mut id = String::new();
            write_id(view, here, &mut id);
            assert_eq!(place(&id).unwrap(), here, "{id}");
        }
        for wrong in ["", "x", "1.x", "-1", "1.2.3"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
