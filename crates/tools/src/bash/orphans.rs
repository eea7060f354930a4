//! The commands of a killed program that still run: their output is not read, and no process would end them.
//! The process that continues the session finds them by their [mark](super::process_mark) and ends them.
//!
//! A process counts as one of these only if the program that started it is gone, and if it has the mark of
//! this session, is [recorded](super::command_records) as one of its commands or in the process group of one,
//! or descends from such a process. After a call that had ended, processes that left the terminal's session
//! (`setsid`) stay, because they were meant to. Of a [shell that stays](super::lasting_shell) all are ended.

use std::collections::BTreeMap;
use std::time::Duration;

use agentx_types::{LeftRunning, SessionId, ToolCallId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::command_records::{CommandRecords, StartedCommand};
use super::process_mark::ProcessMark;
use super::processes::{self, Process};

/// The interval of checks whether they have ended.
const LOOK: Duration = Duration::from_millis(10);
/// The time to wait for killed processes: one that hangs in the kernel does not die.
const DYING: Duration = Duration::from_millis(500);

/// A process that was left running, and the call that it belongs to.
#[derive(Clone, Debug)]
struct Orphan {
    call: String,
    /// The number of a person's command, or of a shell that stays; all of them share one call id.
    number: u64,
    /// The name in reports.
    name: String,
    /// Whether it belongs to the sandbox of the command, and not to the command itself.
    is_helper: bool,
    process: Process,
}

/// Returns the processes that were left running for `session`, and lets them run.
pub(crate) async fn named(
    session: &SessionId,
    open: &[ToolCallId],
    records: Option<&CommandRecords>,
) -> Vec<LeftRunning> {
    summary(&found(session, open, records).await, open)
}

/// Returns whether a process of `session` still runs whose program is gone. Cheaper than finding the calls
/// that were cut off.
pub(crate) async fn any(session: &SessionId, records: Option<&CommandRecords>) -> bool {
    let (of, records) = (session.clone(), records.cloned());
    let looked = tokio::task::spawn_blocking(move || {
        processes::living().is_some_and(|all| {
            let begun = begun(&all, records.as_ref());
            let mut marks = all.iter().filter_map(|process| mark_of(process, &all, &begun));
            marks.any(|mark| mark.is_of(&of) && !mark.writer_lives(&all))
        })
    });
    looked.await.unwrap_or_default()
}

async fn found(session: &SessionId, open: &[ToolCallId], records: Option<&CommandRecords>) -> Vec<Orphan> {
    let (of, open, records) = (session.clone(), open.to_vec(), records.cloned());
    let looked = tokio::task::spawn_blocking(move || find(&of, &open, records.as_ref()));
    looked.await.unwrap_or_default()
}

fn begun(all: &[Process], records: Option<&CommandRecords>) -> Vec<StartedCommand> {
    records.map_or_else(Vec::new, |records| records.of_the_gone(all))
}

/// Returns the mark of a process: its own, or that of the recorded command that it belongs to.
fn mark_of(process: &Process, all: &[Process], begun: &[StartedCommand]) -> Option<ProcessMark> {
    ProcessMark::of_process(process.pid).or_else(|| {
        let command = begun.iter().find(|begun| begun.has(process, all))?;
        Some(command.mark.clone())
    })
}

/// Ends the processes that were left running for `session`: asks, waits for `grace`, kills. `open` has the
/// calls that were cut off.
pub(crate) async fn end(
    session: &SessionId,
    open: &[ToolCallId],
    (grace, records): (Duration, Option<&CommandRecords>),
) -> Vec<LeftRunning> {
    let found = found(session, open, records).await;
    if found.is_empty() {
        return Vec::new();
    }
    signal(&found, Signal::SIGTERM);
    signal(&found, Signal::SIGCONT);
    if !are_gone(&found, grace).await {
        // Processes that they started in between carry the same mark.
        let mut left = find(session, open, records);
        left.extend(found.iter().cloned());
        signal(&left, Signal::SIGKILL);
        are_gone(&left, DYING).await;
    }
    summary(&found, open)
}

/// Returns all processes that were left running for a session. Blocks for some milliseconds.
fn find(session: &SessionId, open: &[ToolCallId], records: Option<&CommandRecords>) -> Vec<Orphan> {
    let Some(all) = processes::living() else {
        return Vec::new();
    };
    let begun = begun(&all, records);
    let spared = own_line(&all);
    let is_spared = |process: &Process| spared.contains(&process.pid);
    let mut found: Vec<Orphan> = Vec::new();
    for process in all.iter().filter(|process| !is_spared(process)) {
        let Some(mark) = mark_of(process, &all, &begun).filter(|mark| mark.is_of(session)) else {
            continue;
        };
        let is_cut_off = open.iter().any(|call| mark.is_call(call));
        // Background processes of a person's command end with the chat, however the chat ends.
        let is_of_shell = mark.is_of_lasting_shell();
        let is_meant_to_stay = !is_cut_off && !is_of_shell && process.session != mark.terminal_session();
        if mark.writer_lives(&all) || is_meant_to_stay {
            continue;
        }
        let own_line = mark
            .is_of_own_command()
            .then(|| processes::command_line(process.pid));
        let (number, name) = match own_line.flatten() {
            Some(line) => (mark.number(), format!("!{line}")),
            None if is_of_shell => (mark.number(), process.name.clone()),
            None => (0, process.name.clone()),
        };
        found.push(Orphan {
            call: mark.call().to_owned(),
            number,
            name,
            is_helper: processes::is_helper(process.pid),
            process: process.clone(),
        });
    }
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        let is_new = |child: &&Process| {
            child.parent == parent.process.pid
                && !is_spared(child)
                && !found.iter().any(|known| known.process.is_same(child))
        };
        let children: Vec<Process> = all.iter().filter(is_new).cloned().collect();
        found.extend(children.into_iter().map(|process| Orphan {
            call: parent.call.clone(),
            number: parent.number,
            name: process.name.clone(),
            is_helper: processes::is_helper(process.pid),
            process,
        }));
        at += 1;
    }
    found
}

