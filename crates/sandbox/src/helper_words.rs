//! The words of the command line of the helper, which starts it and which it reads.

/// The word with which the helper tries namespaces.
pub(crate) const PROBE: &str = "probe";
/// The beginning of its answer if the reason may be gone at the next attempt.
pub(crate) const PASSING: &str = "passing: ";
/// The word with which it tries control groups.
pub(crate) const PROBE_LIMITS: &str = "probe-limits";
/// The word behind [`HELPER`](crate::HELPER) with which it runs a command.
pub(crate) const RUN: &str = "run";
/// The same for a command that locks its own directory for temporary files.
pub(crate) const RUN_LOCKED: &str = "run-locked";
/// The word with which it keeps the root directory of a policy for commands, of which it starts copies.
pub(crate) const TEMPLATE: &str = "template";
