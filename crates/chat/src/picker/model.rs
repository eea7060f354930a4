//! The state of the picker: the sessions, the filter and the choice. Pure: keys and results go in, actions
//! come out.

use std::collections::{HashMap, HashSet};

use agentx::runtime::{SearchHit, SessionInfo};
use agentx::types::{RunStatus, SessionId};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::render::wait_times::SessionWaitTimes;

/// Rows that PageUp and PageDown go.
const PAGE: usize = 10;
/// Minimum number of letters of a search: fewer letters are in too many messages. A character of a dense
/// script counts as a word.
const TELLING: usize = 3;

/// A session of the list, and the text that a filter searches.
#[derive(Clone, Debug)]
pub(super) struct PickerEntry {
    pub(super) info: SessionInfo,
    words: String,
}

impl PickerEntry {
    /// Returns whether the session's id begins so, with or without `ses_`.
    fn has_id(&self, word: &str) -> bool {
        let id = self.info.session_id.as_str();
        let bare = id.strip_prefix("ses_").unwrap_or(id);
        id.starts_with(word) || bare.starts_with(word)
    }
}

/// The sign for the state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusMark {
    /// Another process writes the session.
    Elsewhere,
    /// The process of the session died in the middle of a run.
    BrokeOff,
    /// The session waits for a decision.
    Asks,
    /// The session waits for a time.
    Waits,
    /// The session is a copy of another.
    Fork,
    /// The session has no mark.
    None,
}

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PickerStep {
    /// The list stays open; its rows may have changed.
    Stay,
    /// The person chose this session.
    Take(SessionId),
    /// The person leaves the picker.
    Leave,
}

/// The state of the picker.
#[derive(Debug)]
pub(super) struct PickerModel {
    /// The default directory.
    pub(super) here: String,
    /// Whether the list is on a server. The server writes all its sessions, so the mark for that would be
    /// useless.
    pub(super) on_server: bool,
    entries: Vec<PickerEntry>,
    known: HashSet<SessionId>,
    /// Whether the end of the list is known.
    pub(super) complete: bool,
    /// Whether only the sessions of this directory are shown.
    pub(super) only_here: bool,
    pub(super) filter: String,
    shown: Vec<usize>,
    at: usize,
    /// The hits of the words of the filter, for the filter that was searched last.
    hits: HashMap<SessionId, SearchHit>,
    searched: String,
    /// The times at which waiting sessions continue.
    pub(super) waits: SessionWaitTimes,
    pub(super) help: bool,
    /// The note below the list, which is shown once.
    pub(super) note: Option<String>,
}

impl PickerModel {
    /// Returns the picker before it knows any session.
    pub(super) fn new(here: String, on_server: bool) -> Self {
        Self {
            here,
            on_server,
            entries: Vec::new(),
            known: HashSet::new(),
            complete: false,
            only_here: true,
            filter: String::new(),
            shown: Vec::new(),
            at: 0,
            hits: HashMap::new(),
            searched: String::new(),
            waits: SessionWaitTimes::default(),
            help: false,
            note: None,
        }
    }

    /// Takes sessions in; returns how many were new.
    pub(super) fn add(&mut self, page: Vec<SessionInfo>) -> usize {
        let before = self.entries.len();
        let chosen = self.chosen().map(|info| info.session_id.clone());
        for info in page {
            if self.known.insert(info.session_id.clone()) {
                let words = format!("{}\n{}\n{}", info.title, info.workspace, info.model);
                self.entries.push(PickerEntry {
                    words: words.to_lowercase(),
                    info,
                });
            }
        }
        self.entries
            .sort_by(|one, other| order(&other.info).cmp(&order(&one.info)));
        self.show_again(chosen);
        self.entries.len() - before
    }

    /// Notes that all sessions are known. If this directory has none, those of all directories are
    /// shown.
    pub(super) fn completed(&mut self) {
        self.complete = true;
        if self.only_here && self.filter.is_empty() && self.shown.is_empty() {
            self.only_here = false;
            self.choose_again();
        }
    }

    /// Takes the search hits for the words of a filter.
    pub(super) fn found(&mut self, words: &str, hits: Vec<SearchHit>) {
        self.searched = words.to_owned();
        self.hits.clear();
        for hit in hits {
            self.hits.entry(hit.session_id.clone()).or_insert(hit);
        }
        self.choose_again();
    }

    /// The words to search for, if that was not done yet.
    pub(super) fn to_search(&self) -> Option<String> {
        let words = self.filter.trim();
        let dense = words.chars().any(|c| u32::from(c) >= 0x2e80);
        let telling = words.chars().count() >= TELLING || dense;
        (telling && words != self.searched).then(|| words.to_owned())
    }

    /// The sessions that are shown.
    pub(super) fn shown(&self) -> impl ExactSizeIterator<Item = &PickerEntry> {
        self.shown.iter().map(|at| &self.entries[*at])
    }

    /// Returns the number of known sessions.
    pub(super) fn total(&self) -> usize {
        self.entries.len()
    }

    /// The number of the chosen one among those that are shown.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The session that the cursor is on, if any is shown.
    pub(super) fn chosen(&self) -> Option<&SessionInfo> {
        let entry = self.shown.get(self.at)?;
        Some(&self.entries[*entry].info)
    }

