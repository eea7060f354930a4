//! The settings of the browser, and its limits.

use std::path::PathBuf;
use std::time::Duration;

/// The settings of browsers. The person's own settings have them, no file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserOptions {
    /// The program; `None` for the first Chromium or Chrome in `PATH`.
    pub program: Option<PathBuf>,
    /// The directory in which each browser gets a directory for its profile.
    pub profiles: PathBuf,
    /// Hosts outside of the public internet that may be reached, by name or address.
    pub local_hosts: Vec<String>,
    /// Whether Chromium starts without the sandbox around its own processes.
    pub without_sandbox: bool,
}

impl BrowserOptions {
    /// The first browser in `PATH` with its own sandbox, profiles in this directory, and no local hosts.
    pub fn new(profiles: impl Into<PathBuf>) -> Self {
        Self {
            program: None,
            profiles: profiles.into(),
            local_hosts: Vec::new(),
            without_sandbox: false,
        }
    }
}

/// The maximum number of browsers of a process.
pub(crate) const MOST_BROWSERS: usize = 4;
/// The maximum number of tabs of a browser.
pub(crate) const MOST_TABS: usize = 10;
/// The time for Chromium to start.
pub(crate) const STARTING: Duration = Duration::from_secs(30);
/// The time for a page to load.
pub(crate) const LOADING: Duration = Duration::from_secs(20);
/// The time within which a page begins to load another one after an act.
pub(crate) const REACTING: Duration = Duration::from_millis(250);
/// The longest wait for a text.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The time for a download.
pub(crate) const DOWNLOADING: Duration = Duration::from_secs(120);
/// The largest download, in bytes.
pub(crate) const LARGEST_DOWNLOAD: u64 = 64 << 20;
/// The largest picture of a page, in bytes: 5 MB in Base64.
pub(crate) const LARGEST_PICTURE: usize = 3_750_000;
/// The bytes of a page's outline that the model reads at once.
pub(crate) const SHOWN: usize = 24 << 10;
/// The bytes of the lines that are new after an act.
pub(crate) const SHOWN_CHANGES: usize = 4 << 10;
/// The width and height of the window, in pixels.
pub(crate) const WINDOW: (u32, u32) = (1280, 900);
