//! The rule that "always" keeps for a call: it covers no more than the person saw. It contains the command
//! line word for word, except for the commands below, whose words may vary without harm. A person can write a
//! wider rule by hand.

use agentx_types::{RULES_VERSION, since};

use crate::commands::command_split::take_apart;
use crate::commands::severity::unnamed;
use crate::files::auto_run_files::is_guarded_as;
use crate::pattern::literal;

/// Commands that write nothing, send nothing, run nothing else and show no file's content, with any words
/// (except those that make them more dangerous: `git status -v`).
const ANY_WORDS: &[&str] = &[
    "arch",
    "basename",
    "df",
    "dirname",
    "echo",
    "git check-ignore",
    "git describe",
    "git ls-files",
    "git ls-tree",
    "git merge-base",
    "git rev-parse",
    "git status",
    "groups",
    "id",
    "ls",
    "nproc",
    "pwd",
    "readlink",
    "realpath",
    "seq",
    "stat",
    "uname",
    "uptime",
    "which",
    "whoami",
];

/// The pattern of a rule for this command line.
///
/// ```
/// use agentx_agent::remembered_rule::command;
/// assert_eq!(command("ls -l src"), "ls *");
/// assert_eq!(command("git log --oneline"), "git log --oneline");
/// assert_eq!(command("rm build/*"), r"rm build/\*");
/// assert_eq!(command("git status -v"), "git status -v");
/// ```
pub fn command(line: &str) -> String {
    command_as(line, RULES_VERSION)
}

/// The pattern of [`command`] under this version of the rules, which decides which words a star stands for.
pub(crate) fn command_as(line: &str, version: u32) -> String {
    let apart = take_apart(line);
    let stem = match &apart.commands[..] {
        [command] if apart.certain => ANY_WORDS.iter().find(|stem| {
            command
                .strip_prefix(**stem)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        }),
        _ => None,
    };
    let pattern = stem.map(|stem| format!("{stem} *"));
    let covers =
        |pattern: &String| version < since::KEPT_STARS_COVER || unnamed(pattern, line, "", version).is_none();
    pattern.filter(covers).unwrap_or_else(|| literal(line))
}

/// The pattern of a rule for changes like that of the file at `path`, which is normalized, absolute and
/// within `workspace`: the files in its folder, or only the file if it is guarded or directly in the
/// workspace.
///
/// ```
/// use agentx_agent::remembered_rule::folder;
/// assert_eq!(folder("/ws", "/ws/src/a.rs"), "src/*");
/// assert_eq!(folder("/ws", "/ws/a.rs"), "a.rs");
/// assert_eq!(folder("/ws", "/ws/.git/config"), ".git/config");
/// ```
pub fn folder(workspace: &str, path: &str) -> String {
    folder_as(workspace, path, RULES_VERSION)
}

/// The pattern of [`folder`] under this version of the rules, which decides which files are guarded: for
/// these the pattern is only the file.
pub(crate) fn folder_as(workspace: &str, path: &str, version: u32) -> String {
    let inside = relative_to(workspace, path);
    match inside.rsplit_once('/') {
        Some((folder, _)) if !is_guarded_as(path, version) && !folder.is_empty() => {
            format!("{}/*", literal(folder))
        }
        _ => literal(inside),
    }
}

/// The path as a rule of this workspace names it: relative if it is inside, otherwise unchanged.
pub(crate) fn relative_to<'p>(workspace: &str, path: &'p str) -> &'p str {
    path.strip_prefix(workspace.trim_end_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path)
}
