//! The entries of the list below the input: commands after `/`, files after `@`, and arguments of some
//! commands.

use agentx::runtime::ModelInfo;
use agentx::types::{Api, Prices};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{MenuItem, MenuKind, MenuRequest, MenuStep};
use crate::attach::file_search::FoundFiles;
use crate::attach::{escaped, last_word, unescaped};
use crate::chat::commands::effort::LEVELS;
use crate::chat::slash::about;
use crate::chat::{Chat, ChatInterface};
use crate::error::ChatError;
use crate::models::variable_of;
use crate::render::clean::visible;
use crate::render::units;
use crate::slash_names::NAMES;
use crate::terminal::TerminalInput;
use agentx_terminal::EditOutcome;

/// A terminal with fewer rows has no room for a list.
const LOW: usize = 12;
/// The number of rows to keep above the list.
const ABOVE: usize = 6;

/// The commands that do nothing without words of the person.
const TAKES_WORDS: [&str; 2] = ["steer", "title"];
/// The commands that leave, change or write something as soon as they are sent, so that a slip of the finger
/// cannot be undone.
const ACT_AT_ONCE: [&str; 11] = [
    "clear", "compact", "exit", "export", "fork", "init", "new", "pin", "quit", "retry", "unpin",
];

/// The part of the line before the cursor that a list is for.
pub(super) fn request(before: &str) -> Option<MenuRequest> {
    if let Some(command) = before.strip_prefix('/').filter(|rest| !rest.contains('\n')) {
        let (kind, from) = match command.split_once(' ') {
            None if command.contains('/') => return None,
            None => (MenuKind::Commands, 1),
            Some((name, _)) => (kind_of(name)?, name.len() + 2),
        };
        let written = before.get(from..)?;
        return (!written.contains(' ') || kind.has_titles()).then(|| MenuRequest {
            kind,
            from,
            written: written.to_owned(),
        });
    }
    let word = last_word(before);
    let written = before[word..].strip_prefix('@')?;
    Some(MenuRequest {
        kind: MenuKind::Files,
        from: word + 1,
        written: written.to_owned(),
    })
}

/// Returns the kind of list that a command takes, if there is one.
fn kind_of(command: &str) -> Option<MenuKind> {
    match command {
        "model" => Some(MenuKind::Models),
        "effort" => Some(MenuKind::Efforts),
        "approve-mode" => Some(MenuKind::ApprovalModes),
        "resume" => Some(MenuKind::SessionsHere),
        "diff" => Some(MenuKind::Sessions),
        _ => None,
    }
}

/// Returns whether an input was typed by hand, so that a list may open for it. A line from the history was
/// not.
pub(in crate::chat) fn opens_list(input: &TerminalInput) -> bool {
    let TerminalInput::Key(KeyEvent { code, modifiers, .. }) = input else {
        return false;
    };
    let plain = (*modifiers - KeyModifiers::SHIFT).is_empty();
    plain
        && matches!(
            code,
            KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Tab | KeyCode::Enter
        )
}

/// Returns the matching items; those that begin with the text come first.
pub(super) fn fitting(known: &[MenuItem], written: &str) -> Vec<MenuItem> {
    let (mut first, more): (Vec<_>, Vec<_>) = known
        .iter()
        .filter(|item| item.fits(written))
        .cloned()
        .partition(|item| item.begins_with(written));
    first.extend(more);
    first
}

