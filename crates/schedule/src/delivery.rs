//! Deliveries of webhooks: a server takes each in once, and one process runs each once.
//!
//! ```text
//! take_in: pending/KEY.json ─▶ take_turn: its lock, and the time in the file ─▶ the run ─▶ finish: done/KEY
//! dies: the lock ends with the process ─▶ the next one that takes the turn gets it again, `is_again`
//! ```
//!
//! A delivery that was taken in survives the death of the machine. Its key stays known after the run, so that
//! the same delivery is not taken in again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentx_files::{FileLock, ReplaceOptions, make_private_directory, replace};
use agentx_types::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::ScheduleError;

/// Maximum number of deliveries that wait for their run.
pub const MAX_PENDING_DELIVERIES: usize = 100;
/// Maximum number of keys of deliveries that were run; beyond it the oldest is forgotten.
const MAX_DONE: usize = 10_000;
/// The time for which at least such a key is known: longer than a signed time counts.
const LEAST_KNOWN: Duration = Duration::from_secs(3600);
/// The longest wait for the lock of the inbox, which is held only for a write.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of characters of a key that titles have.
const SHORT_KEY: usize = 12;

/// A delivery of a webhook, with everything that its run needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    /// The identity of the delivery: lower-case letters and digits.
    pub key: String,
    /// The name of the webhook.
    pub webhook: String,
    /// The prompt, with the content of the delivery.
    pub prompt: String,
    /// The agent of a file, or the default agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, if it is not that of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The directory that a new session works in.
    pub workspace: String,
    /// The session to continue; a new one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The time at which it was taken in.
    pub received_at: Timestamp,
    /// Set from before its run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
}

impl WebhookDelivery {
    /// The title of its session: no other delivery has the same.
    pub fn title(&self) -> String {
        let key: String = self.key.chars().take(SHORT_KEY).collect();
        format!("{} {key}", self.webhook)
    }
}

/// The deliveries of a data directory.
#[derive(Clone, Debug)]
pub struct DeliveryInbox {
    folder: PathBuf,
}

/// The right of this process to run a delivery. It ends when this value is dropped, or the process dies; if
/// [`finish`](Self::finish) was not called, the next process gets the same delivery.
#[derive(Debug)]
pub struct DeliveryTurn {
    inbox: DeliveryInbox,
    delivery: WebhookDelivery,
    is_again: bool,
    /// Held until the turn ends.
    _lock: FileLock,
}

