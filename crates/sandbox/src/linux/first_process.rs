//! The first process of a pid namespace, without which nothing inside runs: it reaps, says how the command
//! ended, and ends what the command left.
//!
//! | a process that the command left | lives |
//! | --- | --- |
//! | in the group of the command | on: the program that started the command sees it, and may keep it as a job |
//! | in a group or a session of its own (`setsid`, a double fork) | as long as one of the others |
//!
//! So nothing goes on that no one sees. The group has its leader outside of the namespace, where its number
//! is 0.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use crate::{HELPER_FAILED, SandboxError};

/// The number of the signal that ends a process without its help.
pub(super) const KILLED: u8 = 9;

/// The time in which a process has to leave the group of its command: a shell may end before the `setsid`
/// that it has started does its work.
const LEAVING: Duration = Duration::from_millis(100);
/// The time between the request to end and the end by force.
const GRACE: Duration = Duration::from_millis(200);
/// The time to wait for killed processes: one that hangs in the kernel does not die.
const DYING: Duration = Duration::from_secs(1);
/// The interval of checks in these times.
const LOOK: Duration = Duration::from_millis(5);
/// The interval of checks whether the group of an ended command is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Code(u8),
    Signal(u8),
}

/// The report of the first process: the end of the command, whether its group is still there, and how many
/// processes were ended with it.
pub(super) struct FirstReport {
    pub(super) ended: Ended,
    pub(super) is_left: bool,
    others: u8,
}

/// The report of a first process that has started no command.
pub(super) const FAILED_REPORT: [u8; 4] = [0, HELPER_FAILED, 0, 0];

impl FirstReport {
    fn to_bytes(&self) -> [u8; 4] {
        let (kind, value) = match self.ended {
            Ended::Code(code) => (0, code),
            Ended::Signal(signal) => (1, signal),
        };
        [kind, value, u8::from(self.is_left), self.others]
    }

    fn of_bytes([kind, value, left, others]: [u8; 4]) -> Self {
        let ended = if kind == 0 {
            Ended::Code(value)
        } else {
            Ended::Signal(value)
        };
        Self {
            ended,
            is_left: left != 0,
            others,
        }
    }

    /// Waits for the report. `None` if the first process has ended without one.
    pub(super) fn read(from: OwnedFd) -> Option<Self> {
        let mut bytes = [0; 4];
        File::from(from).read_exact(&mut bytes).ok()?;
        Some(Self::of_bytes(bytes))
    }

    /// Says in the output of the command which processes were ended with it.
    pub(super) fn tell(&self, output: &mut impl Write) {
        if let Some(sentence) = words_about(self.others) {
            // Without an output nobody is told.
            let _ = writeln!(output, "agentx: {sentence}");
        }
    }

    /// Ends this process as the command ended, after it has told which processes were ended.
    pub(super) fn end_told(&self, mut output: File) -> ! {
        self.tell(&mut output);
        end_as(self.ended)
    }
}

/// The sentence about so many processes that were ended; `None` for none.
fn words_about(others: u8) -> Option<String> {
    let what = match others {
        0 => return None,
        1 => "1 process that the command left was".to_owned(),
        u8::MAX => "many processes that the command left were".to_owned(),
        others => format!("{others} processes that the command left were"),
    };
    Some(format!(
        "{what} ended; start long-running programs as a background job"
    ))
}

/// Leaves the group and the output to the command, waits for it, and ends what it has left when its group is
/// gone.
pub(super) fn leave_and_reap(command: Pid, report: &mut File) -> Result<Infallible, SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    setsid().map_err(failed)?;
    let nothing = File::options().read(true).write(true).open("/dev/null");
    let nothing = nothing.map_err(|error| SandboxError::path(Path::new("/dev/null"), error))?;
    dup2_stdin(&nothing)
        .and(dup2_stdout(&nothing))
        .and(dup2_stderr(&nothing))
        .map_err(failed)?;
    let ended = reap_until(command);
    let is_left = is_group_left();
    let told = FirstReport {
        ended,
        is_left,
        others: if is_left { 0 } else { end_all() },
    };
    // A process that is gone was killed with its group.
    let _ = report.write_all(&told.to_bytes());
    if is_left {
        while InsideProcesses::now().members > 0 && reap_ended() {
            std::thread::sleep(LOOK_AGAIN);
        }
        end_all();
    }
    end_as(Ended::Code(0))
}

/// Reaps until the command has ended.
fn reap_until(command: Pid) -> Ended {
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(command) => {
                if let Some(ended) = how(status) {
                    return ended;
                }
            }
            Err(Errno::ECHILD) => return Ended::Code(HELPER_FAILED),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reaps what has ended. Returns whether something still runs.
fn reap_ended() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Err(Errno::ECHILD) => return false,
            Ok(_) | Err(_) => {}
        }
    }
}

