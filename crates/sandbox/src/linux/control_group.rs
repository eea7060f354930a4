//! The control group of a command, which limits the memory and the number of processes of all that it starts.
//!
//! Groups are made below the nearest group above this process in which this person may make some and whose
//! members get the controllers: a scope or slice that systemd delegated, or, for root, any. The kernel keeps
//! a group with members from giving controllers to groups below it, so this process's own group rarely is
//! one.
//!
//! | who | does |
//! | --- | --- |
//! | helper | makes the group, named by its process number, and joins it, or has its child join it |
//! | kernel | ends processes that need more memory, refuses to start more processes |
//! | helper, in the step `namespace` | says afterwards that a limit was reached, and removes the group |
//! | a later helper | removes groups that are empty and whose helper is gone |

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::{SandboxError, SandboxLimits, SandboxPolicy, SandboxStep};

/// The place of version 2 of the interface.
const ROOT: &str = "/sys/fs/cgroup";
/// The beginning of the names of groups.
const NAME: &str = "agentx-";
/// The most groups of processes with one number, of which all but one have ended.
const MOST_OF_NUMBER: usize = 8;
/// The most entries that are looked at for groups that were left.
const MOST_LOOKED_AT: usize = 1_000;

/// The control group of one command.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    limits: SandboxLimits,
}

impl ControlGroup {
    /// Makes the group that a policy wants; `None` if it wants none, or is best effort and there can be none.
    pub(super) fn of_policy(policy: &SandboxPolicy) -> Result<Option<Self>, SandboxError> {
        if policy.step == SandboxStep::None || !policy.limits.has_group() {
            return Ok(None);
        }
        match Self::make(Path::new(ROOT), &own_group()?, &policy.limits) {
            Ok(group) => Ok(Some(group)),
            Err(_) if policy.best_effort => Ok(None),
            Err(why) => Err(SandboxError::Limits {
                why,
                from: policy.limits.from.clone(),
            }),
        }
    }

    /// Makes a group for these limits near `own`, the group of this process. Returns why that does not work.
    fn make(root: &Path, own: &str, limits: &SandboxLimits) -> Result<Self, String> {
        let above = place(root, own, &controllers_of(limits))?;
        remove_left(&above);
        let group = Self {
            path: make_directory(&above)?,
            limits: limits.clone(),
        };
        let written = group.write_limits();
        let written = written.map_err(|error| format!("{}: {error}", group.path.display()));
        if written.is_err() {
            let _ = fs::remove_dir(&group.path);
        }
        written.map(|()| group)
    }

    fn write_limits(&self) -> io::Result<()> {
        if let Some(bytes) = self.limits.memory_bytes {
            fs::write(self.path.join("memory.max"), bytes.to_string())?;
            // A kernel without swap has no such file.
            let swap = self.path.join("memory.swap.max");
            if swap.exists() {
                fs::write(swap, "0")?;
            }
        }
        if let Some(most) = self.limits.tasks {
            fs::write(self.path.join("pids.max"), most.to_string())?;
        }
        Ok(())
    }

    /// Moves this process into the group; what it starts stays there.
    pub(super) fn join(&self) -> Result<(), SandboxError> {
        fs::write(self.path.join("cgroup.procs"), "0").map_err(|error| SandboxError::Limits {
            why: format!("{}: {error}", self.path.display()),
            from: self.limits.from.clone(),
        })
    }

    /// Says on standard error that the command reached a limit, and removes the group unless processes are
    /// left in it.
    pub(super) fn end(&self) {
        for sentence in self.reached() {
            // Without standard error, the exit code alone remains.
            let _ = writeln!(io::stderr(), "agentx: {sentence}");
        }
        let _ = fs::remove_dir(&self.path);
    }

    /// The limits that were reached, in words.
    fn reached(&self) -> Vec<String> {
        let has = |file: &str, word: &str| {
            fs::read_to_string(self.path.join(file)).is_ok_and(|text| event_count(&text, word) > 0)
        };
        let mut sentences = Vec::new();
        if let Some(bytes) = self
            .limits
            .memory_bytes
            .filter(|_| has("memory.events", "oom_kill"))
        {
            let mebibytes = bytes >> 20;
            sentences.push(format!(
                "a process was ended, because the command needed more than {mebibytes} MiB of memory (`sandbox.memory`)"
            ));
        }
        if let Some(most) = self.limits.tasks.filter(|_| has("pids.events", "max")) {
            sentences.push(format!(
                "a process could not be started, because the command had {most} processes (`sandbox.processes`)"
            ));
        }
        sentences
    }
}

