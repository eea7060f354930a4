//! The running commands of a program, in a file of the data directory. It finds a command again after the
//! program was killed, even if the command cleared its environment and so carries no
//! [mark](super::process_mark).
//!
//! Each program has one file, named `PID.STARTED` like itself. Its first line names the machine and the boot
//! that the process numbers belong to. It has one slot of fixed length for each running command; a slot is
//! blank again when its command has ended. A file whose program is gone is read by the process that continues
//! one of its sessions, and removed when none of its commands runs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::SessionId;
use nix::unistd::Pid;

use super::process_mark::ProcessMark;
use super::processes::{self, Process};

/// The length of a slot in bytes: two ids of 200 bytes, six numbers and separators.
const PLACE: usize = 600;
/// A larger file is not one of AgentX: a file has one slot for each running command.
const LONGEST: u64 = 4 << 20;

/// The file of running commands. Clones share one file, which is created with the first command.
#[derive(Clone, Debug)]
pub struct CommandRecords {
    inner: Arc<RecordsInner>,
}

#[derive(Debug)]
struct RecordsInner {
    directory: PathBuf,
    places: Mutex<RecordPaths>,
}

#[derive(Debug, Default)]
struct RecordPaths {
    file: Option<(File, PathBuf)>,
    /// Whether each place is taken.
    taken: Vec<bool>,
}

/// The entry of a running command, until this is dropped.
#[derive(Debug)]
pub(super) struct RunningRecord {
    inner: Arc<RecordsInner>,
    place: usize,
}

impl CommandRecords {
    /// Creates the records in this directory, which is created when it is needed.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self {
            inner: Arc::new(RecordsInner {
                directory: directory.into(),
                places: Mutex::default(),
            }),
        }
    }

    /// Creates the file, so that the next command is recorded without delay.
    pub(super) fn prepare(&self) {
        let mut places = self.inner.lock();
        if places.file.is_none() {
            // If it cannot be created, the next command tries again.
            places.file = self.inner.make().ok();
        }
    }

    /// Records a running command. If that fails, the command runs anyway, and after a kill only its mark
    /// finds it.
    pub(super) fn begin(&self, leader: Pid, mark: &ProcessMark) -> Option<RunningRecord> {
        // A command that has already ended needs no record.
        let started = processes::read(leader.as_raw())?.started;
        let line = format!("{mark} {leader} {started}");
        let place = self.inner.take_place(&line).ok()?;
        let inner = self.inner.clone();
        Some(RunningRecord { inner, place })
    }

    /// Returns whether a program, which may be gone, recorded a running command of this session. This only
    /// reads files: usually there are none, and listing all processes takes some milliseconds.
    pub(crate) fn may_have(&self, session: &SessionId) -> bool {
        let Ok(entries) = fs::read_dir(&self.inner.directory) else {
            return false;
        };
        let is_of = |line: &str| StartedCommand::parse(line).is_some_and(|begun| begun.mark.is_of(session));
        entries.flatten().any(|entry| {
            is_small(&entry) && fs::read_to_string(entry.path()).is_ok_and(|text| text.lines().any(is_of))
        })
    }

    /// Returns the commands of programs that are gone.
    pub(super) fn of_the_gone(&self, all: &[Process]) -> Vec<StartedCommand> {
        files(&self.inner.directory, all)
            .into_iter()
            .flat_map(|(_, begun)| begun)
            .collect()
    }
}

impl RecordsInner {
    fn take_place(&self, line: &str) -> io::Result<usize> {
        let mut places = self.lock();
        let free = places.taken.iter().position(|taken| !taken);
        let place = free.unwrap_or(places.taken.len());
        places.write(place, line)?;
        match free {
            Some(free) => places.taken[free] = true,
            None => places.taken.push(true),
        }
        Ok(place)
    }

    fn make(&self) -> io::Result<(File, PathBuf)> {
        fs::create_dir_all(&self.directory)?;
        // Listing all processes takes some milliseconds, and usually there is nothing to remove.
        if fs::read_dir(&self.directory)?.next().is_some() {
            sweep(&self.directory, &processes::living().unwrap_or_default());
        }
        let own = Pid::this();
        let started = processes::read(own.as_raw()).map_or(0, |own| own.started);
        let path = self.directory.join(format!("{own}.{started}"));
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all_at(&padded(&machine()), 0)?;
        Ok((file, path))
    }