    /// Returns the place in a session that matches the filter.
    pub(super) fn hit(&self, session: &SessionId) -> Option<&SearchHit> {
        let is_current = self.searched == self.filter.trim();
        self.hits.get(session).filter(|_| is_current)
    }

    /// Returns the sign for the state of a session.
    pub(super) fn mark(&self, info: &SessionInfo) -> StatusMark {
        let is_final = info.status.is_none_or(RunStatus::is_final);
        match (&info.writer, info.status) {
            (Some(_), _) if !self.on_server => StatusMark::Elsewhere,
            (_, Some(RunStatus::AwaitingApproval)) => StatusMark::Asks,
            (None, _) if !is_final && self.waits.get(&info.session_id).is_some() => StatusMark::Waits,
            (None, _) if !is_final => StatusMark::BrokeOff,
            (Some(_), _) if !is_final => StatusMark::Elsewhere,
            _ if info.parent.is_some() => StatusMark::Fork,
            _ => StatusMark::None,
        }
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> PickerStep {
        if key.kind == KeyEventKind::Release {
            return PickerStep::Stay;
        }
        self.note = None;
        if std::mem::take(&mut self.help) {
            return PickerStep::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return PickerStep::Leave,
            KeyCode::Char('c' | 'd' | 'g') if control => return PickerStep::Leave,
            KeyCode::Enter => return self.take(),
            KeyCode::Up => self.up(1),
            KeyCode::Down => self.down(1),
            KeyCode::Char('p' | 'k') if control => self.up(1),
            KeyCode::Char('n' | 'j') if control => self.down(1),
            KeyCode::PageUp => self.up(PAGE),
            KeyCode::PageDown => self.down(PAGE),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.shown.len().saturating_sub(1),
            KeyCode::Tab | KeyCode::BackTab => {
                self.only_here = !self.only_here;
                self.choose_again();
            }
            KeyCode::F(1) => self.help = true,
            KeyCode::Char('?') if self.filter.is_empty() => self.help = true,
            _ => self.edit(key.code, control),
        }
        PickerStep::Stay
    }

    /// Handles pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        self.filter
            .extend(line.chars().filter(|c| !c.is_control()).take(200));
        self.filter_changed();
    }

    /// A number was typed before the list was shown again: the rows of the plain list.
    pub(super) fn numbered(&self, number: usize) -> Option<&SessionInfo> {
        self.shown().nth(number.checked_sub(1)?).map(|entry| &entry.info)
    }

    fn edit(&mut self, code: KeyCode, control: bool) {
        match code {
            KeyCode::Backspace => {
                let _ = self.filter.pop();
            }
            KeyCode::Char('h') if control => {
                let _ = self.filter.pop();
            }
            KeyCode::Char('u') if control => self.filter.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.filter.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.filter.truncate(kept);
            }
            KeyCode::Char(c) if !control => self.filter.push(c),
            _ => return,
        }
        self.filter_changed();
    }

    fn filter_changed(&mut self) {
        self.at = 0;
        self.shown.clear();
        self.choose_again();
    }

    fn take(&mut self) -> PickerStep {
        let Some(info) = self.chosen() else {
            return PickerStep::Stay;
        };
        let id = info.session_id.clone();
        match &info.writer {
            Some(writer) if !self.on_server => {
                let process = writer.process;
                self.note = Some(format!(
                    "process {process} has it open; `agentx watch {id}` watches it"
                ));
                PickerStep::Stay
            }
            _ => PickerStep::Take(id),
        }
    }

    fn up(&mut self, rows: usize) {
        self.at = self.at.saturating_sub(rows);
    }

    fn down(&mut self, rows: usize) {
        self.at = (self.at + rows).min(self.shown.len().saturating_sub(1));
    }

    /// Computes the shown sessions; the chosen one stays chosen if it is still shown.
    fn choose_again(&mut self) {
        let chosen = self.chosen().map(|info| info.session_id.clone());
        self.show_again(chosen);
    }

    fn show_again(&mut self, chosen: Option<SessionId>) {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let searched = self.searched == self.filter.trim();
        let (mut shown, mut by_id) = (Vec::new(), Vec::new());
        for (at, entry) in self.entries.iter().enumerate() {
            if self.only_here && entry.info.workspace != self.here {
                continue;
            }
            let is_hit = searched && self.hits.contains_key(&entry.info.session_id);
            let is_said = |word: &&str| entry.words.contains(word);
            if is_hit || words.iter().all(is_said) {
                shown.push(at);
            } else if words.iter().all(|word| is_said(word) || entry.has_id(word)) {
                by_id.push(at);
            }
        }
        // Letters of an id may be a word by chance.
        shown.extend(by_id);
        self.shown = shown;
        let place = chosen.filter(|_| self.at > 0).and_then(|id| {
            let mut shown = self.shown.iter();
            shown.position(|at| self.entries[*at].info.session_id == id)
        });
        self.at = place.unwrap_or(self.at.min(self.shown.len().saturating_sub(1)));
    }
}

fn order(info: &SessionInfo) -> (agentx::types::Timestamp, &SessionId) {
    (info.updated_at, &info.session_id)
}
