//! The version of Landlock without which a step keeps none of its promises.

/// The version of Landlock that a step needs to keep its promises: it holds signals and abstract sockets
/// (Linux 6.12).
pub(crate) const NEEDED_ABI: u32 = 6;
