//! The options that a star matches, for programs that have too many others: of Git behind and in front of a
//! subcommand, and of `curl`. What is not listed is dangerous, whatever the subcommand: an option may name a
//! file to write or to show, a program to run, or a directory with settings.
//!
//! From version 9 of the rules on. The long options are those that `git COMMAND --git-completion-helper-all`
//! lists for Git 2.47, without those with such a name, and those of the manual of `git rev-parse` and of
//! `git log`. A shortened option is not listed.

use crate::command_analysis::BLANK;

/// Options of Git itself.
#[rustfmt::skip]
const IN_FRONT_OF_GIT: &[&str] = &[
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs",
    "--noglob-pathspecs", "--icase-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice",
    "--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path",
];

/// Long options of subcommands of Git, without their dashes.
#[rustfmt::skip]
const LONG_OF_GIT: &[&str] = &[
    "abbrev", "abbrev-ref", "abort", "absolute-git-dir", "add", "add-header", "after", "after-context",
    "again", "aggressive", "ahead-behind", "all", "all-match", "all-progress", "all-progress-implied",
    "allow-empty", "allow-empty-message", "allow-unrelated-histories", "also-filter-submodules", "always",
    "amend", "ancestry-path", "anchored", "and", "annotate", "annotate-stdin", "anonymize", "anonymize-map",
    "append", "apply", "assume-unchanged", "atomic", "attach", "author", "author-date-order", "auto",
    "auto-gc", "auto-maintenance", "autosquash", "autostash", "bare", "base", "basic-regexp", "batch",
    "batch-all-objects", "batch-check", "batch-command", "before", "before-context", "binary", "bisect",
    "bitmap", "boundary", "branch", "branches", "break", "break-rewrites", "broken", "buffer", "cache",
    "cached", "cacheinfo", "candidates", "cc", "changed-paths", "check", "checkout", "cherry",
    "cherry-mark", "cherry-pick", "children", "chmod", "cleanup", "clear-decorations", "color",
    "color-by-age", "color-lines", "color-moved", "color-moved-ws", "color-words", "column",
    "combined-all-paths", "comment-lines", "commit", "committer", "committer-date-is-author-date",
    "compact-summary", "compression", "cone", "conflict", "connectivity-only", "contains", "context",
    "continue", "copy", "count", "cover-from-description", "cover-letter", "create", "create-reflog",
    "creation-factor", "cruft", "cruft-expiration", "cumulative", "current", "dangling", "data", "date",
    "date-order", "debug", "decorate", "decorate-refs", "decorate-refs-exclude", "deduplicate", "deepen",
    "default", "default-prefix", "delete", "deleted", "delta-base-offset", "dense", "depth", "deref",
    "dereference", "detach", "diff-algorithm", "diff-filter", "diff-merges", "diff3", "dirstat",
    "dirstat-by-file", "dirty", "discard-changes", "disk-usage", "dissociate", "do-walk", "dry-run",
    "dst-prefix", "dual-color", "edit", "edit-description", "edit-todo", "email", "empty", "encoding",
    "eol", "error-unmatch", "exact-match", "exclude", "exclude-hidden", "exclude-promisor-objects",
    "exclude-standard", "exists", "exit-code", "expand-tabs", "expire", "expire-time", "ext-grep",
    "extended-regexp", "fake-missing-tagger", "fetch", "ff", "ff-only", "filename-max-length",
    "files-with-matches", "files-without-match", "filter", "find-copies", "find-copies-harder",
    "find-object", "find-renames", "first-parent", "fixed-strings", "fixup", "follow", "follow-tags",
    "force", "force-create", "force-if-includes", "force-in-body-from", "force-rebase", "force-with-lease",
    "fork-point", "format", "from", "full", "full-history", "full-index", "full-name", "full-tree",
    "function-context", "geometric", "get-url", "git-common-dir", "git-dir", "git-path", "glob", "gpg-sign",
    "graph", "grep", "group", "guess", "guess-remote", "hard", "hash", "head", "heading", "heads", "help",
    "histogram", "human-readable", "ignore-all-space", "ignore-blank-lines", "ignore-case",
    "ignore-cr-at-eol", "ignore-date", "ignore-errors", "ignore-if-in-upstream", "ignore-matching-lines",
    "ignore-missing", "ignore-other-worktrees", "ignore-removal", "ignore-rev", "ignore-skip-worktree-bits",
    "ignore-space-at-eol", "ignore-space-change", "ignore-submodules", "ignore-unmatch", "ignore-unmerged",
    "ignore-whitespace", "ignored", "in-reply-to", "include", "include-root-refs", "include-tag",
    "include-untracked", "incremental", "indent-heuristic", "independent", "index", "indexed-objects",
    "initial-branch", "inline", "intent-to-add", "inter-hunk-context", "interactive", "interdiff",
    "invert-grep", "invert-match", "ipv4", "ipv6", "irreversible-delete", "is-ancestor",
    "is-bare-repository", "is-inside-git-dir", "is-inside-work-tree", "is-shallow-repository",
    "ita-invisible-in-index", "ita-visible-in-index", "jobs", "keep", "keep-base", "keep-cr", "keep-empty",
    "keep-index", "keep-largest-pack", "keep-non-patch", "keep-redundant-commits", "keep-subject", "killed",
    "left-only", "left-right", "line-number", "line-porcelain", "line-prefix", "list", "local", "lock",
    "log", "long", "lost-found", "mainline", "mark-tags", "marker-size", "master", "match", "max-age",
    "max-count", "max-depth", "max-parents", "merge", "merge-base", "merged", "merges", "message",
    "message-id", "min-age", "min-parents", "minimal", "mirror", "missing", "mixed", "mode", "modified",
    "more", "move", "multiple", "name", "name-objects", "name-only", "name-status", "negotiate-only",
    "negotiation-tip", "no-walk", "non-empty", "non-matching", "not", "notes", "null", "numbered",
    "numbered-files", "numstat", "object-format", "object-id", "object-only", "objects", "objects-edge",
    "octopus", "omit-empty", "oneline", "only", "only-matching", "only-untracked", "onto", "or", "origin",
    "orphan", "others", "ours", "output-indicator-context", "output-indicator-new", "output-indicator-old",
    "overlay", "parents", "patch", "patch-format", "patch-with-raw", "patch-with-stat", "path", "patience",
    "peel-tag", "perl", "perl-regexp", "pickaxe-all", "pickaxe-regex", "points-at", "porcelain", "prefetch",
    "pretty", "progress", "prune", "prune-tags", "push-option", "python", "quiet", "quit", "quoted-cr",
    "range-diff", "raw", "reachable", "reapply-cherry-picks", "reason", "rebase", "rebase-merges",
    "recount", "recurse", "recurse-submodules", "recursive", "reedit-message", "ref-format", "refetch",
    "reflog", "reflogs", "refmap", "refresh", "refs", "refspec", "reject", "reject-shallow", "relative",
    "relative-date", "remotes", "remove", "remove-empty", "rename-empty", "renames", "renormalize",
    "replace", "rerere-autoupdate", "reroll-count", "reschedule-failed-exec", "reset", "reset-author",
    "reset-author-date", "resolve-undo", "resolved", "retry", "reuse-message", "reverse", "rfc",
    "right-only", "root", "rotate-to", "scissors", "separator", "set-upstream", "set-upstream-to",
    "shallow-exclude", "shallow-since", "shallow-submodules", "shared", "short", "shortstat", "show-cdup",
    "show-current", "show-current-patch", "show-email", "show-forced-updates", "show-function",
    "show-linear-break", "show-name", "show-notes", "show-number", "show-object-format",
    "show-original-ids", "show-prefix", "show-pulls", "show-signature", "show-stash",
    "show-superproject-working-tree", "show-toplevel", "sign", "signature", "signed", "signed-tags",
    "signoff", "simplify-by-decoration", "simplify-merges", "since", "single-branch", "size-multiple",
    "skip", "skip-to", "skip-worktree", "soft", "sort", "source", "sparse", "sparse-checkout",
    "sparse-index", "split", "squash", "src-prefix", "stable", "stage", "staged", "start-number", "stat",
    "stat-count", "stat-graph-width", "stat-name-width", "stat-width", "status", "stdin", "stdout",
    "strategy-option", "strict", "strip-comments", "subject-prefix", "submodule", "suffix", "summary",
    "symbolic", "symbolic-full-name", "symref", "tags", "tcl", "text", "theirs", "thin", "threads",
    "topo-order", "track", "trailer", "unified", "union", "unmerged", "unordered", "unpacked",
    "unreachable", "unset-upstream", "unshallow", "unstable", "until", "untracked", "untracked-files",
    "update", "update-head-ok", "update-refs", "use-bitmap-index", "use-mailmap", "utf8", "verbatim",
    "verbose", "verify", "verify-signatures", "version", "walk-reflogs", "warn-embedded-repo", "whitespace",
    "width", "window", "with", "without", "word-diff", "word-diff-regex", "word-regexp", "worktree",
    "write-commit-graph", "write-fetch-head", "write-midx", "ws-error-highlight", "zdiff3", "zero-commit",
];