/// Makes the directory of a group, which has the number of this process in its name. A group of an earlier
/// process with this number may still have members.
fn make_directory(above: &Path) -> Result<PathBuf, String> {
    let mut why = String::new();
    for earlier in 0..MOST_OF_NUMBER {
        let number = std::process::id();
        let path = above.join(match earlier {
            0 => format!("{NAME}{number}"),
            earlier => format!("{NAME}{number}-{earlier}"),
        });
        // One without members.
        let _ = fs::remove_dir(&path);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) => why = format!("{}: {error}", path.display()),
        }
    }
    Err(why)
}

/// Tries whether a group with both limits can be made and joined. Returns why not.
pub(super) fn probe() -> Result<(), String> {
    let limits = SandboxLimits {
        memory_bytes: Some(1 << 30),
        tasks: Some(64),
        ..SandboxLimits::default()
    };
    let own = own_group().map_err(|error| error.to_string())?;
    let group = ControlGroup::make(Path::new(ROOT), &own, &limits)?;
    let home = Path::new(ROOT).join(own.trim_start_matches('/'));
    // This process leaves the group again, so that it can be removed.
    let tried = group
        .join()
        .map_err(|error| error.to_string())
        .and_then(|()| fs::write(home.join("cgroup.procs"), "0").map_err(|error| error.to_string()));
    let _ = fs::remove_dir(&group.path);
    tried
}

/// The controllers that limits need.
fn controllers_of(limits: &SandboxLimits) -> Vec<&'static str> {
    let memory = limits.memory_bytes.map(|_| "memory");
    memory.into_iter().chain(limits.tasks.map(|_| "pids")).collect()
}

/// The path of the group of this process, as the kernel tells it.
fn own_group() -> Result<String, SandboxError> {
    let text = fs::read_to_string("/proc/self/cgroup")
        .map_err(|error| SandboxError::path(Path::new("/proc/self/cgroup"), error))?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::"));
    Ok(own.unwrap_or("/").to_owned())
}

/// Returns the nearest group, `own` or above it, below which this person may make groups that get the
/// controllers.
fn place(root: &Path, own: &str, controllers: &[&str]) -> Result<PathBuf, String> {
    let known = fs::read_to_string(root.join("cgroup.controllers"))
        .map_err(|_| format!("{} is not version 2 of control groups", root.display()))?;
    if let Some(missing) = controllers.iter().find(|name| !has_word(&known, name)) {
        return Err(format!(
            "the kernel has no controller `{missing}` in {}",
            root.display()
        ));
    }
    if own.split('/').any(|part| part == "..") {
        return Err("the control group of this process is outside of its container".into());
    }
    let here = root.join(own.trim_start_matches('/'));
    let above: Vec<&Path> = here
        .ancestors()
        .take_while(|path| path.starts_with(root))
        .collect();
    let may_write = |path: &Path| {
        let can = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
        can(path) && can(&path.join("cgroup.procs"))
    };
    let gives = |path: &Path| {
        let given = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
        controllers.iter().all(|name| has_word(&given, name))
    };
    above
        .into_iter()
        .find(|path| may_write(path) && gives(path))
        .map(Path::to_owned)
        .ok_or_else(|| {
            "no control group above this process is delegated to you with these controllers; start AgentX with \
             `systemd-run --user --scope agentx`"
                .into()
        })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_ascii_whitespace().any(|found| found == word)
}

/// Reads the number behind a word of a file of events.
fn event_count(text: &str, word: &str) -> u64 {
    let count = |line: &str| line.strip_prefix(word)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(count).unwrap_or(0)
}

