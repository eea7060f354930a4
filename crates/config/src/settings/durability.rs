//! The setting `durability`: how long a commit waits before it counts.

/// The kind of crash that committed events survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurabilitySetting {
    /// The death of the process.
    #[default]
    Process,
    /// A loss of power too: each commit waits for the disk.
    Machine,
}