impl Chat<'_> {
    /// Handles a key while a list is open; returns `None` if the key belongs to the line.
    pub(in crate::chat) fn menu_key(&mut self, key: &KeyEvent) -> Option<EditOutcome> {
        if self.asks_in_line() {
            return None;
        }
        let before = self.before_cursor();
        match self.composer.menu.key(key, &before, self.composer.editor.is_vi()) {
            MenuStep::Pass => None,
            MenuStep::Stay => Some(EditOutcome::Nothing),
            MenuStep::Complete(from, text) => {
                self.composer.editor.complete(from, &text);
                Some(EditOutcome::Changed)
            }
            MenuStep::Send(from, text) => {
                self.composer.editor.complete(from, &text);
                Some(EditOutcome::Submit(self.composer.editor.take()))
            }
        }
    }

    /// Returns the rows of the list, if it belongs to the current text of the line.
    pub(in crate::chat) fn menu_rows(&self) -> Vec<String> {
        let ChatInterface::Editor { screen, .. } = &self.display.face else {
            return Vec::new();
        };
        let most = screen.rows().saturating_sub(ABOVE);
        let size = (self.display.width(), most);
        self.composer
            .menu
            .rows(&self.before_cursor(), size, self.display.style())
    }

    fn before_cursor(&self) -> String {
        self.composer.editor.text()[..self.composer.editor.cursor()].to_owned()
    }

    /// Returns whether there is a line that a list can be below of.
    fn has_room_for_menu(&self) -> bool {
        let has_rows =
            matches!(&self.display.face, ChatInterface::Editor { screen, .. } if screen.rows() >= LOW);
        let is_line = !self.composer.editor.is_commanded() && self.composer.editor.wanted().is_none();
        has_rows
            && is_line
            && self.programs.running.is_none()
            && self.composer.asking.is_none()
            && !self.asks_in_line()
    }

    /// Opens, filters or closes the list after an input.
    pub(in crate::chat) async fn refresh_menu(&mut self, is_typed: bool) {
        let before = self.before_cursor();
        if self.composer.menu.is_about(&before) {
            return;
        }
        let Some(request) = request(&before).filter(|_| self.has_room_for_menu()) else {
            self.composer.files.forget();
            return self.composer.menu.forget();
        };
        if request.kind != MenuKind::Files {
            self.composer.files.forget();
        }
        if !is_typed || self.composer.menu.is_closed_for(&request) {
            return self.composer.menu.close(&request);
        }
        let items = match request.kind {
            MenuKind::Files => self.files_for(&request.written),
            kind => {
                self.know(kind).await;
                let known = self
                    .composer
                    .menu
                    .known
                    .as_ref()
                    .map(|(_, known)| known.as_slice());
                fitting(known.unwrap_or_default(), &request.written)
            }
        };
        self.composer.menu.show(&before, request, items);
    }

    /// Writes a command with a blank behind it into the line and opens the list of its arguments. Returns
    /// whether there is room for that.
    pub(in crate::chat) async fn opens_menu(&mut self, command: &str) -> bool {
        let is_free = self.has_room_for_menu() && self.composer.editor.text().is_empty();
        if is_free {
            self.composer.editor.complete(0, &format!("/{command} "));
            self.refresh_menu(true).await;
            if !self.composer.menu.is_about(&self.before_cursor()) {
                self.composer.editor.clear();
                return false;
            }
        }
        is_free
    }

    /// Reads the items of a list of this kind, once while the same part is typed.
    async fn know(&mut self, kind: MenuKind) {
        if self
            .composer
            .menu
            .known
            .as_ref()
            .is_some_and(|(known, _)| *known == kind)
        {
            return;
        }
        let items = match kind {
            MenuKind::Commands => self.commands_to_choose(),
            MenuKind::Models => self.models_to_choose().await.unwrap_or_default(),
            MenuKind::Efforts => efforts(self.current_effort().await),
            MenuKind::ApprovalModes => approval_modes(),
            MenuKind::Sessions => by_title(self.sessions_to_compare().await),
            MenuKind::SessionsHere => by_title(self.sessions_to_continue().await),
            MenuKind::Files => Vec::new(),
        };
        self.composer.menu.known = Some((kind, items));
    }

    /// The commands of the chat, and those of files.
    fn commands_to_choose(&self) -> Vec<MenuItem> {
        let mut items = commands();
        let of_files = self.prompt_command_names().into_iter();
        items.extend(of_files.map(|(text, about, goes_on)| MenuItem {
            text,
            about,
            goes_on,
            acts_at_once: true,
            ..MenuItem::default()
        }));
        items
    }

    /// Returns the known files that match the typed text, and starts a search for the rest.
    fn files_for(&mut self, written: &str) -> Vec<MenuItem> {
        let name = unescaped(written);
        self.composer.files.search(&name, &self.settings.workspace);
        items_of_files(&self.composer.files.known(&name))
    }

    /// Shows what a search for files has found, if the name is still being written.
    pub(in crate::chat) fn show_files(&mut self, found: FoundFiles) {
        let before = self.before_cursor();
        let is_about = |request: &MenuRequest| {
            request.kind == MenuKind::Files && unescaped(&request.written) == found.written
        };
        let Some(request) = request(&before).filter(is_about) else {
            return;
        };
        if self.has_room_for_menu() && !self.composer.menu.is_closed_for(&request) {
            self.composer
                .menu
                .update(&before, request, items_of_files(&found.names));
        }
    }

    /// The models, those that can be asked first, and the one that is asked now before them.
    async fn models_to_choose(&mut self) -> Result<Vec<MenuItem>, ChatError> {
        let current = self.agent_config().await?.model;
        let (mut all, _) = self.known_models_of_place(&current).await?;
        let is_current = |info: &ModelInfo| info.spec.is_same(&current);
        all.sort_by_key(|info| (!is_current(info), info.missing.is_some()));
        let ids: Vec<String> = all.iter().map(|info| info.spec.called().to_owned()).collect();
        let item = |info: &ModelInfo| {
            let (full, called) = (info.spec.reference(), info.spec.called().to_owned());
            let is_ambiguous = ids.iter().filter(|id| **id == called).count() > 1;
            let (text, other) = if is_ambiguous {
                (full, called)
            } else {
                (called, full)
            };
            let mut aliases = info.aliases.clone();
            aliases.push(other);
            MenuItem {
                text: visible(&text),
                about: about_model(info, is_current(info)),
                aliases,
                is_unusable: info.missing.is_some(),
                ..MenuItem::default()
            }
        };
        Ok(all.iter().map(item).collect())
    }
}