impl DeliveryInbox {
    /// The inbox of this data directory. Nothing is read or created yet.
    pub fn at(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join("webhooks"),
        }
    }

    /// Takes a delivery in. Returns `false` if it was taken in before. Blocks the thread for a moment.
    ///
    /// # Errors
    /// Returns an error if too many wait, or the files cannot be read, written or locked.
    pub fn take_in(&self, delivery: &WebhookDelivery) -> Result<bool, ScheduleError> {
        for folder in [self.pending_folder(), self.done_folder()] {
            make_private_directory(&folder).map_err(|error| ScheduleError::file(&folder, error))?;
        }
        let path = self.folder.join("inbox.lock");
        let lock = FileLock::wait(&path, PATIENCE).map_err(|error| ScheduleError::file(&path, error))?;
        let _lock = lock.ok_or_else(|| ScheduleError::Busy {
            path: path.display().to_string(),
        })?;
        let file = self.pending_file(&delivery.key);
        if file.exists() || self.done_file(&delivery.key).exists() {
            return Ok(false);
        }
        if self.keys()?.len() >= MAX_PENDING_DELIVERIES {
            return Err(ScheduleError::FullInbox(MAX_PENDING_DELIVERIES));
        }
        self.forget_oldest();
        write(&file, delivery).map(|()| true)
    }

    /// The deliveries that wait for their run or have begun it, the oldest first.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read.
    pub fn pending(&self) -> Result<Vec<WebhookDelivery>, ScheduleError> {
        let mut found = Vec::new();
        for key in self.keys()? {
            found.extend(self.read(&key)?);
        }
        found.sort_by_key(|delivery: &WebhookDelivery| delivery.received_at);
        Ok(found)
    }

    /// Takes the turn of a delivery. `None` if it was run, or another process runs it.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read, written or locked.
    pub fn take_turn(&self, key: &str, now: Timestamp) -> Result<Option<DeliveryTurn>, ScheduleError> {
        let path = self.pending_folder().join(format!("{key}.lock"));
        let lock = FileLock::take(&path).map_err(|error| ScheduleError::file(&path, error))?;
        let Some(lock) = lock else { return Ok(None) };
        let Some(mut delivery) = self.read(key)? else {
            return Ok(None);
        };
        if self.done_file(key).exists() {
            // Its process died between the two steps of its end.
            self.remove_pending(key)?;
            return Ok(None);
        }
        let is_again = delivery.begun_at.is_some();
        if !is_again {
            delivery.begun_at = Some(now);
            write(&self.pending_file(key), &delivery)?;
        }
        Ok(Some(DeliveryTurn {
            inbox: self.clone(),
            delivery,
            is_again,
            _lock: lock,
        }))
    }

    /// The keys of the deliveries that wait.
    fn keys(&self) -> Result<Vec<String>, ScheduleError> {
        let folder = self.pending_folder();
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ScheduleError::file(&folder, error)),
        };
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".json").map(str::to_owned)
        };
        Ok(entries.filter_map(name).collect())
    }

    /// Reads a delivery; `None` if it does not wait any more.
    fn read(&self, key: &str) -> Result<Option<WebhookDelivery>, ScheduleError> {
        let file = self.pending_file(key);
        match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| ScheduleError::file(&file, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ScheduleError::file(&file, error)),
        }
    }

    /// Forgets the oldest keys beyond the number that is kept. A key that cannot be removed stays known.
    fn forget_oldest(&self) {
        let Ok(entries) = std::fs::read_dir(self.done_folder()) else {
            return;
        };
        let mut done: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if done.len() < MAX_DONE {
            return;
        }
        done.sort();
        let is_old = |at: &SystemTime| at.elapsed().is_ok_and(|age| age > LEAST_KNOWN);
        let surplus = done.len() + 1 - MAX_DONE;
        for (_, path) in done.iter().take(surplus).filter(|(at, _)| is_old(at)) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn remove_pending(&self, key: &str) -> Result<(), ScheduleError> {
        let file = self.pending_file(key);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ScheduleError::file(&file, error)),
            _ => Ok(()),
        }
    }

    fn pending_folder(&self) -> PathBuf {
        self.folder.join("pending")
    }

    fn done_folder(&self) -> PathBuf {
        self.folder.join("done")
    }

    fn pending_file(&self, key: &str) -> PathBuf {
        self.pending_folder().join(format!("{key}.json"))
    }

    fn done_file(&self, key: &str) -> PathBuf {
        self.done_folder().join(key)
    }
}

impl DeliveryTurn {
    /// The delivery.
    pub fn delivery(&self) -> &WebhookDelivery {
        &self.delivery
    }

    /// Returns whether a process that died had begun its run, which may exist.
    pub fn is_again(&self) -> bool {
        self.is_again
    }

    /// Ends the turn: the run has ended, in this session if there is one. The content is removed.
    ///
    /// # Errors
    /// Returns an error if the files cannot be changed; then the next process gets the same delivery.
    pub fn finish(self, session: Option<SessionId>) -> Result<(), ScheduleError> {
        let key = &self.delivery.key;
        write(&self.inbox.done_file(key), &session)?;
        self.inbox.remove_pending(key)
    }
}

