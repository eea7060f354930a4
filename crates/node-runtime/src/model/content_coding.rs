//! The body of an answer, decompressed if necessary. Requests ask for no compression, but some proxies and
//! gateways compress anyway.
//!
//! Only gzip is decompressed, and only with the feature `gzip`. Any other coding is an error that names it,
//! without another attempt, which would have the same coding. A body that decompresses to more than its limit
//! is cut off soon after it, so that a small answer cannot fill the memory.

use reqwest::Response;

use super::failure::AttemptFailure;

/// An answer whose body is read piece by piece.
pub(super) struct IncomingBody {
    response: Response,
    packing: ContentCoding,
    #[cfg(feature = "gzip")]
    most: usize,
}

/// The coding of a body, by its `content-encoding`.
enum ContentCoding {
    None,
    /// Several gzip streams behind each other count as one, as some proxies send them.
    #[cfg(feature = "gzip")]
    Gzip(gzip::Unpacker),
    /// A coding that cannot be read here.
    Unknown(String),
}

/// The reason why a body cannot be read further.
pub(super) enum UnreadableBody {
    /// The connection broke, or the body ended before its length.
    Lost(reqwest::Error),
    /// The coding is unknown, or the body does not match it.
    Packed(String),
}

impl IncomingBody {
    /// The body of this answer. A piece that unpacks to more than `most` bytes is cut off soon after them.
    pub(super) fn new(
        response: Response,
        #[cfg_attr(not(feature = "gzip"), expect(unused))] most: usize,
    ) -> Self {
        let named = response
            .headers()
            .get("content-encoding")
            .and_then(|value| value.to_str().ok());
        let packing = match named.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => ContentCoding::None,
            #[cfg(feature = "gzip")]
            "gzip" | "x-gzip" => ContentCoding::Gzip(gzip::Unpacker::new(Vec::new())),
            other => ContentCoding::Unknown(other.to_owned()),
        };
        Self {
            response,
            packing,
            #[cfg(feature = "gzip")]
            most,
        }
    }

    /// The answer without its body.
    pub(super) fn response(&self) -> &Response {
        &self.response
    }

    /// Returns the declared content type, in lower case and without parameters; empty if there is none.
    pub(super) fn content_type(&self) -> String {
        let headers = self.response.headers();
        let value = headers.get("content-type").and_then(|value| value.to_str().ok());
        let essence = value.and_then(|value| value.split(';').next());
        essence.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The next piece; `None` at the end. Safe to drop while it waits.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, UnreadableBody> {
        if let ContentCoding::Unknown(name) = &self.packing {
            return Err(UnreadableBody::Packed(format!(
                "the answer is encoded as `{name}`, which was not requested"
            )));
        }
        let Some(piece) = self.response.chunk().await.map_err(UnreadableBody::Lost)? else {
            return Ok(None);
        };
        #[cfg(feature = "gzip")]
        if let ContentCoding::Gzip(unpacker) = &mut self.packing {
            let unpacked = gzip::unpack(unpacker, &piece, self.most)
                .map_err(|error| UnreadableBody::Packed(format!("the answer is not valid gzip: {error}")))?;
            return Ok(Some(unpacked));
        }
        Ok(Some(piece.to_vec()))
    }
}

#[cfg(feature = "gzip")]
mod gzip {
    use std::io::{self, Write as _};

    use flate2::write::MultiGzDecoder;

    pub(super) type Unpacker = MultiGzDecoder<Vec<u8>>;

    /// The number of bytes to decompress at once: a kilobyte may expand to a thousand, so the limit is
    /// checked in between.
    const STEP: usize = 1_024;

    pub(super) fn unpack(decoder: &mut Unpacker, piece: &[u8], most: usize) -> io::Result<Vec<u8>> {
        for step in piece.chunks(STEP) {
            decoder.write_all(step)?;
            if decoder.get_ref().len() > most {
                break;
            }
        }
        decoder.flush()?;
        Ok(std::mem::take(decoder.get_mut()))
    }
}

impl UnreadableBody {
    /// The failure of the attempt. A wrongly compressed answer leads to no other attempt, which would have
    /// the same result.
    pub(super) fn into_failure(self, place: &str) -> AttemptFailure {
        match self {
            Self::Lost(error) => AttemptFailure::transport(&error, place, true),
            Self::Packed(what) => AttemptFailure::unreadable(format!("{place}: {what}")),
        }
    }
}

/// Returns whether a body begins with anything but a JSON object, after a byte order mark and spaces.
pub(super) fn is_no_object(body: &[u8]) -> bool {
    let begins = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let first = begins.trim_ascii_start().first();
    first.is_some_and(|byte| *byte != b'{')
}
