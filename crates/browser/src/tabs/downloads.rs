//! The download of a browser: one at a time.

use agentx_tools::{page_line, quoted_address};

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
    /// The download in words.
    pub(crate) fn description(&self) -> String {
        format!(
            "\"{}\" from {}",
            page_line(&self.suggested_name, LONGEST_NAME),
            quoted_address(&self.url)
        )
    }
}
