//! The variable by which a program is told to trust the folder that it works in.

/// The variable that trusts the current folder as it is, for containers and CI.
pub(crate) const VARIABLE: &str = "AGENTX_TRUST_FOLDER";