/// Letters of subcommands of Git that name a file, a program or a directory with settings.
const LETTERS_OF_GIT: &[(&str, &str)] = &[
    ("annotate", "S"),
    ("blame", "S"),
    ("clone", "uc"),
    ("commit", "Ft"),
    ("commit-tree", "F"),
    ("fmt-merge-msg", "F"),
    ("format-patch", "o"),
    ("grep", "fO"),
    ("index-pack", "o"),
    ("ls-files", "X"),
    ("mailsplit", "o"),
    ("merge", "sF"),
    ("notes", "F"),
    ("pull", "s"),
    ("rebase", "s"),
    ("tag", "F"),
];

/// Letters of Git behind which a value follows in the same word.
const WITH_VALUE_OF_GIT: &str = "CGLSUXbejmno";

/// Beginnings of Git commands that write a file whose name is no option.
const WRITES_OF_GIT: &[&str] = &[
    "bundle create",
    "index-pack",
    "mailinfo",
    "mailsplit",
    "merge-file",
    "pack-objects",
];

/// Long options of `curl`, without their dashes.
#[rustfmt::skip]
const LONG_OF_CURL: &[&str] = &[
    "basic", "compressed", "connect-timeout", "digest", "disable", "fail", "fail-early", "fail-with-body", "get", "globoff",
    "head", "header", "help", "http0.9", "http1.0", "http1.1", "http2", "http2-prior-knowledge", "http3", "include",
    "insecure", "ipv4", "ipv6", "limit-rate", "location", "max-filesize", "max-redirs", "max-time", "no-buffer",
    "no-keepalive", "no-progress-meter", "noproxy", "parallel", "path-as-is", "progress-bar", "proto", "proto-redir",
    "range", "referer", "resolve", "retry", "retry-all-errors", "retry-connrefused", "retry-delay", "retry-max-time",
    "show-error", "show-headers", "silent", "speed-limit", "speed-time", "ssl-reqd", "styled-output", "tcp-nodelay",
    "tls-max", "tlsv1", "tlsv1.2", "tlsv1.3", "url", "user-agent", "verbose", "version",
];

