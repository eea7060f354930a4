//! The bytes that are stored: how facts become rows and rows facts again, the chain of hashes through them,
//! and the payloads that are stored apart.

pub(crate) mod ancestor_names;
pub(crate) mod blobs;
mod bytes;
pub(crate) mod chain;
pub(crate) mod codec;
pub(crate) mod redaction_mark;
pub(crate) mod segment;
