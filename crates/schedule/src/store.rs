//! The schedules of a data directory: one file, which is replaced as a whole under a lock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentx_files::{
    FileLock, ReplaceOptions, leftovers, make_private_directory, remove_leftovers, replace_locked,
};
use agentx_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{DeliveryInbox, Schedule, ScheduleError, check_schedule};

/// Maximum number of schedules of a data directory.
pub const MAX_SCHEDULES: usize = 100;
/// The name of the file.
const FILE: &str = "schedules.json";
/// The longest wait for the lock of the file, which is held only for a write.
const PATIENCE: Duration = Duration::from_secs(10);

/// The schedules of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStore {
    data_dir: PathBuf,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    schedules: Vec<Schedule>,
}

impl ScheduleStore {
    /// The store of this data directory. Nothing is read or created yet.
    pub fn at(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    /// The deliveries of webhooks of the same data directory.
    pub fn deliveries(&self) -> DeliveryInbox {
        DeliveryInbox::at(&self.data_dir)
    }

    /// All schedules, in the order in which they were made.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has another content.
    pub fn list(&self) -> Result<Vec<Schedule>, ScheduleError> {
        let path = self.file();
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(|kept: Kept| kept.schedules)
                .map_err(|error| ScheduleError::file(&path, error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(ScheduleError::file(&path, error)),
        }
    }

    /// Adds a schedule.
    ///
    /// # Errors
    /// Returns an error if it cannot be used, its name is taken, there are too many, or the file cannot be
    /// changed.
    pub fn add(&self, schedule: Schedule) -> Result<(), ScheduleError> {
        check_schedule(&schedule)?;
        self.change(|schedules| {
            if schedules.iter().any(|known| known.name == schedule.name) {
                return Err(ScheduleError::Exists(schedule.name));
            }
            if schedules.len() >= MAX_SCHEDULES {
                return Err(ScheduleError::Full(MAX_SCHEDULES));
            }
            schedules.push(schedule);
            Ok(())
        })
    }

    /// Removes the schedule of this name, and returns it. A run that has begun continues.
    ///
    /// # Errors
    /// Returns an error if there is none, or the file cannot be changed.
    pub fn remove(&self, name: &str) -> Result<Schedule, ScheduleError> {
        self.change(|schedules| {
            let found = schedules.iter().position(|known| known.name == name);
            let index = found.ok_or_else(|| ScheduleError::NotFound(name.to_owned()))?;
            Ok(schedules.remove(index))
        })
    }

    /// Corrects the times of a schedule that a clock recorded which was ahead: they count as now, so that its
    /// next time is run. Returns the time that lay ahead, or `None` if there was none. Times that lie less
    /// than a minute ahead stay.
    ///
    /// # Errors
    /// Returns an error if the file cannot be changed.
    pub fn follow_clock(&self, name: &str, now: Timestamp) -> Result<Option<Timestamp>, ScheduleError> {
        self.change(|schedules| {
            let found = schedules.iter_mut().find(|known| known.name == name);
            Ok(found.and_then(|schedule| schedule.follow_clock(now)))
        })
    }

    /// Reads the schedules, changes them, and writes them if they are different, under one lock. Nothing is
    /// written after an error.
    pub(crate) fn change<R>(
        &self,
        work: impl FnOnce(&mut Vec<Schedule>) -> Result<R, ScheduleError>,
    ) -> Result<R, ScheduleError> {
        let path = self.file();
        let failed = |error: std::io::Error| ScheduleError::file(&path, error);
        make_private_directory(&self.data_dir).map_err(failed)?;
        let lock = self.lock()?;
        let before = self.list()?;
        let mut schedules = before.clone();
        let done = work(&mut schedules)?;
        if schedules == before {
            return Ok(done);
        }
        let bytes = serde_json::to_vec_pretty(&Kept { schedules })
            .map_err(|error| ScheduleError::file(&path, error))?;
        let options = ReplaceOptions {
            durable: true,
            ..ReplaceOptions::default()
        };
        replace_locked(&path, &bytes, options, &lock).map_err(failed)?;
        Ok(done)
    }

    /// The new versions of the file that processes have not finished: most are of processes that were killed.
    pub fn unfinished(&self) -> Vec<PathBuf> {
        leftovers(&self.file())
    }

    /// Deletes what killed processes left of the file. Waits ten seconds at most for one that changes it.
    ///
    /// # Errors
    /// Returns an error if the lock of the file cannot be taken.
    pub fn remove_unfinished(&self) -> Result<(), ScheduleError> {
        if !self.unfinished().is_empty() {
            let lock = self.lock()?;
            remove_leftovers(&self.file(), &lock);
        }
        Ok(())
    }

    fn lock(&self) -> Result<FileLock, ScheduleError> {
        let path = self.file();
        let lock = FileLock::wait(&FileLock::path_for(&path), PATIENCE);
        let lock = lock.map_err(|error| ScheduleError::file(&path, error))?;
        lock.ok_or_else(|| ScheduleError::Busy {
            path: path.display().to_string(),
        })
    }

    fn file(&self) -> PathBuf {
        self.data_dir.join(FILE)
    }

    /// The lock that a process has while it runs this schedule.
    pub(crate) fn turn_lock(&self, name: &str) -> PathBuf {
        self.data_dir.join(format!("schedule-{name}.lock"))
    }
}
