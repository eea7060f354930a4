//! One tab: its frames, whether it loads, and the dialog that it shows.

use std::collections::HashMap;

use agentx_http::{compared_host, read_page_address};

/// The maximum number of frames of a page that are known.
pub(super) const MOST_FRAMES: usize = 200;

/// A tab.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OpenTab {
    /// The number by which the model names it.
    pub(crate) number: u32,
    /// The session of the protocol.
    pub(crate) session: String,
    /// The target of the protocol, which is also the id of the main frame.
    pub(crate) target: String,
    /// The frames of its page by id, the main one included.
    pub(crate) frames: HashMap<String, PageFrame>,
    /// Whether the main frame loads.
    pub(crate) is_loading: bool,
    /// The dialog that waits for an answer. The page stands still until then.
    pub(crate) dialog: Option<OpenDialog>,
}

/// A frame of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageFrame {
    /// The frame that it is in; `None` for the main frame.
    pub(crate) parent: Option<String>,
    /// The address of its document.
    pub(crate) url: String,
}

/// A dialog of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenDialog {
    /// The kind: `alert`, `confirm`, `prompt` or `beforeunload`.
    pub(crate) kind: String,
    /// The words of the page.
    pub(crate) message: String,
}

impl OpenTab {
    /// The address of the page.
    pub(crate) fn url(&self) -> &str {
        self.frames
            .get(&self.target)
            .map_or("about:blank", |frame| frame.url.as_str())
    }

    /// The host of a frame. A frame whose document has no address of its own has that of the frame around it.
    pub(crate) fn host_of(&self, frame: &str) -> Option<String> {
        let mut id = frame;
        for _ in 0..MOST_FRAMES {
            let frame = self.frames.get(id)?;
            let host = read_page_address(&frame.url).ok();
            if let Some(host) = host.and_then(|url| compared_host(&url)) {
                return Some(host);
            }
            id = frame.parent.as_deref()?;
        }
        None
    }
}

impl OpenDialog {
    /// The dialog in words.
    pub(crate) fn description(&self) -> String {
        format!("a dialog ({}): \"{}\"", self.kind, self.message)
    }
}
