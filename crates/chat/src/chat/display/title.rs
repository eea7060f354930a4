//! Sets the title of the terminal: the name of the session, and whether it works or asks. The old title
//! returns when the chat gives the terminal back.

use agentx::types::{RuntimeEvent, SessionChange};

use crate::render::clean::visible;
use crate::render::conversation;
use crate::render::table::cut;
use crate::terminal::title;

/// The longest name of a session in a title.
const LONGEST: usize = 60;
/// The states that a title shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chat) enum TitleState {
    Waits,
    Works,
    Asks,
}

/// The title of the terminal.
#[derive(Debug)]
pub(in crate::chat) struct TerminalTitle {
    is_wanted: bool,
    /// The name of the session; the folder until it has one.
    name: String,
    is_named: bool,
    shown: String,
}

impl TerminalTitle {
    /// A title that begins with the name of the folder.
    pub(in crate::chat) fn new(is_wanted: bool, workspace: &std::path::Path) -> Self {
        let mut title = Self {
            is_wanted,
            name: String::new(),
            is_named: false,
            shown: String::new(),
        };
        title.forget(workspace);
        title
    }

    /// Notes that another session begins: the title is the folder until the session has a name.
    pub(in crate::chat) fn forget(&mut self, workspace: &std::path::Path) {
        let folder = workspace.file_name().unwrap_or_default();
        (self.name, self.is_named) = (folder.to_string_lossy().into_owned(), false);
    }

    /// Takes the name of a session; an empty name leaves the title unchanged.
    pub(in crate::chat) fn rename(&mut self, name: &str) {
        if let Some(line) = name.lines().map(str::trim).find(|line| !line.is_empty()) {
            (self.name, self.is_named) = (line.to_owned(), true);
        }
    }

    /// Takes the name that an event gives the session. A session without one is called by its first message,
    /// as in lists.
    pub(in crate::chat) fn event(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::SessionUpdated(updated) => {
                if let SessionChange::Title(title) = &updated.change {
                    self.rename(title);
                }
            }
            RuntimeEvent::UserMessageAdded(added)
                if !self.is_named && !conversation::is_note(&added.message) =>
            {
                self.rename(&added.message.text());
            }
            _ => {}
        }
    }

    /// Returns the bytes that make the terminal show this state, or nothing if it already does.
    pub(in crate::chat) fn take(&mut self, state: TitleState) -> String {
        if !self.is_wanted {
            return String::new();
        }
        let sign = match state {
            TitleState::Waits => "",
            TitleState::Works => "… ",
            TitleState::Asks => "? ",
        };
        let text = format!("{sign}{} · agentx", cut(&visible(&self.name), LONGEST));
        if title::is_set() && self.shown == text {
            return String::new();
        }
        let bytes = title::bytes(&text);
        self.shown = text;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_title_is_written_when_it_changes_and_restored_once() {
        let mut shown = TerminalTitle::new(true, Path::new("/home/ada/hello"));
        assert_eq!(
            shown.take(TitleState::Waits),
            "\x1b[22;0t\x1b]0;hello · agentx\x07"
        );
        assert_eq!(shown.take(TitleState::Waits), "");
        shown.rename("fix the\x1b]0;bug\nplease");
        let works = shown.take(TitleState::Works);
        assert!(
            works.starts_with("\x1b]0;… fix the") && works.matches('\x1b').count() == 1,
            "{works:?}"
        );
        assert!(!works.contains("please"));
        assert_eq!(title::farewell(), "\x1b[23;0t");
        assert_eq!(title::farewell(), "");
        assert!(
            shown.take(TitleState::Works).starts_with("\x1b[22;0t"),
            "another program had the terminal"
        );
        title::farewell();
        shown.forget(Path::new("/home/ada/hello"));
        assert!(
            shown.take(TitleState::Waits).ends_with("]0;hello · agentx\x07"),
            "another session has begun"
        );
        title::farewell();
        let mut unwanted = TerminalTitle::new(false, Path::new("/w"));
        assert_eq!(unwanted.take(TitleState::Asks), "");
    }
}
