//! The settings of Git that a star of `git config *` stands for. Many others name a program that Git runs
//! (`core.pager`, `alias.x`, `diff.external`), a file that it reads, or another address (`url.X.insteadOf`);
//! Git gets new ones with each version, so the harmless ones are listed.

/// Settings whose value runs, reads and sends nothing, in small letters, sorted.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "branch.autosetupmerge", "branch.autosetuprebase", "branch.sort", "color.branch", "color.diff", "color.status",
    "color.ui", "commit.verbose", "core.abbrev", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase",
    "core.longpaths", "core.quotepath", "core.safecrlf", "diff.algorithm", "diff.colormoved", "diff.mnemonicprefix",
    "diff.renames", "fetch.prune", "fetch.prunetags", "init.defaultbranch", "log.date", "merge.conflictstyle", "merge.ff",
    "pull.ff", "pull.rebase", "push.autosetupremote", "push.default", "push.followtags", "rebase.autosquash",
    "rebase.autostash", "rerere.enabled", "tag.sort", "user.email", "user.name",
];

/// Words with which a command writes a setting.
const WRITES: &[&str] = &["set", "unset", "--add", "--replace-all", "--unset", "--unset-all"];
/// Words with which a command reads settings.
const READS: &[&str] = &[
    "get",
    "list",
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
    "--list",
    "-l",
];

/// Returns what a rule has to name of the words of a command: `git config core.pager`. A command of which
/// every word is known (`is_whole`) may read any setting.
pub(super) fn unnamed_setting(in_words: &str, is_whole: bool) -> Option<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("git") || words.find(|word| !word.starts_with('-')) != Some("config") {
        return None;
    }
    let words: Vec<&str> = words.collect();
    let opens_editor = |word: &str| {
        let short = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
        short.is_some_and(|letters| letters.contains('e')) || (word.len() > 2 && "--edit".starts_with(word))
    };
    if words.first() == Some(&"edit") || words.iter().any(|word| opens_editor(word)) {
        return Some("git config --edit".to_owned());
    }
    let first = words.first().copied().unwrap_or_default();
    let mut named = words
        .iter()
        .enumerate()
        .filter(|(at, word)| {
            !(word.starts_with('-') || *at == 0 && matches!(**word, "set" | "unset" | "get"))
        })
        .map(|(_, word)| *word);
    let name = named.next()?;
    let writes = words.iter().any(|word| WRITES.contains(word));
    let reads = READS.contains(&first)
        || words
            .iter()
            .any(|word| word.starts_with("--") && READS.contains(word));
    let only_reads = !writes && (reads || named.next().is_none());
    let name = name.to_lowercase();
    let is_free = HARMLESS.contains(&name.as_str()) || (is_whole && only_reads);
    (!is_free).then(|| format!("git config {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_may_run_something_is_named() {
        assert!(HARMLESS.is_sorted());
        for (command, found) in [
            ("git config core.pager sh", Some("git config core.pager")),
            ("git config Core.Pager sh", Some("git config core.pager")),
            ("git config --global core.pager sh", Some("git config core.pager")),
            ("git config set core.pager sh", Some("git config core.pager")),
            ("git config set --global alias.x !sh", Some("git config alias.x")),
            (
                "git config --add core.hooksPath x",
                Some("git config core.hookspath"),
            ),
            (
                "git config unset core.hooksPath",
                Some("git config core.hookspath"),
            ),
            (
                "git config --unset core.hooksPath",
                Some("git config core.hookspath"),
            ),
            ("git config -f x user.name y", Some("git config x")),
            ("git config core.pager get", Some("git config core.pager")),
            ("git config --edit", Some("git config --edit")),
            ("git config --global -e", Some("git config --edit")),
            ("git config edit", Some("git config --edit")),
            ("git config --remove-section a b", Some("git config a")),
            ("git config user.name x", None),
            ("git config --global pull.rebase true", None),
            ("git config core.pager", None),
            ("git config --get core.pager", None),
            ("git config get core.pager", None),
            ("git config --list", None),
            ("git config", None),
            ("git log config core.pager sh", None),
        ] {
            assert_eq!(unnamed_setting(command, true).as_deref(), found, "{command}");
        }
        // A pattern names the setting although the value is behind its star.
        let named = unnamed_setting("git config core.pager ", false);
        assert_eq!(named.as_deref(), Some("git config core.pager"));
    }
}
