//! The downloads of a browser since a call forgot those before.

use agentx_tools::{page_line, quoted_address};

/// The maximum number of downloads that are known; others are cancelled.
pub(super) const MOST_DOWNLOADS: usize = 10;
/// The longest suggested name that is shown, in characters.
const LONGEST_NAME: usize = 200;

/// A download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageDownload {
    /// The id, which is also the name of its file.
    pub(crate) id: String,
    /// The address that it comes from.
    pub(crate) url: String,
    /// The name that the page suggests.
    pub(crate) suggested_name: String,
    /// The state.
    pub(crate) state: DownloadState,
}

/// The state of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DownloadState {
    /// More is expected.
    Running,
    /// All of it is there.
    Complete,
    /// It was refused or broke off.
    Canceled,
    /// It was longer than the largest one.
    TooLarge,
}

impl PageDownload {
    /// Returns whether no more of it is expected.
    pub(crate) fn has_ended(&self) -> bool {
        self.state != DownloadState::Running
    }

    /// Returns whether it was refused or broke off.
    pub(crate) fn is_canceled(&self) -> bool {
        self.state == DownloadState::Canceled
    }

    /// The download in words.
    pub(crate) fn description(&self) -> String {
        format!(
            "\"{}\" from {}",
            page_line(&self.suggested_name, LONGEST_NAME),
            quoted_address(&self.url)
        )
    }
}
