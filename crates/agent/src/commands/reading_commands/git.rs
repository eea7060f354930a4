//! Commands of Git that only read: they show the state, the history and the names of the repository, or the
//! content of files. `git log -p`, `git show HEAD:FILE`, `git branch NAME`, `git -C DIR` and whatever else is
//! not listed here is asked about. This file does not look at programs that a repository names: until the
//! person has accepted them, no command of Git runs without a question ([`agentx_types::Guard::git`]).
//!
//! `git diff` and `git show` show the content of files that no word names. For these a *listing* is returned,
//! the same command with `--name-only`: the tool runs it first and looks for files with secrets in its
//! output. Each revision is listed as a commit (`main^{commit}`), which fails for any other object: a hash or
//! a tag may name a file, and `git show` prints a file whatever options about a diff it gets. So `git show
//! --stat` has a listing too, which names no file and only fails. `H^{}` and `x-0-gH`, where `H` may be the
//! hash of any object, are asked about.

use super::Workspace;
use crate::commands::command_split::{ReadWords, Reader};
use crate::commands::severity::is_harmless_git;

/// The maximum number of words of one command.
const MANY: usize = 1000;

/// Options of Git itself that change nothing about what is read.
const IN_FRONT: &[&str] = &["--no-optional-locks", "--no-pager", "-P"];

/// Options of `diff` and `show` with which they show no content of a commit, only names and numbers.
#[rustfmt::skip]
const NAMES_ALONE: &[&str] = &[
    "--compact-summary", "--dirstat", "--name-only", "--name-status", "--no-patch", "--numstat", "--quiet", "--raw", "--shortstat",
    "--stat", "--summary", "s",
];

/// Options of `diff` and `show` with which they show content as well.
const PATCHES: &[&str] = &[
    "--function-context",
    "--patch",
    "--unified",
    "--word-diff",
    "U",
    "W",
    "p",
    "u",
];

/// Long options of `diff` and `show`.
#[rustfmt::skip]
const DIFF: &[&str] = &[
    "--cached", "--color=", "--compact-summary", "--diff-algorithm=", "--diff-filter=", "--dirstat", "--find-renames",
    "--function-context", "--histogram", "--ignore-all-space", "--ignore-blank-lines", "--ignore-space-change", "--merge-base",
    "--minimal", "--name-only", "--name-status", "--no-color", "--no-patch", "--no-prefix", "--no-renames", "--numstat", "--patch",
    "--patience", "--quiet", "--raw", "--shortstat", "--staged", "--stat", "--stat=", "--summary", "--unified=", "--word-diff",
    "--word-diff=",
];

/// The same, and options about the commit that `show` describes.
#[rustfmt::skip]
const SHOW: &[&str] = &[
    "--abbrev-commit", "--color=", "--compact-summary", "--date=", "--format=", "--function-context", "--ignore-all-space",
    "--name-only", "--name-status", "--no-color", "--no-patch", "--no-renames", "--numstat", "--oneline", "--patch", "--pretty=",
    "--quiet", "--raw", "--shortstat", "--stat", "--stat=", "--summary", "--unified=", "--word-diff", "--word-diff=",
];

/// Long options of `log`.
#[rustfmt::skip]
const LOG: &[&str] = &[
    "--abbrev-commit", "--after=", "--all", "--author=", "--before=", "--branches", "--cherry-mark", "--cherry-pick", "--color=",
    "--committer=", "--compact-summary", "--date-order", "--date=", "--decorate", "--decorate=", "--diff-filter=", "--first-parent",
    "--follow", "--format=", "--graph", "--grep=", "--left-right", "--max-count=", "--merges", "--name-only", "--name-status",
    "--no-color", "--no-decorate", "--no-merges", "--numstat", "--oneline", "--pretty=", "--relative-date", "--remotes", "--reverse",
    "--shortstat", "--since=", "--skip=", "--stat", "--stat=", "--summary", "--tags", "--topo-order", "--until=",
];

/// Returns a row of the table below.
const fn row(
    name: &'static str,
    flags: &'static str,
    numbers: &'static str,
    texts: &'static str,
    long: &'static [&'static str],
    most: usize,
) -> Reader {
    Reader {
        name,
        flags,
        numbers,
        texts,
        long,
        counts: false,
        plain: (0, most),
    }
}

/// The subcommands.
#[rustfmt::skip]
const TABLE: &[Reader] = &[
    row("blame", "celnstw", "", "L", &["--date=", "--line-porcelain", "--porcelain", "--show-email", "--show-name"], MANY),
    row("branch", "arv", "", "", &["--all", "--list", "--remotes", "--show-current", "--sort=", "--verbose"], 0),
    row("describe", "", "", "", &["--abbrev=", "--all", "--always", "--dirty", "--long", "--tags"], MANY),
    row("diff", "MWabpsuwz", "U", "", DIFF, MANY),
    Reader { counts: true, ..row("log", "EFi", "n", "", LOG, MANY) },
    row("ls-files", "cdmostz", "", "", &["--cached", "--deleted", "--exclude-standard", "--full-name", "--modified", "--others", "--stage"], MANY),
    row("ls-tree", "dlrtz", "", "", &["--full-name", "--full-tree", "--long", "--name-only"], MANY),
    row("merge-base", "a", "", "", &["--all", "--is-ancestor"], MANY),
    Reader { counts: true, ..row("reflog", "", "n", "", &[], 0) },
    Reader { counts: true, ..row("rev-list", "", "n", "", &["--all", "--count", "--max-count=", "--no-merges", "--reverse", "--since=", "--until="], MANY) },
    row("rev-parse", "q", "", "", &[
        "--abbrev-ref", "--is-bare-repository", "--is-inside-work-tree", "--short", "--show-cdup", "--show-prefix", "--show-toplevel",
        "--verify",
    ], MANY),
    row("shortlog", "ens", "", "", &["--email", "--numbered", "--since=", "--summary", "--until="], MANY),
    row("show", "Wabpsuwz", "U", "", SHOW, MANY),
    row("status", "bsz", "", "", &[
        "--branch", "--ignored", "--long", "--porcelain", "--porcelain=", "--short", "--show-stash", "--untracked-files",
        "--untracked-files=",
    ], MANY),
    row("tag", "l", "", "", &["--list", "--sort="], 0),
];

