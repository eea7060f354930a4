//! The mark at the beginning of a row whose events were replaced: `0x06`, and the hash of the records behind
//! it.
//!
//! Such a row is a whole segment. Its `hash` stays that of the earlier records, so that the chain continues
//! from it; the mark holds the hash of the present ones. A fact of the session names both.

use agentx_runtime::Digest;

/// The first byte of the mark; no record begins with it.
const MARK: u8 = 0x06;

/// The hash in the mark, if there is one, and the records.
pub(crate) fn split(stored: &[u8]) -> (Option<Digest>, &[u8]) {
    let marked = stored.split_first().filter(|(first, _)| **first == MARK);
    match marked.and_then(|(_, rest)| rest.split_first_chunk::<32>()) {
        Some((hash, records)) => (Some(*hash), records),
        None => (None, stored),
    }
}

/// The records with a mark before them.
pub(crate) fn put_before(records: &[u8], hash: &Digest) -> Vec<u8> {
    let mut stored = Vec::with_capacity(records.len() + 33);
    stored.push(MARK);
    stored.extend_from_slice(hash);
    stored.extend_from_slice(records);
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_with_their_mark_and_without_one() {
        let marked = put_before(&[1, 2, 3], &[7; 32]);
        assert_eq!(split(&marked), (Some([7; 32]), &[1, 2, 3][..]));
        assert_eq!(split(&[1, 2, 3]), (None, &[1, 2, 3][..]));
        assert_eq!(split(&[MARK, 2, 3]), (None, &[MARK, 2, 3][..]), "it is cut off");
        assert_eq!(split(&[]), (None, &[][..]));
    }
}