fn items_of_files(names: &[String]) -> Vec<MenuItem> {
    let item = |name: &String| MenuItem {
        text: escaped(name),
        ..MenuItem::default()
    };
    names.iter().map(item).collect()
}

/// Returns the sessions as items, which can also be found by their messages.
fn by_title(known: Vec<(String, String)>) -> Vec<MenuItem> {
    let item = |(id, about): (String, String)| MenuItem {
        text: id,
        aliases: vec![about.clone()],
        about,
        ..MenuItem::default()
    };
    known.into_iter().map(item).collect()
}

pub(super) fn commands() -> Vec<MenuItem> {
    let item = |name: &&str| MenuItem {
        text: (*name).to_owned(),
        about: about(name).unwrap_or_default().to_owned(),
        goes_on: TAKES_WORDS.contains(name),
        acts_at_once: ACT_AT_ONCE.contains(name),
        ..MenuItem::default()
    };
    NAMES.iter().map(item).collect()
}

/// The levels of effort, the current one first, so that Enter on a list that was only viewed changes
/// nothing.
fn efforts(current: Option<u64>) -> Vec<MenuItem> {
    let item = |(name, tokens, about): &(&str, Option<u64>, &str)| MenuItem {
        text: (*name).to_owned(),
        about: if *tokens == current {
            format!("now · {about}")
        } else {
            (*about).to_owned()
        },
        ..MenuItem::default()
    };
    let (now, others): (Vec<_>, Vec<_>) = LEVELS.iter().partition(|(_, tokens, _)| *tokens == current);
    let mut items: Vec<MenuItem> = now.into_iter().chain(others).map(item).collect();
    if let Some(tokens) = current.filter(|_| !items.iter().any(|item| item.about.starts_with("now"))) {
        let text = tokens.to_string();
        let about = "now · tokens".to_owned();
        items.insert(
            0,
            MenuItem {
                text,
                about,
                ..MenuItem::default()
            },
        );
    }
    items
}

fn approval_modes() -> Vec<MenuItem> {
    let modes = [
        ("ask", "you are asked about calls that no rule covers"),
        (
            "accept-edits",
            "files of the workspace are changed without asking; you are asked about other calls",
        ),
        ("plan", "the agent only reads, and presents a plan"),
        ("auto", "calls run without asking, unless a rule asks or denies"),
        ("deny", "calls that no rule allows are refused"),
    ];
    let item = |(name, about): (&str, &str)| MenuItem {
        text: name.to_owned(),
        about: about.to_owned(),
        ..MenuItem::default()
    };
    modes.map(item).into()
}

/// Describes a model: the reason why it is unavailable, or the media that it accepts.
fn about_model(info: &ModelInfo, is_current: bool) -> String {
    if let Some(missing) = &info.missing {
        return format!("needs {}", visible(variable_of(missing)));
    }
    let spec = &info.spec;
    let now = if is_current { "now · " } else { "" };
    let dollars = |nano: u64| nano as f64 / 1e3;
    let price = if spec.prices != Prices::default() {
        format!(
            " · ${} in, ${} out",
            dollars(spec.prices.input),
            dollars(spec.prices.output)
        )
    } else if spec.api == Api::Scripted {
        String::new()
    } else {
        " · price unknown".to_owned()
    };
    let window = units::window(spec.context_window, false);
    format!("{now}{} · {window}{price}", visible(&spec.provider))
}