/// Removes groups whose helper is gone. The kernel keeps those that have processes.
fn remove_left(above: &Path) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    for entry in entries.take(MOST_LOOKED_AT) {
        let name = entry.file_name();
        let helper = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let helper = helper.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if helper.is_some_and(|number| !Path::new("/proc").join(number.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up tree: `user` gives its members controllers, `user/scope` has this process.
    fn tree(given: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let scope = root.path().join("user/scope");
        fs::create_dir_all(&scope).unwrap();
        for (group, given) in [("", "cpu memory pids"), ("user", given), ("user/scope", "")] {
            let group = root.path().join(group);
            fs::write(group.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
            fs::write(group.join("cgroup.subtree_control"), given).unwrap();
            fs::write(group.join("cgroup.procs"), "").unwrap();
        }
        // Nobody delegated the root: it has no list of members that can be written.
        fs::remove_file(root.path().join("cgroup.procs")).unwrap();
        root
    }

    fn limits(memory_bytes: Option<u64>, tasks: Option<u64>) -> SandboxLimits {
        SandboxLimits {
            memory_bytes,
            tasks,
            ..SandboxLimits::default()
        }
    }

    #[test]
    fn a_group_is_made_in_the_nearest_one_that_gives_the_controllers() {
        for (given, memory, tasks, expected) in [
            ("memory pids", Some(64 << 20), Some(9), true),
            ("pids", Some(64 << 20), None, false),
            ("pids", None, Some(9), true),
            ("", None, Some(9), false),
        ] {
            let root = tree(given);
            let made = ControlGroup::make(root.path(), "/user/scope", &limits(memory, tasks));
            assert_eq!(made.is_ok(), expected, "{given}: {made:?}");
            let Ok(group) = made else { continue };
            assert_eq!(group.path.parent(), Some(&*root.path().join("user")));
            let read = |name: &str| fs::read_to_string(group.path.join(name)).ok();
            assert_eq!(read("memory.max"), memory.map(|bytes| bytes.to_string()));
            assert_eq!(read("pids.max"), tasks.map(|most| most.to_string()));
            group.join().unwrap();
            assert_eq!(read("cgroup.procs").as_deref(), Some("0"));
        }
    }

    #[test]
    fn a_group_of_an_earlier_process_with_the_same_number_is_left_alone() {
        let root = tree("pids");
        let first = format!("{NAME}{}", std::process::id());
        let earlier = root.path().join("user").join(&first);
        fs::create_dir(&earlier).unwrap();
        // A directory with something in it stands for a group with members, which is not removed either.
        fs::write(earlier.join("member"), "").unwrap();
        let group = ControlGroup::make(root.path(), "/user/scope", &limits(None, Some(9))).unwrap();
        assert_eq!(group.path, root.path().join("user").join(format!("{first}-1")));
        assert!(earlier.exists());
    }

    #[test]
    fn what_is_no_tree_of_version_2_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let all = limits(Some(1 << 30), Some(9));
        let why = |root: &Path, own: &str| ControlGroup::make(root, own, &all).unwrap_err();
        assert!(why(empty.path(), "/").contains("not version 2"));
        let root = tree("memory pids");
        assert!(why(root.path(), "/../other").contains("outside of its container"));
        assert!(why(root.path(), "/").contains("systemd-run"));
        fs::write(root.path().join("cgroup.controllers"), "cpu").unwrap();
        assert!(why(root.path(), "/user/scope").contains("controller `memory`"));
    }

    #[test]
    fn a_reached_limit_is_said() {
        let root = tree("memory pids");
        let all = limits(Some(64 << 20), Some(9));
        let group = ControlGroup::make(root.path(), "/user/scope", &all).unwrap();
        assert_eq!(group.reached(), Vec::<String>::new());
        fs::write(
            group.path.join("memory.events"),
            "low 0\nmax 7\noom 1\noom_kill 0\n",
        )
        .unwrap();
        fs::write(group.path.join("pids.events"), "max 0\n").unwrap();
        assert_eq!(
            group.reached(),
            Vec::<String>::new(),
            "memory was only taken back"
        );
        fs::write(group.path.join("memory.events"), "oom 1\noom_kill 1\n").unwrap();
        fs::write(group.path.join("pids.events"), "max 2\n").unwrap();
        let said = group.reached().join("\n");
        assert!(said.contains("64 MiB") && said.contains("9 processes"), "{said}");
    }

    #[test]
    fn a_group_whose_helper_is_gone_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let own = format!("{NAME}{}", std::process::id());
        let (gone, second) = (format!("{NAME}{}", u32::MAX), format!("{NAME}{}-1", u32::MAX));
        for name in [&own, &gone, &second, "agentx.slice", "agentx-app.scope"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        remove_left(root.path());
        let is_there = |name: &str| root.path().join(name).exists();
        assert!(is_there(&own) && is_there("agentx.slice") && is_there("agentx-app.scope"));
        assert!(!is_there(&gone) && !is_there(&second));
    }
}
