//! The list below the input: commands, models, sessions or files that fit the typed text, with one of them
//! chosen. This file has the state, the keys and the rows of the list, and performs nothing; `offers`
//! provides the items.

mod offers;
#[cfg(test)]
mod tests;

pub(in crate::chat) use offers::opens_list;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthStr as _;

use crate::render::style::AnsiStyle;
use crate::render::table::cut;

/// Maximum number of rows to show at once.
const SHOWN: usize = 8;
/// Divisor of the width of a row: names take at most this part of it.
const NAME_SHARE: usize = 2;

/// The kind of entries in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chat) enum MenuKind {
    Commands,
    Models,
    Efforts,
    ApprovalModes,
    /// The sessions of this directory.
    Sessions,
    /// The same, and a way to those of all directories.
    SessionsHere,
    Files,
}

impl MenuKind {
    /// Returns whether the command does something useful without an argument, such as opening the picker, so
    /// that Enter after a blank chooses no item.
    fn is_optional(self) -> bool {
        matches!(self, Self::Sessions | Self::SessionsHere | Self::ApprovalModes)
    }

    /// Returns whether its items can also be found by a title, which may contain blanks.
    pub(in crate::chat) fn has_titles(self) -> bool {
        matches!(self, Self::Sessions | Self::SessionsHere)
    }
}

/// An item to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::chat) struct MenuItem {
    /// The text that is written into the line.
    pub(in crate::chat) text: String,
    /// The description beside it.
    pub(in crate::chat) about: String,
    /// Other names of it.
    pub(in crate::chat) aliases: Vec<String>,
    /// Whether the item cannot be used now; `about` has the reason.
    pub(in crate::chat) is_unusable: bool,
    /// The line is not complete with it: Enter only completes it.
    pub(in crate::chat) goes_on: bool,
    /// Whether the item changes or ends something as soon as it is sent: Enter sends it only if the person
    /// wrote it whole or chose it by the arrows.
    pub(in crate::chat) acts_at_once: bool,
}

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::chat) enum MenuStep {
    /// The key is for the line.
    Pass,
    /// The list alone has changed.
    Stay,
    /// The text is written from this byte of the line on.
    Complete(usize, String),
    /// The same, and the line is sent.
    Send(usize, String),
}

/// The part of the line that a list is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::chat) struct MenuRequest {
    pub(in crate::chat) kind: MenuKind,
    /// The beginning of the part, in bytes.
    pub(in crate::chat) from: usize,
    /// The text of the part so far.
    pub(in crate::chat) written: String,
}

/// The list, if one is open.
#[derive(Debug, Default)]
pub(crate) struct Menu {
    open: Option<OpenMenu>,
    /// The list that was closed for as long as the same part is written.
    closed: Option<(MenuKind, usize)>,
    /// The complete list, which stays while the same part is written.
    known: Option<(MenuKind, Vec<MenuItem>)>,
}

#[derive(Debug)]
struct OpenMenu {
    /// The text before the cursor that it is for.
    before: String,
    request: MenuRequest,
    items: Vec<MenuItem>,
    at: usize,
    /// The person has chosen by the arrows.
    moved: bool,
}

