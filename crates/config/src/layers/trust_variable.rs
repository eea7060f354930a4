//! The variable that tells a program to trust the folder in which it works.

/// The variable that trusts the current folder as it is, for containers and CI.
pub(crate) const VARIABLE: &str = "AGENTX_TRUST_FOLDER";
/// The description of that variable.
pub(crate) const MEANING: &str = "`1` trusts the folder of this start as it is";