/// Returns whether a process of the group of the command stays.
fn is_group_left() -> bool {
    let begun = Instant::now();
    loop {
        if !reap_ended() || InsideProcesses::now().members == 0 {
            return false;
        }
        if begun.elapsed() >= LEAVING {
            return true;
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends all processes inside but this one, first by request. Returns how many there were.
fn end_all() -> u8 {
    if !reap_ended() {
        return 0;
    }
    let others = u8::try_from(InsideProcesses::now().all).unwrap_or(u8::MAX);
    signal_all(Signal::SIGTERM);
    // A stopped process would never receive the signal.
    signal_all(Signal::SIGCONT);
    if !are_gone(GRACE) {
        signal_all(Signal::SIGKILL);
        are_gone(DYING);
    }
    others
}

/// Signals all processes inside but this one. The kernel lets none of them fork away from it.
fn signal_all(signal: Signal) {
    const ALL: i32 = -1;
    // A process that has ended needs no signal.
    let _ = kill(Pid::from_raw(ALL), signal);
}

fn are_gone(patience: Duration) -> bool {
    let begun = Instant::now();
    while reap_ended() {
        if begun.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// The numbers of living processes inside, without this one.
#[derive(Debug, Default, PartialEq, Eq)]
struct InsideProcesses {
    all: usize,
    /// Those in the group of the command.
    members: usize,
}

impl InsideProcesses {
    fn now() -> Self {
        let own = std::process::id().to_string();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            name.bytes().all(|byte| byte.is_ascii_digit()) && name != own
        });
        let mut found = Self::default();
        let stats = processes.filter_map(|entry| fs::read(entry.path().join("stat")).ok());
        for is_member in stats.filter_map(|stat| is_living_member(&stat)) {
            found.all += 1;
            found.members += usize::from(is_member);
        }
        found
    }
}

/// Returns whether the process of this `stat` is in the group of the command; `None` if it is not alive. The
/// name in it can hold anything, so it is read from behind the last `)`.
fn is_living_member(stat: &[u8]) -> Option<bool> {
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&stat[behind..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let (state, _parent, group) = (fields.next()?, fields.next()?, fields.next()?);
    (!matches!(state, "Z" | "X")).then_some(group == "0")
}

/// Waits for a child process.
pub(super) fn wait_for(child: Pid) -> Ended {
    loop {
        match waitpid(child, None) {
            Ok(status) => {
                if let Some(ended) = how(status) {
                    return ended;
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return Ended::Code(HELPER_FAILED),
        }
    }
}

fn how(status: WaitStatus) -> Option<Ended> {
    match status {
        WaitStatus::Exited(_, code) => Some(Ended::Code(u8::try_from(code & 0xff).unwrap_or(HELPER_FAILED))),
        WaitStatus::Signaled(_, signal, _) => Some(Ended::Signal(
            u8::try_from(signal as i32).unwrap_or(HELPER_FAILED),
        )),
        _ => None,
    }
}

/// Ends this process as if it was killed.
pub(super) fn end_as_killed() -> ! {
    end_as(Ended::Signal(KILLED))
}

/// Ends this process as the command ended.
pub(super) fn end_as(ended: Ended) -> ! {
    let code = match ended {
        Ended::Code(code) => code.into(),
        Ended::Signal(signal) => {
            if let Ok(signal) = Signal::try_from(i32::from(signal)) {
                // The dump of this process would be of no use.
                let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                // If the signal does not end this process, the exit code of a shell says it.
                let _ = kill(Pid::this(), signal).and_then(|()| SigSet::all().thread_unblock());
            }
            128 + i32::from(signal)
        }
    };
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_four_bytes() {
        for report in [
            FirstReport {
                ended: Ended::Code(0),
                is_left: false,
                others: 3,
            },
            FirstReport {
                ended: Ended::Code(255),
                is_left: true,
                others: 0,
            },
            FirstReport {
                ended: Ended::Signal(9),
                is_left: false,
                others: 255,
            },
        ] {
            let read = FirstReport::of_bytes(report.to_bytes());
            assert_eq!((read.ended, read.is_left), (report.ended, report.is_left));
            assert_eq!(read.others, report.others);
        }
    }

    #[test]
    fn what_was_ended_is_told_in_the_output_and_nothing_else_is() {
        for (others, expected) in [
            (0, ""),
            (1, "agentx: 1 process that the command left was ended; "),
            (3, "agentx: 3 processes that the command left were ended; "),
            (255, "agentx: many processes that the command left were ended; "),
        ] {
            let mut output = Vec::new();
            let report = FirstReport {
                ended: Ended::Code(0),
                is_left: false,
                others,
            };
            report.tell(&mut output);
            let said = String::from_utf8(output).unwrap();
            assert!(said.starts_with(expected), "{said}");
            assert_eq!(said.is_empty(), expected.is_empty());
        }
    }

    #[test]
    fn a_process_is_a_member_by_the_group_that_it_is_in() {
        for (stat, expected) in [
            ("7 (a) Z (b) S 1 0 0 0 -1 4194560", Some(true)),
            ("7 (sh) S 1 7 7 0 -1", Some(false)),
            ("7 (sh) Z 1 0 0 0 -1", None),
            ("made up", None),
        ] {
            assert_eq!(is_living_member(stat.as_bytes()), expected, "{stat}");
        }
    }
}
