//! Where a secret is in a text.

/// A secret that was found in a text, without its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretPlace {
    /// The name that the replacement has.
    pub name: String,
    /// The place of the first byte.
    pub start: usize,
    /// The place after the last byte.
    pub end: usize,
}