impl Menu {
    /// Returns whether it is open for this text before the cursor.
    pub(in crate::chat) fn is_about(&self, before: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.before == before)
    }

    /// Closes the list, because the text before the cursor needs none.
    pub(in crate::chat) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Closes the list until another part of the line is typed.
    pub(in crate::chat) fn close(&mut self, request: &MenuRequest) {
        (self.open, self.closed) = (None, Some((request.kind, request.from)));
    }

    pub(in crate::chat) fn is_closed_for(&self, request: &MenuRequest) -> bool {
        self.closed == Some((request.kind, request.from))
    }

    /// Shows what fits; nothing if none does.
    pub(in crate::chat) fn show(&mut self, before: &str, request: MenuRequest, items: Vec<MenuItem>) {
        self.open = (!items.is_empty()).then(|| OpenMenu {
            before: before.to_owned(),
            request,
            items,
            at: 0,
            moved: false,
        });
    }

    /// Shows new results; an item that the person has chosen by the arrows stays chosen.
    pub(in crate::chat) fn update(&mut self, before: &str, request: MenuRequest, items: Vec<MenuItem>) {
        let was_open = self
            .open
            .take()
            .filter(|open| open.moved && open.before == before);
        self.show(before, request, items);
        let (Some(was_open), Some(open)) = (was_open, &mut self.open) else {
            return;
        };
        let chosen = was_open.chosen();
        if let Some(at) = open.items.iter().position(|item| item.text == chosen.text) {
            (open.at, open.moved) = (at, true);
        }
    }

    /// Handles a key while `before` is the text before the cursor. `has_vi` lets Esc through, because it ends
    /// the insert mode of vi.
    pub(in crate::chat) fn key(&mut self, key: &KeyEvent, before: &str, has_vi: bool) -> MenuStep {
        let Some(open) = self.open.as_mut().filter(|open| open.before == before) else {
            return MenuStep::Pass;
        };
        if key.kind == KeyEventKind::Release {
            return MenuStep::Pass;
        }
        let count = open.items.len();
        let (is_plain, is_control) = (key.modifiers.is_empty(), key.modifiers == KeyModifiers::CONTROL);
        let step = match key.code {
            KeyCode::Up if is_plain => count - 1,
            KeyCode::Down if is_plain => 1,
            KeyCode::Char('p') if is_control => count - 1,
            KeyCode::Char('n') if is_control => 1,
            KeyCode::Tab => return open.completed(),
            KeyCode::Enter if is_plain => return open.taken(),
            KeyCode::Esc => {
                let request = open.request.clone();
                self.close(&request);
                // If the line has only a command without an argument, clear it together with the list.
                if request.written.is_empty() && request.from > 1 && before.starts_with('/') {
                    return MenuStep::Complete(0, String::new());
                }
                return if has_vi { MenuStep::Pass } else { MenuStep::Stay };
            }
            _ => return MenuStep::Pass,
        };
        (open.at, open.moved) = ((open.at + step) % count, true);
        MenuStep::Stay
    }

    /// The rows below the line, as wide as the terminal, in at most `most` rows.
    pub(in crate::chat) fn rows(
        &self,
        before: &str,
        (width, most): (usize, usize),
        style: AnsiStyle,
    ) -> Vec<String> {
        let Some(open) = self.open.as_ref().filter(|open| open.before == before) else {
            return Vec::new();
        };
        let most = most.min(SHOWN);
        let names = open.items.iter().map(|item| item.text.width()).max().unwrap_or(0);
        let says_more = open.items.iter().any(|item| !item.about.is_empty());
        let wide = if says_more {
            names.min(width / NAME_SHARE)
        } else {
            names.min(width.saturating_sub(3))
        };
        let first = (open.at + 1).saturating_sub(most);
        let mut rows: Vec<String> = open
            .items
            .iter()
            .enumerate()
            .skip(first)
            .take(most)
            .map(|(at, item)| item.row(at == open.at, (wide, width), style))
            .collect();
        if let more @ 1.. = open.items.len().saturating_sub(first + most) {
            rows.push(style.dim(&cut(&format!("  … {more} more"), width.saturating_sub(1))));
        }
        rows
    }
}

impl OpenMenu {
    fn chosen(&self) -> MenuItem {
        self.items.get(self.at).cloned().unwrap_or_default()
    }

    /// Handles Tab: the chosen item is put into the line, which stays open.
    fn completed(&self) -> MenuStep {
        let text = self.chosen().text;
        let end = if text.ends_with('/') { "" } else { " " };
        MenuStep::Complete(self.request.from, format!("{text}{end}"))
    }

    /// Handles Enter, which accepts the chosen item. A complete command is sent as it is, and so is a word
    /// that no command begins with, because the person hardly means a command that only contains the word. A
    /// command with an optional argument is sent as it is if only blanks follow it.
    fn taken(&self) -> MenuStep {
        let written = &self.request.written;
        let is_whole = |item: &MenuItem| item.text == *written || item.aliases.contains(written);
        if !self.moved && self.items.iter().any(is_whole) {
            return MenuStep::Pass;
        }
        if !self.moved && written.trim().is_empty() && self.request.kind.is_optional() {
            return MenuStep::Pass;
        }
        let chosen = self.chosen();
        let is_command = self.request.kind == MenuKind::Commands;
        if is_command && !self.moved && !chosen.begins_with(written) {
            return MenuStep::Pass;
        }
        let only_completes = chosen.goes_on || (chosen.acts_at_once && !self.moved);
        if only_completes || self.request.kind == MenuKind::Files {
            self.completed()
        } else {
            MenuStep::Send(self.request.from, chosen.text)
        }
    }
}

impl MenuItem {
    /// Returns whether the item matches the typed text: by its beginning, or by a part of its text or of
    /// another name.
    pub(in crate::chat) fn fits(&self, written: &str) -> bool {
        let written = written.to_lowercase();
        let has = |text: &String| text.to_lowercase().contains(&written);
        self.begins_with(&written) || has(&self.text) || self.aliases.iter().any(has)
    }

    pub(in crate::chat) fn begins_with(&self, written: &str) -> bool {
        self.text.to_lowercase().starts_with(&written.to_lowercase())
    }

    fn row(&self, is_chosen: bool, (wide, width): (usize, usize), style: AnsiStyle) -> String {
        let name = cut(&self.text, wide);
        let gap = " ".repeat(wide.saturating_sub(name.width()));
        let about = cut(&self.about, width.saturating_sub(wide + 5));
        match (is_chosen, self.is_unusable) {
            (true, _) => style.bold(format!("▸ {name}{gap}  {about}").trim_end()),
            (false, true) => style.dim(format!("  {name}{gap}  {about}").trim_end()),
            (false, false) if about.is_empty() => format!("  {name}"),
            (false, false) => format!("  {name}{gap}  {}", style.dim(&about)),
        }
    }
}
