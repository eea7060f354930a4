//! The contents of an error body in a neutral form. `extract.rs` extracts them; `overflow.rs` and
//! `retry_after.rs` read sizes and waiting times from them.

/// The contents of an error body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extracted {
    /// The provider's own words.
    pub(crate) message: String,
    /// The types and codes, in lower case.
    pub(crate) words: Vec<String>,
    /// A status that the body names.
    pub(crate) status: Option<u16>,
    /// The number of tokens that fit, if a field of the body has it.
    pub(crate) window: Option<u64>,
    /// The number of tokens of the request, from the same source.
    pub(crate) asked: Option<u64>,
    /// The time that the caller should wait, in milliseconds, if a field of the body has it.
    pub(crate) wait_ms: Option<u64>,
    /// The time at which a limit is reset, in milliseconds since 1970.
    pub(crate) resets_at_ms: Option<u64>,
    /// Whether a quota of a whole day is used up.
    pub(crate) of_a_day: bool,
    /// Whether this one request is larger than the limit for a minute.
    pub(crate) never_passes: bool,
    /// The setting of the request that the error is about, if a field of the body names it.
    pub(crate) param: Option<String>,
}