/// Letters of `curl` without a value.
const LETTERS_OF_CURL: &str = "#0123456789GILNSVZafghijklnqsv";

/// Letters of `curl` with a value, which for a header may be the name of a file.
const WITH_VALUE_OF_CURL: &str = "AHemry";

/// Returns the dangerous words of one command, as they would be written in a pattern. `in_words` has marks for
/// blanks within a word.
pub(super) fn unlisted(in_words: &str) -> Vec<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    let program = words.next();
    let words: Vec<&str> = words.collect();
    match program {
        Some("git") => of_git(&words),
        Some("curl") => of_curl(&words),
        Some("http" | "https") => of_httpie(&words),
        _ => Vec::new(),
    }
}

fn of_git(words: &[&str]) -> Vec<String> {
    let at = words.iter().position(|word| !word.starts_with('-'));
    let (in_front, rest) = words.split_at(at.unwrap_or(words.len()));
    let unlisted = in_front.iter().map(|word| name(word));
    let mut found: Vec<String> = unlisted
        .filter(|name| !IN_FRONT_OF_GIT.contains(name))
        .map(|name| format!("git {name}"))
        .collect();
    let Some((subcommand, rest)) = rest.split_first() else {
        return found;
    };
    let line = rest
        .first()
        .map_or_else(|| (*subcommand).to_owned(), |next| format!("{subcommand} {next}"));
    let writes = WRITES_OF_GIT
        .iter()
        .find(|start| *start == subcommand || **start == line);
    found.extend(writes.map(|start| format!("git {start}")));
    let letters = LETTERS_OF_GIT.iter().find(|(name, _)| name == subcommand);
    let letters = letters.map_or("", |(_, letters)| letters);
    for word in rest.iter().take_while(|word| **word != "--") {
        let option = match word.strip_prefix("--") {
            Some(_) => Some(name(word).to_owned()).filter(|name| !is_listed(name, LONG_OF_GIT)),
            None => {
                let mut group = word.strip_prefix('-').unwrap_or_default().chars();
                let is_last =
                    |letter: &char| letters.contains(*letter) || WITH_VALUE_OF_GIT.contains(*letter);
                let letter = group.find(is_last).filter(|letter| letters.contains(*letter));
                letter.map(|letter| format!("-{letter}"))
            }
        };
        found.extend(option.map(|option| format!("git {subcommand} {option}")));
    }
    found
}

