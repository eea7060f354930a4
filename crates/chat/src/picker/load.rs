//! Loads pages, previews and search results for the picker. At most one preview and one search run at a time;
//! the latest request waits for its turn.

use std::sync::Arc;

use agentx::runtime::{Runtime, RuntimeError, SearchHit, SessionInfo, SessionQuery};
use agentx::types::{SessionId, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::preview::{Preview, preview};
use crate::render::wait_times::SessionWaitTimes;
use crate::sessions::stored_sessions::wait_times;

/// Sessions that are on the screen at once.
const FIRST: usize = 120;
/// Sessions that are read at once after that.
const PAGE: usize = 2_000;
/// Maximum number of search hits.
const HITS: usize = 100;
/// Maximum number of waiting answers; then the next sender waits.
const WAITING: usize = 16;

/// A loaded part of the list.
#[derive(Debug)]
pub(super) enum LoadEvent {
    /// The next sessions.
    Page(Vec<SessionInfo>),
    /// The list is complete.
    Complete,
    /// The times at which waiting sessions continue.
    Waits(SessionWaitTimes),
    /// The last messages of a session.
    Preview(SessionId, Preview),
    /// The hits of a search for these words.
    Hits(String, Vec<SearchHit>),
}

/// Asks a runtime, and takes the answers.
pub(super) struct Loader {
    runtime: Arc<dyn Runtime>,
    /// The tasks that load; they end with the picker.
    tasks: JoinSet<()>,
    sender: mpsc::Sender<Result<LoadEvent, RuntimeError>>,
    news: mpsc::Receiver<Result<LoadEvent, RuntimeError>>,
    previewing: bool,
    searching: Option<String>,
}

impl Loader {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Self {
        let (sender, news) = mpsc::channel(WAITING);
        Self {
            runtime,
            tasks: JoinSet::new(),
            sender,
            news,
            previewing: false,
            searching: None,
        }
    }

    /// The latest sessions, of one directory or of all.
    pub(super) async fn first(&self, workspace: Option<String>) -> Result<Vec<SessionInfo>, RuntimeError> {
        let found = page(&*self.runtime, workspace, None, FIRST).await;
        found.map(without_own)
    }

    /// Asks for all sessions, page by page.
    pub(super) fn all(&mut self, workspace: Option<String>) {
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let mut before = None;
            loop {
                let found = page(&*runtime, workspace.clone(), before, PAGE).await;
                // Sessions that changed at the same instant may be on the next page.
                let last = found.as_ref().ok().filter(|page| page.len() == PAGE);
                let next = last.and_then(|page| page.last()).map(|info| info.updated_at);
                let next = next.map(|at| Timestamp(at.0.saturating_add(1)));
                let is_last = next.is_none() || next == before;
                before = next;
                let failed = found.is_err();
                let found = found.map(|page| LoadEvent::Page(without_own(page)));
                if sender.send(found).await.is_err() || failed {
                    return;
                }
                if is_last {
                    let _ = sender.send(Ok(LoadEvent::Complete)).await;
                    return;
                }
            }
        });
    }

    /// Asks which sessions wait for a time.
    pub(super) fn waits(&mut self) {
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let waits = wait_times(&*runtime).await;
            let _ = sender.send(Ok(LoadEvent::Waits(waits))).await;
        });
    }

    /// Returns which sessions wait for a time.
    pub(super) async fn waits_now(&self) -> SessionWaitTimes {
        wait_times(&*self.runtime).await
    }

    /// Requests the last messages of a session.
    pub(super) fn preview(&mut self, info: SessionInfo) {
        if std::mem::replace(&mut self.previewing, true) {
            return;
        }
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let preview = preview(&*runtime, &info).await;
            let _ = sender
                .send(Ok(LoadEvent::Preview(info.session_id, preview)))
                .await;
        });
    }

    /// Searches for words.
    pub(super) fn search(&mut self, words: String) {
        if self.searching.is_some() {
            return;
        }
        self.searching = Some(words.clone());
        let (runtime, sender) = (self.runtime.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            // Words that cannot be searched for have no hits; the filter still applies.
            let hits = runtime.search(&words, HITS).await.unwrap_or_default();
            let _ = sender.send(Ok(LoadEvent::Hits(words, hits))).await;
        });
    }

    /// The next answer. Safe to drop while it waits.
    pub(super) async fn news(&mut self) -> Result<LoadEvent, RuntimeError> {
        match self.news.recv().await {
            Some(news) => {
                match &news {
                    Ok(LoadEvent::Preview(..)) => self.previewing = false,
                    Ok(LoadEvent::Hits(..)) => self.searching = None,
                    _ => {}
                }
                while self.tasks.try_join_next().is_some() {}
                news
            }
            // This end holds a sender.
            None => std::future::pending().await,
        }
    }
}

/// The sessions without those that this process has open: who picks one is in it.
fn without_own(mut page: Vec<SessionInfo>) -> Vec<SessionInfo> {
    let is_own = |info: &SessionInfo| {
        let writer = info.writer.as_ref();
        writer.is_some_and(|writer| writer.process == std::process::id())
    };
    page.retain(|info| !is_own(info));
    page
}

async fn page(
    runtime: &dyn Runtime,
    workspace: Option<String>,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<SessionInfo>, RuntimeError> {
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace,
        limit,
        before,
    };
    runtime.sessions(query).await
}
