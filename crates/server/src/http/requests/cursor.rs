//! The position at which a page of a list ends: opaque to clients, and exact even if many sessions changed at
//! the same time.

use agentx_types::{SessionId, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::http::ApiError;

/// The last session of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The time of the last change.
    pub(crate) at: Timestamp,
    pub(crate) id: SessionId,
    /// The number of sessions with that time that were already returned.
    pub(crate) tied: usize,
}

impl Cursor {
    /// Encodes the cursor for the client.
    pub(crate) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}.{}.{}", self.at.0, self.tied, self.id))
    }

    /// Decodes a cursor of a client.
    ///
    /// # Errors
    /// Returns an error if it was never handed out.
    pub(crate) fn decode(text: &str) -> Result<Self, ApiError> {
        Self::read(text)
            .ok_or_else(|| ApiError::new("bad_request", "the cursor was not issued by this server"))
    }

    fn read(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut parts = text.splitn(3, '.');
        let at = Timestamp(parts.next()?.parse().ok()?);
        let tied = parts.next()?.parse().ok()?;
        let id = SessionId::new(parts.next()?);
        Some(Self { at, id, tied })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = Cursor {
            at: Timestamp(17),
            id: "ses_a.b".into(),
            tied: 3,
        };
        assert_eq!(Cursor::read(&cursor.encode()), Some(cursor));
        for wrong in ["", "x", "!!", "MTcuMw", "LTEuLTEueA"] {
            assert!(Cursor::decode(wrong).is_err(), "{wrong}");
        }
    }
}