    fn lock(&self) -> MutexGuard<'_, RecordPaths> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RecordsInner {
    fn drop(&mut self) {
        let places = self.places.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = places.file.take()
            && !places.taken.contains(&true)
        {
            // The next program removes files that stay.
            let _ = fs::remove_file(path);
        }
    }
}

impl RecordPaths {
    fn write(&self, place: usize, line: &str) -> io::Result<()> {
        let offset = u64::try_from((place + 1) * PLACE).map_err(io::Error::other)?;
        match &self.file {
            Some((file, _)) => file.write_all_at(&padded(line), offset),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for RunningRecord {
    fn drop(&mut self) {
        let mut places = self.inner.lock();
        // A record that stays is of a process that is gone by its start time.
        let _ = places.write(self.place, "");
        if let Some(taken) = places.taken.get_mut(self.place) {
            *taken = false;
        }
    }
}

/// Pads a line to the length of its slot.
fn padded(line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    bytes.resize(PLACE - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Returns the machine that the process numbers belong to: this boot, as this container sees it.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("commands 1 {} {}", boot.trim(), namespace.display())
}

/// A command that a program had begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartedCommand {
    pub(super) mark: ProcessMark,
    leader: Pid,
    started: u64,
}

impl StartedCommand {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let mark = ProcessMark::parse(words.next()?)?;
        let leader = Pid::from_raw(words.next()?.parse().ok()?);
        let started = words.next()?.parse().ok()?;
        Some(Self {
            mark,
            leader,
            started,
        })
    }

    /// Returns whether a process is the first one of the command, or one of its group.
    ///
    /// The number of a group is not reused while the group has members, so a group without its first process
    /// is the same one if no other process has that number; in addition it has to be in the program's
    /// terminal session. A shell that stays leads a session of processes, to whose number the same applies.
    pub(super) fn has(&self, process: &Process, all: &[Process]) -> bool {
        if process.pid == self.leader {
            return process.started == self.started;
        }
        let is_anothers = |other: &Process| other.pid == self.leader && other.started != self.started;
        let is_of_shell = self.mark.is_of_lasting_shell() && process.session == self.leader;
        let is_of_group = process.group == self.leader && process.session == self.mark.terminal_session();
        (is_of_shell || is_of_group) && process.started >= self.started && !all.iter().any(is_anothers)
    }
}

/// Returns the files of programs that are gone, with the commands in them. Unreadable files, and those of
/// another machine or container, are ignored.
fn files(directory: &Path, all: &[Process]) -> Vec<(PathBuf, Vec<StartedCommand>)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let machine = machine();
    let read = |entry: fs::DirEntry| {
        let path = entry.path();
        let (pid, started) = path.file_name()?.to_str()?.split_once('.')?;
        let (pid, started): (i32, u64) = (pid.parse().ok()?, started.parse().ok()?);
        let is_it = |process: &Process| process.pid.as_raw() == pid && process.started == started;
        if all.iter().any(is_it) || !is_small(&entry) {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        let mut lines = text.lines();
        if lines.next()?.trim_end() != machine {
            return None;
        }
        Some((path, lines.filter_map(StartedCommand::parse).collect()))
    };
    entries.flatten().filter_map(read).collect()
}

fn is_small(entry: &fs::DirEntry) -> bool {
    let about = entry.metadata();
    about.is_ok_and(|about| about.is_file() && about.len() <= LONGEST)
}

fn sweep(directory: &Path, all: &[Process]) {
    for (path, begun) in files(directory, all) {
        let lives = |begun: &StartedCommand| all.iter().any(|process| begun.has(process, all));
        if !begun.iter().any(lives) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, group: i32, session: i32, started: u64) -> Process {
        Process {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(1),
            group: Pid::from_raw(group),
            session: Pid::from_raw(session),
            started,
            name: "sleep".into(),
        }
    }

    #[test]
    fn a_command_has_its_first_process_and_its_group_and_nobody_who_has_its_number_later() {
        let begun = StartedCommand::parse("ses_1/call_1/7.100.3.0 50 200").unwrap();
        assert_eq!(begun.mark.terminal_session().as_raw(), 3);
        let (leader, member) = (process(50, 50, 3, 200), process(51, 50, 3, 210));
        let all = [leader.clone(), member.clone()];
        assert!(all.iter().all(|process| begun.has(process, &all)));
        assert!(
            begun.has(&member, std::slice::from_ref(&member)),
            "the first one may be gone"
        );
        let later = [process(50, 50, 3, 999), member.clone()];
        assert!(!later.iter().any(|process| begun.has(process, &later)));
        for other in [
            process(51, 50, 9, 210),
            process(51, 50, 3, 10),
            process(51, 51, 3, 210),
        ] {
            assert!(!begun.has(&other, std::slice::from_ref(&other)), "{other:?}");
        }
    }

    #[test]
    fn a_shell_that_stays_has_all_of_its_terminal() {
        let begun = StartedCommand::parse("ses_1/%24/7.100.3.0 50 200").unwrap();
        assert!(begun.mark.is_of_lasting_shell());
        let of_terminal = process(61, 61, 50, 300);
        assert!(begun.has(&of_terminal, std::slice::from_ref(&of_terminal)));
        let later = [process(50, 50, 50, 999), of_terminal.clone()];
        assert!(!begun.has(&of_terminal, &later), "another process has its number");
        let elsewhere = process(61, 61, 3, 300);
        assert!(!begun.has(&elsewhere, std::slice::from_ref(&elsewhere)));
        let of_call = StartedCommand::parse("ses_1/call_1/7.100.3.0 50 200").unwrap();
        assert!(!of_call.has(&of_terminal, std::slice::from_ref(&of_terminal)));
    }

    #[test]
    fn records_are_there_while_commands_run_and_gone_with_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let records = CommandRecords::in_directory(directory.path());
        let mark = ProcessMark::new(&"ses_1".into(), &"call_1".into());
        let own = Pid::this();
        records.prepare();
        let lines = || {
            let entry = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            let begun = text.lines().skip(1).filter_map(StartedCommand::parse);
            begun.map(|begun| begun.leader).collect::<Vec<_>>()
        };
        let first = records.begin(own, &mark);
        let second = records.begin(own, &mark);
        assert_eq!(lines(), [own, own]);
        assert!(records.may_have(&"ses_1".into()) && !records.may_have(&"ses_2".into()));
        drop(first);
        assert_eq!(lines(), [own]);
        let third = records.begin(own, &mark);
        assert_eq!(lines(), [own, own]);
        let all = processes::living().unwrap();
        assert_eq!(records.of_the_gone(&all).len(), 0, "this program lives");
        drop((second, third));
        assert_eq!(lines().len(), 0);
        assert!(!records.may_have(&"ses_1".into()), "its command is over");
        drop(records);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_longest_mark_fits_in_its_place() {
        let id = "%".repeat(300);
        let mark = ProcessMark::new(&id.as_str().into(), &id.as_str().into());
        let line = format!("{mark} {} {}", i32::MAX, u64::MAX);
        assert!(line.len() < PLACE, "{}", line.len());
        assert!(StartedCommand::parse(&line).is_some());
    }

    #[test]
    fn files_of_other_machines_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("7.100");
        let line = "ses_1/call_1/7.100.3.0 50 200";
        let all = [process(50, 50, 3, 200)];
        let records = CommandRecords::in_directory(directory.path());
        fs::write(&path, format!("commands 1 another 1\n{line}\n")).unwrap();
        assert_eq!(records.of_the_gone(&all).len(), 0);
        fs::write(&path, format!("{}\n\n{line}\nnonsense\n", machine())).unwrap();
        assert_eq!(records.of_the_gone(&all).len(), 1);
        sweep(directory.path(), &all);
        assert!(path.exists(), "its command lives");
        sweep(directory.path(), &[]);
        assert!(!path.exists());
    }
}
