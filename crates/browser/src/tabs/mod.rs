//! The tabs of a browser, as its events make them. No I/O: the connection gives events, gets the commands
//! that follow from them, and tools wait for changes.
//!
//! `events` folds the events, `tab` is one tab, `downloads` is one download.

mod downloads;
mod events;
mod tab;

pub(crate) use downloads::{DownloadState, PageDownload};
pub(crate) use events::{cancel_download, tab_set_up};
pub(crate) use tab::OpenTab;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::cdp::{CdpCommand, CdpEvent};
use crate::network::PageHostGate;

/// The maximum number of notes that are kept for the result of a call.
const MOST_NOTES: usize = 20;

/// The tabs of one browser.
pub(crate) struct TabTable {
    gate: Arc<PageHostGate>,
    state: Mutex<TabsState>,
    /// The number of changes, for those who wait for one.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct TabsState {
    tabs: Vec<OpenTab>,
    /// The number of the tab that is shown.
    active: u32,
    last_number: u32,
    downloads: Vec<PageDownload>,
    notes: Vec<String>,
}

impl TabsState {
    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn of_session(&mut self, session: Option<&str>) -> Option<&mut OpenTab> {
        let session = session?;
        self.tabs.iter_mut().find(|tab| tab.session == session)
    }
}

impl TabTable {
    /// A table without tabs.
    pub(crate) fn new(gate: Arc<PageHostGate>) -> Self {
        Self {
            gate,
            state: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, TabsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event. Returns the commands that follow from it.
    pub(crate) fn apply(&self, event: &CdpEvent) -> Vec<CdpCommand> {
        let commands = events::apply(&mut self.state(), &self.gate, event);
        self.changes.send_modify(|count| *count += 1);
        commands
    }

    /// Returns a copy of the tab with this number, or of the one that is shown.
    pub(crate) fn tab(&self, number: Option<u32>) -> Option<OpenTab> {
        let state = self.state();
        let number = number.unwrap_or(state.active);
        state.tabs.iter().find(|tab| tab.number == number).cloned()
    }

    /// Copies of all tabs.
    pub(crate) fn all(&self) -> Vec<OpenTab> {
        self.state().tabs.clone()
    }

    /// The number of the tab that is shown.
    pub(crate) fn active(&self) -> u32 {
        self.state().active
    }

    /// Makes a tab the one that is shown.
    pub(crate) fn show(&self, number: u32) {
        self.state().active = number;
    }

    /// Forgets the downloads, so that the next one can be told from them.
    pub(crate) fn forget_downloads(&self) {
        self.state().downloads.clear();
    }

    /// Copies of the downloads that began since they were forgotten, in their order.
    pub(crate) fn downloads(&self) -> Vec<PageDownload> {
        self.state().downloads.clone()
    }

    /// Takes the notes since the last call.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// Waits until `found` has something, for at most `patience`.
    pub(crate) async fn wait_for<T>(
        &self,
        patience: Duration,
        mut found: impl FnMut(&Self) -> Option<T>,
    ) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = found(self) {
                    return Some(found);
                }
                // The sender lives as long as the table.
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(patience, waiting).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests;
