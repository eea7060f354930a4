//! A change of a file that a look at the workspace found.

/// A file before or after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    /// The content; `None` if it is no longer known.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) mode: u32,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundChange {
    /// The absolute path.
    pub(super) path: String,
    /// `None` if there was no file.
    pub(super) before: Option<FileState>,
    /// `None` if there is no file.
    pub(super) after: Option<FileState>,
    /// The directories that were made for it, outermost first.
    pub(super) directories: Vec<String>,
}

/// The changes that a look found.
#[derive(Debug, Default)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<FoundChange>,
    /// The number of further changes, which are not kept.
    pub(super) beyond: u64,
    /// The size of the contents.
    bytes: usize,
}

/// The most changes of one command that are kept.
const MOST_CHANGES: usize = 2_000;
/// The most bytes of their contents, which are in memory until they are stored.
const MOST_BYTES: usize = 64 << 20;

impl FileState {
    fn size(state: Option<&Self>) -> usize {
        state.and_then(|state| state.bytes.as_ref()).map_or(0, Vec::len)
    }
}

impl FoundChanges {
    /// Adds a change, or counts it if there are too many.
    pub(super) fn add(&mut self, change: FoundChange) {
        let size = FileState::size(change.before.as_ref()) + FileState::size(change.after.as_ref());
        if self.changes.len() >= MOST_CHANGES || self.bytes.saturating_add(size) > MOST_BYTES {
            self.beyond += 1;
            return;
        }
        self.bytes += size;
        self.changes.push(change);
    }

    pub(super) fn append(&mut self, other: Self) {
        self.beyond += other.beyond;
        for change in other.changes {
            self.add(change);
        }
    }
}
