//! The names by which a session knows the parts of memory: the source of contexts, and the two tools.

/// The name of the source in the configuration of an agent, and the key of its requests.
pub const MEMORY_SOURCE: &str = "memory";
/// The name of the tool that looks memories up.
pub(crate) const RECALL_MEMORY: &str = "recall_memory";
/// The name of the tool that keeps one.
pub(crate) const REMEMBER: &str = "remember";