/// The name of an option, without its value.
fn name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// Returns whether a long option is in the list. What `--no-` turns off is harmless, except for the index: Git
/// compares any two files without it.
fn is_listed(option: &str, list: &[&str]) -> bool {
    let name = option.trim_start_matches('-');
    match name.strip_prefix("no-") {
        Some(off) => off.len() > 1 && !"index".starts_with(off),
        None => list.binary_search(&name).is_ok(),
    }
}

fn of_curl(words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words {
        if let Some(long) = word.strip_prefix("--") {
            let is_file = word.contains("=@");
            if is_file || LONG_OF_CURL.binary_search(&name(long)).is_err() {
                found.push(format!("curl {}", name(word)));
            }
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            found.extend(letter_of_curl(short).map(|letter| format!("curl -{letter}")));
        } else if word.trim_start_matches(BLANK).starts_with('@') {
            found.push("curl @".to_owned());
        }
    }
    found
}

/// The first letter of a group that is not listed, or has the name of a file as its value.
fn letter_of_curl(group: &str) -> Option<char> {
    for (at, letter) in group.char_indices() {
        if WITH_VALUE_OF_CURL.contains(letter) {
            let value = &group[at + letter.len_utf8()..];
            return value.starts_with('@').then_some(letter);
        }
        if !LETTERS_OF_CURL.contains(letter) {
            return Some(letter);
        }
    }
    None
}

/// `http` sends a file that stands behind an `@`: `name@file`, `name=@file`, `name:=@file`, `name:@file`, `@file`.
fn of_httpie(words: &[&str]) -> Vec<String> {
    let writes = [
        "--output",
        "--download",
        "--session",
        "--session-read-only",
        "--cert",
        "--cert-key",
    ];
    let is_option = |word: &str| {
        let name = name(word);
        let is_long = name.len() > 2 && name.starts_with("--");
        let short = word.strip_prefix('-').filter(|short| !short.starts_with('-'));
        is_long && writes.iter().any(|option| option.starts_with(name))
            || short.is_some_and(|short| short.contains(['o', 'd']))
    };
    let unlisted = words.iter().filter_map(|word| {
        let what = if word.contains('@') {
            Some("@")
        } else {
            Some(name(word)).filter(|_| is_option(word))
        };
        what.map(|what| format!("http {what}"))
    });
    unlisted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_each_entry_is_found() {
        assert!(LONG_OF_GIT.is_sorted() && LONG_OF_CURL.is_sorted());
    }

    #[test]
    fn an_option_that_is_not_listed_is_dangerous() {
        for (command, found) in [
            ("git log --oneline -5 --author=x --no-merges -- --output", None),
            ("git commit -am fix -mFt", None),
            ("git commit -m --output", Some("git commit --output")),
            ("git diff --no-index a b", Some("git diff --no-index")),
            ("git --no-pager log", None),
            ("git --exec-path=x log", Some("git --exec-path")),
            ("git rev-list --outp=x HEAD", Some("git rev-list --outp")),
            ("git format-patch -1 -ox", Some("git format-patch -o")),
            ("git init --template=t", Some("git init --template")),
            ("git bundle create x HEAD", Some("git bundle create")),
            ("git bundle verify x", None),
            ("curl -fsSL https://x.example", None),
            ("curl -sH Accept:x https://x.example", None),
            ("curl -sH@f https://x.example", Some("curl -H")),
            ("curl -H @f https://x.example", Some("curl @")),
            ("curl --url-query @f https://x.example", Some("curl --url-query")),
            ("curl --cert f https://x.example", Some("curl --cert")),
            ("http x.example a@f", Some("http @")),
            ("http x.example a=b", None),
        ] {
            assert_eq!(unlisted(command).first().map(String::as_str), found, "{command}");
        }
    }
}