/// The commands of Git that list the files whose content this one shows; `None` if it may do more than read.
pub(super) fn listings(words: &[String], workspace: &Workspace<'_>) -> Option<Vec<Vec<String>>> {
    let front = words
        .iter()
        .take_while(|word| IN_FRONT.contains(&word.as_str()))
        .count();
    let texts: Vec<&str> = words[front..].iter().map(String::as_str).collect();
    if is_without_words(&texts) {
        return Some(Vec::new());
    }
    let (subcommand, words) = words[front..].split_first()?;
    let reader = TABLE.iter().find(|reader| reader.name == subcommand)?;
    let end = words.iter().position(|word| word == "--");
    let (before, paths) = match end {
        Some(end) => (&words[..end], &words[end + 1..]),
        None => (words, &[][..]),
    };
    let read = reader.read(before)?;
    let is_known = |word: &str| workspace.has(word) && !word.contains(':');
    let runs_program = |(_, value): &(&str, Option<&str>)| value.is_some_and(|value| value.contains("%G"));
    let is_plain = read.plain.iter().all(|word| is_known(word))
        && paths.iter().all(|path| is_known(path))
        && !read.options.iter().any(runs_program);
    if !is_plain || (reader.plain.1 == 0 && !paths.is_empty()) {
        return None;
    }
    let listing = match reader.name {
        "diff" | "show" if !read.plain.iter().all(|word| may_name_commit(word)) => return None,
        "diff" | "show" if shows_content(&read) => Some(listing(reader.name, before, &read, paths)),
        "show" => Some(commits_alone(&read)),
        _ => None,
    };
    Some(listing.into_iter().collect())
}

/// Returns whether a whole command only reads: the version, the remotes by name, a plain setting, and lists.
fn is_without_words(words: &[&str]) -> bool {
    match words {
        ["--version" | "version"] | ["stash" | "worktree", "list"] => true,
        ["config" | "remote", ..] => is_harmless_git(&format!("git {}", words.join(" "))),
        _ => false,
    }
}

/// Returns whether `diff` or `show` with these words shows the content of files.
fn shows_content(read: &ReadWords<'_>) -> bool {
    let has = |names: &[&str]| read.options.iter().any(|(name, _)| names.contains(name));
    has(PATCHES) || !has(NAMES_ALONE)
}

/// The command that lists the files: the same words, with later options that override those for the output.
fn listing(name: &str, before: &[String], read: &ReadWords<'_>, paths: &[String]) -> Vec<String> {
    let is_plain = |word: &&String| read.plain.contains(&word.as_str());
    let options = before.iter().filter(|word| !is_plain(word)).cloned();
    let mut words = vec!["git".to_owned(), name.to_owned()];
    words.extend(options);
    words.extend(["--name-only", "--no-renames", "-z"].map(str::to_owned));
    if name == "show" {
        words.extend(ONLY_NAMES.map(str::to_owned));
    }
    words.extend(commits(name, read));
    words.push("--".to_owned());
    words.extend(paths.iter().cloned());
    words
}

/// The command that lists nothing, and fails unless all revisions of `show` name commits.
fn commits_alone(read: &ReadWords<'_>) -> Vec<String> {
    let mut words = ["git", "show", "-s"].map(str::to_owned).to_vec();
    words.extend(ONLY_NAMES.map(str::to_owned));
    words.extend(commits("show", read));
    words.push("--".to_owned());
    words
}

/// Options with which `show` says nothing about the commit itself.
const ONLY_NAMES: [&str; 2] = ["--format=", "--no-show-signature"];

/// The revisions, each as a commit. `show` shows `HEAD` if there are none.
fn commits(name: &str, read: &ReadWords<'_>) -> Vec<String> {
    if name == "show" && read.plain.is_empty() {
        return vec![as_commits("HEAD")];
    }
    read.plain.iter().map(|word| as_commits(word)).collect()
}

/// Returns whether a word is not written as one that may name any object: `H^{}`, `H^{blob}`, `x-0-gH`.
fn may_name_commit(word: &str) -> bool {
    let is_hash = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_described = |part: &str| part.rsplit_once("-g").is_some_and(|(_, hash)| is_hash(hash));
    !word.contains("^{") && !word.split("..").any(is_described)
}

/// A revision or a range of them, each part as a commit.
fn as_commits(word: &str) -> String {
    let commit = |part: &str| {
        let part = if part.is_empty() { "HEAD" } else { part };
        format!("{part}^{{commit}}")
    };
    let dots = if word.contains("...") { "..." } else { ".." };
    match word.split_once(dots) {
        Some((from, to)) => format!("{}{dots}{}", commit(from), commit(to)),
        None => commit(word),
    }
}