/// Returns this process and its ancestors: a person may have started it in a terminal that a command of the
/// session opened.
fn own_line(all: &[Process]) -> Vec<Pid> {
    let mut line = vec![Pid::this()];
    while let Some(process) = all.iter().find(|process| Some(&process.pid) == line.last()) {
        if line.contains(&process.parent) {
            break;
        }
        line.push(process.parent);
    }
    line
}

/// Signals each that is still the process that was found.
fn signal(found: &[Orphan], signal: Signal) {
    let Some(all) = processes::living() else { return };
    for orphan in found {
        if all.iter().any(|process| process.is_same(&orphan.process)) {
            // A process that has ended needs no signal.
            let _ = kill(orphan.process.pid, signal);
        }
    }
}

async fn are_gone(found: &[Orphan], patience: Duration) -> bool {
    let is_left = |all: Vec<Process>| {
        found
            .iter()
            .any(|orphan| all.iter().any(|process| process.is_same(&orphan.process)))
    };
    let gone = async {
        while processes::living().is_some_and(is_left) {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(patience, gone).await.is_ok()
}

/// Summarizes the ended processes, by call. The processes of a sandbox are not counted, unless nothing else
/// is left of a call.
fn summary(found: &[Orphan], open: &[ToolCallId]) -> Vec<LeftRunning> {
    let mut by_call: BTreeMap<(&str, u64), LeftRunning> = BTreeMap::new();
    for orphan in found {
        let entry = by_call
            .entry((&orphan.call, orphan.number))
            .or_insert_with(|| LeftRunning {
                tool_call_id: open
                    .iter()
                    .find(|call| super::process_mark::encode_id(call.as_str()) == orphan.call)
                    .cloned(),
                program: orphan.name.clone(),
                processes: 0,
            });
        if orphan.is_helper {
            continue;
        }
        if entry.processes == 0 {
            entry.program.clone_from(&orphan.name);
        }
        entry.processes += 1;
    }
    let mut summary: Vec<LeftRunning> = by_call.into_values().collect();
    for left in &mut summary {
        left.processes = left.processes.max(1);
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphan(call: &str, name: &str, is_helper: bool) -> Orphan {
        Orphan {
            call: call.to_owned(),
            number: 0,
            name: name.to_owned(),
            is_helper,
            process: Process {
                pid: Pid::from_raw(1),
                parent: Pid::from_raw(1),
                group: Pid::from_raw(1),
                session: Pid::from_raw(1),
                started: 1,
                name: name.to_owned(),
            },
        }
    }

    #[test]
    fn the_command_is_named_and_not_the_sandbox_around_it() {
        let found = [
            orphan("call_1", "exe", true),
            orphan("call_1", "exe", true),
            orphan("call_1", "sleep", false),
            orphan("call_1", "cat", false),
            orphan("call_2", "exe", true),
        ];
        let told = summary(&found, &[]);
        let told: Vec<_> = told
            .iter()
            .map(|left| (left.program.as_str(), left.processes))
            .collect();
        assert_eq!(told, [("sleep", 2), ("exe", 1)]);
    }
}
