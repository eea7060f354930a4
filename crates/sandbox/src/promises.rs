//! The promises of each step and their limits, as data: for `agentx sandbox show` and docs/SANDBOX.md.

use crate::SandboxStep;

/// Something that a command may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The attempt.
    pub attempt: &'static str,
    /// The protection in the step `landlock`; `None` without one.
    pub landlock: Option<&'static str>,
    /// The protection in the step `namespace`; `None` without one.
    pub namespace: Option<&'static str>,
}

impl Promise {
    /// Returns the protection against the attempt in this step.
    pub fn stopped_by(&self, step: SandboxStep) -> Option<&'static str> {
        match step {
            SandboxStep::None => None,
            SandboxStep::Landlock => self.landlock,
            SandboxStep::Namespace => self.namespace,
        }
    }
}

const fn promise(
    attempt: &'static str,
    landlock: Option<&'static str>,
    namespace: Option<&'static str>,
) -> Promise {
    Promise {
        attempt,
        landlock,
        namespace,
    }
}

const LANDLOCK: Option<&str> = Some("Landlock");
const FILTER: Option<&str> = Some("system call filter");
const MOUNTS: Option<&str> = Some("own root directory");

/// The table: each attempt, and what stops it.
pub fn promises() -> &'static [Promise] {
    PROMISES
}

const PROMISES: &[Promise] = &[
    promise(
        "write outside of the workspace, caches and its own temporary directory",
        LANDLOCK,
        MOUNTS,
    ),
    promise(
        "read files that are neither of the system, a toolchain nor the workspace",
        LANDLOCK,
        MOUNTS,
    ),
    promise(
        "read SSH keys, cloud credentials, browser profiles, AgentX's data",
        LANDLOCK,
        MOUNTS,
    ),
    promise(
        "read a credential in settings that builds need (`~/.gitconfig`, Cargo's `config.toml`)",
        LANDLOCK,
        MOUNTS,
    ),
    promise(
        "see that a file is there, or change its mode, owner or times",
        None,
        MOUNTS,
    ),
    promise(
        "change hooks or settings of the repository of the workspace, its worktrees and `.git/modules`",
        None,
        MOUNTS,
    ),
    promise(
        "make the workspace a repository, or make or change one below it, which Git obeys when it looks there",
        None,
        None,
    ),
    promise(
        "lead the next command out by a link in a directory that may be written",
        Some("paths are not followed through it"),
        Some("paths are not followed through it"),
    ),
    promise(
        "leave an unfinished rebase or bisect whose next step runs a command",
        None,
        None,
    ),
    promise(
        "change a cache whose files run elsewhere as they are (`npx`, uv, pnpm, Bun, Deno, pre-commit, pub)",
        LANDLOCK,
        Some("layer of the session"),
    ),
    promise(
        "poison a cache from which other projects compile, install or load plugins",
        None,
        None,
    ),
    promise(
        "make a directory of `PATH` that is missing, in a place outside of the workspace",
        None,
        MOUNTS,
    ),
    promise(
        "see the command lines of other processes",
        None,
        Some("pid namespace"),
    ),
    promise(
        "read the memory or the environment of other processes",
        LANDLOCK,
        Some("pid namespace"),
    ),
    promise("send signals to other processes", LANDLOCK, Some("pid namespace")),
    promise(
        "reach another machine, without a network",
        FILTER,
        Some("net namespace"),
    ),
    promise(
        "reach servers of this machine, without a network",
        FILTER,
        Some("net namespace"),
    ),
    promise("reach servers of this machine, with a network", None, None),
    promise(
        "send what it may read to another machine, with a network",
        None,
        None,
    ),
    promise(
        "reach a host that is not allowed, through the proxy",
        Some("proxy"),
        Some("proxy"),
    ),
    promise(
        "reach a host past the proxy, at another port than that of the proxy",
        Some("Landlock, system call filter"),
        Some("net namespace"),
    ),
    promise(
        "reach a host past the proxy, at the same port",
        None,
        Some("net namespace"),
    ),
    promise("send what it may read to a host that is allowed", None, None),
    promise("talk to daemons over sockets in the file system", FILTER, MOUNTS),
    promise(
        "talk to daemons over abstract sockets",
        FILTER,
        Some("net namespace, Landlock"),
    ),
    promise(
        "use memory that others share",
        Some("Landlock, system call filter"),
        Some("ipc namespace, own root directory"),
    ),
    promise(
        "trace a process, load code into the kernel, mount, use keys",
        FILTER,
        FILTER,
    ),
    promise(
        "gain privileges by a setuid program",
        Some("no new privileges"),
        Some("no new privileges"),
    ),
    promise("type into the terminal", FILTER, FILTER),
    promise(
        "start more than 4,096 processes (root: any number)",
        None,
        Some("resource limit"),
    ),
    promise(
        "use more memory than `sandbox.memory`, or start more than `sandbox.processes`",
        Some("control group"),
        Some("control group"),
    ),
    promise(
        "use up memory without that setting, or the processors",
        None,
        None,
    ),
    promise("fill the disk below the workspace", None, None),
    promise(
        "exploit a kernel vulnerability that the filter does not block",
        None,
        None,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_this_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SANDBOX.md");
        let page = std::fs::read_to_string(page).unwrap();
        for promise in promises() {
            let cell = |step| promise.stopped_by(step).unwrap_or("–");
            let (landlock, namespace) = (cell(SandboxStep::Landlock), cell(SandboxStep::Namespace));
            let row = format!("| {} | {landlock} | {namespace} |", promise.attempt);
            assert!(page.contains(&row), "{row}");
        }
    }
}
