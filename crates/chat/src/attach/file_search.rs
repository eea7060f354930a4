//! The search for the files that `@` and a part of a name may mean. It runs on a thread, so that no key waits
//! for a disk, and its results are shown as they come.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::files::{FileWalk, WalkBounds};

/// The bounds of a search. They are large, because it runs in the background.
const BOUNDS: WalkBounds = WalkBounds {
    entries: 500_000,
    time: Duration::from_secs(5),
};
/// Maximum number of files to report.
const MOST_FILES: usize = 64;
/// Minimum time between two reports of one search.
const PAUSE: Duration = Duration::from_millis(50);

/// The matches that a search has found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundFiles {
    /// The part of a name that was searched for.
    pub(crate) written: String,
    /// The names of the files; a directory ends with a slash.
    pub(crate) names: Vec<String>,
}

/// The searches of a chat, one at a time: a disk that hardly answers holds one thread, however much is typed.
#[derive(Debug, Default)]
pub(crate) struct FileSearch {
    running: Option<RunningSearch>,
    /// The search to begin when the running one has ended. It replaces any that was wanted before.
    next: Option<WantedSearch>,
    latest: Option<FoundFiles>,
}

#[derive(Debug)]
struct WantedSearch {
    written: String,
    workspace: PathBuf,
}

#[derive(Debug)]
struct RunningSearch {
    written: String,
    stop: Arc<AtomicBool>,
    found: watch::Receiver<Vec<String>>,
    /// The thread ends by its bounds or `stop`; nothing waits for it.
    _thread: JoinHandle<()>,
}

impl Drop for RunningSearch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl FileSearch {
    /// Starts a search for the typed text, unless it is the latest one already.
    pub(crate) fn search(&mut self, written: &str, workspace: &Path) {
        if self.wanted() == Some(written) {
            return;
        }
        let search = WantedSearch {
            written: written.to_owned(),
            workspace: workspace.to_owned(),
        };
        match &self.running {
            None => self.start(search),
            Some(running) => {
                running.stop.store(true, Ordering::Relaxed);
                self.next = Some(search);
            }
        }
    }

    /// The part of a name that was searched for last.
    fn wanted(&self) -> Option<&str> {
        let next = self.next.as_ref().map(|search| &search.written);
        let running = self.running.as_ref().map(|running| &running.written);
        let latest = self.latest.as_ref().map(|found| &found.written);
        next.or(running).or(latest).map(String::as_str)
    }

    /// Forgets everything, and stops the search that is under way.
    pub(crate) fn forget(&mut self) {
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
        (self.next, self.latest) = (None, None);
    }

    /// The latest reported names that still match the typed text: they are shown until the new search
    /// reports.
    pub(crate) fn known(&self, written: &str) -> Vec<String> {
        let Some(latest) = &self.latest else {
            return Vec::new();
        };
        let lower = written.to_lowercase();
        let fits = |name: &&String| latest.written == written || name.to_lowercase().contains(&lower);
        latest.names.iter().filter(fits).cloned().collect()
    }

    fn start(&mut self, search: WantedSearch) {
        let WantedSearch { written, workspace } = search;
        let (sender, found) = watch::channel(Vec::new());
        let stop = Arc::new(AtomicBool::new(false));
        let (name, stopped) = (written.clone(), stop.clone());
        let thread = tokio::task::spawn_blocking(move || walk(&name, &workspace, stopped, &sender));
        self.running = Some(RunningSearch {
            written,
            stop,
            found,
            _thread: thread,
        });
    }

    /// Waits for the next report of the latest search. Safe to drop while it waits.
    pub(crate) async fn news(&mut self) -> FoundFiles {
        loop {
            let Some(running) = &mut self.running else {
                return std::future::pending().await;
            };
            if running.found.changed().await.is_ok() {
                let names = running.found.borrow_and_update().clone();
                if running.stop.load(Ordering::Relaxed) {
                    continue;
                }
                let found = FoundFiles {
                    written: running.written.clone(),
                    names,
                };
                self.latest = Some(found.clone());
                return found;
            }
            // The thread has ended.
            self.running = None;
            if let Some(search) = self.next.take() {
                self.start(search);
            }
        }
    }
}

/// Searches and reports matches, at most every [`PAUSE`] and once at the end.
fn walk(written: &str, workspace: &Path, stop: Arc<AtomicBool>, reports: &watch::Sender<Vec<String>>) {
    let first = |names: &[String]| names.iter().take(MOST_FILES).cloned().collect::<Vec<_>>();
    let mut reported = Instant::now();
    let mut report = |names: &[String]| {
        if names.len() <= MOST_FILES && reported.elapsed() >= PAUSE {
            reported = Instant::now();
            let mut names = first(names);
            names.sort();
            reports.send_replace(names);
        }
    };
    let found = FileWalk::new(workspace, BOUNDS, stop, &mut report).meant_by(written);
    reports.send_replace(first(&found));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::files::LOOKED_AT;

    fn place_with(files: &[&str]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for file in files {
            let path = place.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        place
    }

    #[tokio::test]
    async fn the_latest_search_reports_and_those_before_it_do_not() {
        let place = place_with(&["src/parser.rs", "notes.md"]);
        let mut search = FileSearch::default();
        for written in ["n", "no", "x", "pars"] {
            search.search(written, place.path());
        }
        let found = search.news().await;
        assert_eq!(
            (found.written.as_str(), found.names),
            ("pars", vec!["src/parser.rs".to_owned()])
        );
        assert_eq!(search.known("parse"), ["src/parser.rs"], "it is shown meanwhile");
        assert!(search.known("notes").is_empty());
    }

    #[tokio::test]
    async fn a_search_that_finds_nothing_says_so_and_what_is_forgotten_is_not_reported() {
        let place = place_with(&["notes.md"]);
        let mut search = FileSearch::default();
        search.search("nosuch", place.path());
        assert!(search.news().await.names.is_empty());
        search.search("notes", place.path());
        search.forget();
        let ended = tokio::time::timeout(PAUSE, search.news()).await;
        assert!(ended.is_err(), "nothing is wanted");
        search.search("notes", place.path());
        assert_eq!(search.news().await.names, ["notes.md"]);
    }

    #[tokio::test]
    async fn a_file_is_found_in_a_tree_that_is_larger_than_what_a_key_could_wait_for() {
        let place = place_with(&["z/deep/needle.rs"]);
        for n in 0..=LOOKED_AT {
            std::fs::write(place.path().join(format!("z/{n}.txt")), "").unwrap();
        }
        let mut search = FileSearch::default();
        search.search("needle", place.path());
        let mut found = search.news().await;
        while found.names.is_empty() {
            found = search.news().await;
        }
        assert_eq!(found.names, ["z/deep/needle.rs"]);
    }

    #[test]
    fn a_search_ends_by_its_bounds_and_when_it_is_stopped() {
        let place = place_with(&["a/x1.rs", "a/x2.rs", "b/x3.rs", "c/x4.rs"]);
        let found = |entries, time, stopped| {
            let bounds = WalkBounds { entries, time };
            let mut ignore = |_: &[String]| {};
            let stop = Arc::new(AtomicBool::new(stopped));
            FileWalk::new(place.path(), bounds, stop, &mut ignore)
                .meant_by("rs")
                .len()
        };
        assert_eq!(found(100, BOUNDS.time, false), 4);
        assert_eq!(found(3, BOUNDS.time, false), 0, "too many entries");
        assert_eq!(found(100, Duration::ZERO, false), 0, "too long");
        assert_eq!(found(100, BOUNDS.time, true), 0, "stopped");
    }
}
