//! The processes of this machine, from `/proc`: it finds processes that left their process group. Without
//! `/proc`, only the group itself is known.

use std::fs;

use nix::unistd::Pid;

/// Maximum number of characters of a command line to show.
const LONGEST_LINE: usize = 60;
/// The prefix of a person's command in a chat, so that its errors come in order.
const JOINED: &str = "exec 2>&1\n";

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    /// The session of processes that it is in: that of its terminal, or one of its own.
    pub(super) session: Pid,
    /// In clock ticks since the machine started: a process id that was given out again has another one.
    pub(super) started: u64,
    /// The first letters of the name of its program.
    pub(super) name: String,
}

/// The identity of a process, which shows whether a process with a known number is still the same.
impl Process {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }
}

/// Returns all processes that are alive; `None` if that cannot be known.
pub(super) fn living() -> Option<Vec<Process>> {
    let entries = fs::read_dir("/proc").ok()?;
    let processes: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect();
    (!processes.is_empty()).then_some(processes)
}

/// Returns the descendants of this process.
pub(super) fn descendants(all: &[Process]) -> Vec<Process> {
    let own = Pid::this();
    let mut found: Vec<Process> = all
        .iter()
        .filter(|process| process.parent == own)
        .cloned()
        .collect();
    add_descendants(all, &mut found);
    found
}

/// Adds the descendants of the processes in `found` to them.
pub(super) fn add_descendants(all: &[Process], found: &mut Vec<Process>) {
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|process| process.pid) {
        let children = all.iter().filter(|process| process.parent == parent);
        let new: Vec<Process> = children.filter(|child| !found.contains(child)).cloned().collect();
        found.extend(new);
        at += 1;
    }
}

/// Returns the beginning of a process's command line; for a shell, the line after `-c`.
pub(super) fn command_line(pid: Pid) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let arguments: Vec<&str> = text.trim_end_matches('\0').split('\0').collect();
    let line = match arguments.as_slice() {
        [_, "-c", line, ..] => line.strip_prefix(JOINED).unwrap_or(line).to_owned(),
        all => all.join(" "),
    };
    let is_cut = line.chars().count() > LONGEST_LINE;
    let shown: String = line.chars().take(LONGEST_LINE).collect();
    let shown = if is_cut { shown + "…" } else { shown };
    (!shown.trim().is_empty()).then_some(shown)
}

/// Returns whether a process is one of a sandbox, around the processes of a command.
pub(super) fn is_helper(pid: Pid) -> bool {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).nth(1) == Some(agentx_sandbox::HELPER.as_bytes())
}

/// Returns the process of this id.
pub(super) fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// `stat` of a process that is alive. The name in it can hold anything, so it is read from behind the last
/// `)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (begin, end) = (stat.find('(')? + 1, stat.rfind(')')?);
    let name = stat.get(begin..end)?.to_owned();
    let mut fields = stat[end + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The fields behind `session`, up to `starttime`, which is the 22nd of all.
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process {
        pid: Pid::from_raw(pid),
        parent: Pid::from_raw(parent),
        group: Pid::from_raw(group),
        session: Pid::from_raw(session),
        started,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_name_with_anything_in_it() {
        let stat = "7 (a) Z (b) S 3 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2\n";
        let process = parse(7, stat).unwrap();
        assert_eq!(
            (
                process.parent.as_raw(),
                process.group.as_raw(),
                process.session.as_raw()
            ),
            (3, 5, 5)
        );
        assert_eq!((process.started, process.name.as_str()), (12345, "a) Z (b"));
        assert_eq!(parse(7, "7 (gone) Z 3 5 5 0"), None);
        assert_eq!(parse(7, "nonsense"), None);
    }
}
