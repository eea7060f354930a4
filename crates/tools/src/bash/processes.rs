//! The processes of this machine as `/proc` shows them: how those that left their process group are found again. Where
//! there is no `/proc`, only the group itself is known.

use std::fs;

use memchr::memmem;
use nix::unistd::Pid;

use super::command::MARK;

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    parent: Pid,
    pub(super) group: Pid,
    /// In clock ticks since the machine started: a process id that was given out again has another one.
    started: u64,
}

/// Whether a process that was seen before is still the same.
impl Process {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }
}

/// All processes that are alive; `None` where that cannot be known.
pub(super) fn living() -> Option<Vec<Process>> {
    let entries = fs::read_dir("/proc").ok()?;
    let processes: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect();
    (!processes.is_empty()).then_some(processes)
}

/// Those of a command: members of its group, descendants of its leader, and whatever carries its mark.
pub(super) fn of_command(all: &[Process], leader: Pid, mark: &str) -> Vec<Process> {
    let mark = format!("{MARK}={mark}");
    let mut found: Vec<Process> = all
        .iter()
        .filter(|process| process.pid == leader || process.group == leader || is_marked(process.pid, &mark))
        .copied()
        .collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|process| process.pid) {
        let children = all.iter().filter(|process| process.parent == parent);
        let new: Vec<Process> = children.filter(|child| !found.contains(child)).copied().collect();
        found.extend(new);
        at += 1;
    }
    let own = Pid::this();
    found.retain(|process| process.pid != own);
    found
}

fn is_marked(pid: Pid, mark: &str) -> bool {
    // What belongs to somebody else cannot be read, nor killed.
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    memmem::find_iter(&environment, mark).any(|at| {
        let begins = at == 0 || environment[at - 1] == 0;
        begins && environment.get(at + mark.len()).is_none_or(|next| *next == 0)
    })
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// `stat` of a process that is alive. The name in it can hold anything, so it is read from behind the last `)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group) = (number()?, number()?);
    // The fields from `session` on, up to `starttime`, which is the 22nd of all.
    let started = fields.nth(16)?.parse().ok()?;
    Some(Process {
        pid: Pid::from_raw(pid),
        parent: Pid::from_raw(parent),
        group: Pid::from_raw(group),
        started,
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
            (process.parent.as_raw(), process.group.as_raw(), process.started),
            (3, 5, 12345)
        );
        assert_eq!(parse(7, "7 (gone) Z 3 5 5 0"), None);
        assert_eq!(parse(7, "nonsense"), None);
    }

    #[test]
    fn finds_descendants() {
        let process = |pid, parent, group| Process {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(parent),
            group: Pid::from_raw(group),
            started: 0,
        };
        let base = 2_000_000_000;
        let all = [
            process(base, 1, base),
            process(base + 1, base, base),
            process(base + 2, base + 1, base + 2),
            process(base + 3, base + 2, base + 2),
            process(base + 4, 1, base + 4),
            process(base + 5, 1, base),
        ];
        let found: Vec<i32> = of_command(&all, Pid::from_raw(base), "no such mark")
            .iter()
            .map(|found| found.pid.as_raw() - base)
            .collect();
        assert_eq!(found, [0, 1, 5, 2, 3]);
    }
}
