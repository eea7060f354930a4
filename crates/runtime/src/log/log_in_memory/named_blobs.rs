//! The blobs that a fact names, found in its text.

use agentx_session::Fact;
use agentx_types::BlobId;

/// The prefix of a blob's id, and the number of hexadecimal digits after it.
const BLOB: (&[u8], usize) = (b"b3_", 64);

/// The ids of blobs in an event; text that looks like one counts.
pub(super) fn blobs_named(fact: &Fact) -> Vec<BlobId> {
    let payload = fact.payload_json();
    let (begins, digits) = BLOB;
    let whole = begins.len() + digits;
    let ids = payload.windows(whole).filter(|window| {
        let (kind, hash) = window.split_at(begins.len());
        kind == begins && hash.iter().all(u8::is_ascii_hexdigit)
    });
    ids.map(|id| BlobId::new(String::from_utf8_lossy(id))).collect()
}