fn write(file: &Path, content: &impl Serialize) -> Result<(), ScheduleError> {
    let bytes = serde_json::to_vec_pretty(content).map_err(|error| ScheduleError::file(file, error))?;
    let options = ReplaceOptions {
        durable: true,
        ..ReplaceOptions::default()
    };
    replace(file, &bytes, options).map_err(|error| ScheduleError::file(file, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn delivery(key: &str, at: i64) -> WebhookDelivery {
        WebhookDelivery {
            key: key.into(),
            webhook: "ci".into(),
            prompt: "look".into(),
            agent: None,
            model: None,
            workspace: "/w".into(),
            session: None,
            received_at: Timestamp(at),
            begun_at: None,
        }
    }

    fn inbox() -> (tempfile::TempDir, DeliveryInbox) {
        let folder = tempfile::tempdir().unwrap();
        let inbox = DeliveryInbox::at(folder.path());
        (folder, inbox)
    }

    #[test]
    fn a_delivery_is_taken_in_once_before_and_after_its_run() {
        let (_folder, inbox) = inbox();
        assert!(inbox.pending().unwrap().is_empty());
        assert!(inbox.take_in(&delivery("b2", 2)).unwrap());
        assert!(inbox.take_in(&delivery("a1", 3)).unwrap());
        assert!(!inbox.take_in(&delivery("b2", 9)).unwrap());
        let keys: Vec<String> = inbox
            .pending()
            .unwrap()
            .into_iter()
            .map(|found| found.key)
            .collect();
        assert_eq!(keys, ["b2", "a1"], "the oldest first");
        let turn = inbox.take_turn("b2", Timestamp(5)).unwrap().unwrap();
        assert_eq!(
            (turn.is_again(), turn.delivery().begun_at),
            (false, Some(Timestamp(5)))
        );
        turn.finish(Some("ses_1".into())).unwrap();
        assert!(inbox.take_turn("b2", Timestamp(6)).unwrap().is_none());
        assert!(!inbox.take_in(&delivery("b2", 9)).unwrap(), "it is known");
    }

    #[test]
    fn one_process_at_a_time_runs_a_delivery_and_what_died_is_taken_again() {
        let (_folder, inbox) = inbox();
        inbox.take_in(&delivery("a1", 1)).unwrap();
        let turn = inbox.take_turn("a1", Timestamp(5)).unwrap().unwrap();
        assert!(inbox.take_turn("a1", Timestamp(5)).unwrap().is_none());
        // As if the process died: the lock ends, and nothing was finished.
        drop(turn);
        let turn = inbox.take_turn("a1", Timestamp(9)).unwrap().unwrap();
        assert_eq!(
            (turn.is_again(), turn.delivery().begun_at),
            (true, Some(Timestamp(5)))
        );
        // As if it died between the two steps of its end.
        write(&inbox.done_file("a1"), &None::<SessionId>).unwrap();
        drop(turn);
        assert!(inbox.take_turn("a1", Timestamp(10)).unwrap().is_none());
        assert!(inbox.pending().unwrap().is_empty());
    }

    #[test]
    fn of_processes_that_race_for_deliveries_exactly_one_gets_each() {
        let (_folder, inbox) = inbox();
        let (taken, run) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in ["a1", "b2", "c3"] {
                        if inbox.take_in(&delivery(key, 1)).unwrap() {
                            taken.fetch_add(1, Ordering::SeqCst);
                        }
                        if let Some(turn) = inbox.take_turn(key, Timestamp(2)).unwrap() {
                            run.fetch_add(1, Ordering::SeqCst);
                            turn.finish(None).unwrap();
                        }
                    }
                });
            }
        });
        for key in ["a1", "b2", "c3"] {
            if let Some(turn) = inbox.take_turn(key, Timestamp(3)).unwrap() {
                run.fetch_add(1, Ordering::SeqCst);
                turn.finish(None).unwrap();
            }
        }
        assert_eq!((taken.into_inner(), run.into_inner()), (3, 3));
    }

    #[test]
    fn an_inbox_that_is_full_refuses_a_further_delivery() {
        let (_folder, inbox) = inbox();
        for number in 0..MAX_PENDING_DELIVERIES {
            assert!(inbox.take_in(&delivery(&format!("k{number}"), 1)).unwrap());
        }
        let refused = inbox.take_in(&delivery("more", 1)).unwrap_err();
        assert!(matches!(refused, ScheduleError::FullInbox(_)), "{refused}");
    }
}
