//! The rows of a log as they are stored: one log returns them, and another adopts them, so that a copy has
//! the same bytes as the original. Only the log knows the meaning of a row's bytes; the JSON form is that of
//! the protocol.

use agentx_types::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use agentx_session::Digest;

/// A row: some facts in order, and their link in the chain of hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogRow {
    /// The `seq` of the first event.
    pub first_seq: u64,
    /// The number of the last event.
    pub last_seq: u64,
    /// Whether a segment begins here: only such a row can be read without the rows before it.
    pub starts: bool,
    /// The time at which its last event was taken into the log.
    pub at: Timestamp,
    /// The hash at its end.
    #[serde(with = "hex")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))
    )]
    pub hash: Digest,
    /// The digest of the events derived until its end; absent if a batch continues in the next row.
    #[serde(default, with = "hex_or_none", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<String>", regex(pattern = "^[0-9a-f]{64}$"))
    )]
    pub derived: Option<Digest>,
    /// The records, in base64.
    #[serde(with = "base64")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("contentEncoding" = "base64"))
    )]
    pub data: Vec<u8>,
}

/// A range of a session's events in one chain of rows. A session that is not a fork has one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPart {
    /// The session of this chain.
    pub session_id: SessionId,
    /// The hash that the chain begins with.
    #[serde(with = "hex")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))
    )]
    pub base_hash: Digest,
    /// The events follow this `seq`.
    pub after_seq: u64,
    /// The last event that belongs to it.
    pub upto_seq: u64,
}

/// A place in a chain, between two rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPlace {
    /// The event before it.
    pub seq: u64,
    /// The hash there.
    #[serde(with = "hex")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))
    )]
    pub hash: Digest,
}

/// Some rows of a session's log, all of one part: whole segments, and the last one as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogRows {
    /// The parts of the session, root first; the last part is its own.
    pub parts: Vec<LogPart>,
    /// The index of the part that the rows are of, from 0.
    pub part: usize,
    /// The place that the first row continues from.
    pub before: LogPlace,
    /// The rows, in order.
    pub rows: Vec<LogRow>,
    /// The `after_seq` of the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after_seq: Option<u64>,
}

/// Rows of another log that replace a log's own rows for the same facts.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// The parts of the session there.
    pub parts: Vec<LogPart>,
    /// For a fork: which session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
    /// The place that the first row continues from.
    pub before: LogPlace,
    /// The rows, in order; those of the parts of a fork follow each other.
    pub rows: Vec<LogRow>,
    /// The digest of the events derived up to the last fact here, for facts that no row reaches.
    pub derived: Digest,
}

/// A hash as people write it.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use agentx_session::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(*digest).to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text).map_err(serde::de::Error::custom)?;
        Ok(*hash.as_bytes())
    }
}

/// A hash, if there is one.
mod hex_or_none {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use agentx_session::Digest;

    pub(super) fn serialize<S: Serializer>(
        digest: &Option<Digest>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => super::hex::serialize(digest, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Digest>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let hash = text.map(blake3::Hash::from_hex).transpose();
        Ok(hash
            .map_err(serde::de::Error::custom)?
            .map(|hash| *hash.as_bytes()))
    }
}

/// Bytes in a string.
mod base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn rows_are_read_back_as_they_were() {
        let row = LogRow {
            first_seq: 3,
            last_seq: 4,
            starts: true,
            at: Timestamp(5),
            hash: [7; 32],
            derived: None,
            data: vec![0, 1, 255],
        };
        let with_digest = LogRow {
            derived: Some([9; 32]),
            ..row.clone()
        };
        for row in [row, with_digest] {
            let text = serde_json::to_string(&row).unwrap();
            assert!(text.contains(r#""data":"AAH/""#), "{text}");
            assert_eq!(serde_json::from_str::<LogRow>(&text).unwrap(), row);
        }
        for wrong in [r#""hash":"07""#, r#""data":"?""#] {
            let text = format!(r#"{{"first_seq":1,"last_seq":1,"starts":true,"at":1,{wrong}}}"#);
            assert!(serde_json::from_str::<LogRow>(&text).is_err());
        }
    }
}
