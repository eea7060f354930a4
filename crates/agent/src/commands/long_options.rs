//! Long options of programs, which take each by a beginning of it that means no other one.

/// Long options that are the beginning of other ones, and that have their own meaning.
const WHOLE: &[&str] = &[
    "--all",
    "--cached",
    "--color",
    "--config",
    "--diff",
    "--dry-run",
    "--exec",
    "--exclude",
    "--file",
    "--force",
    "--format",
    "--git",
    "--graph",
    "--help",
    "--ignore",
    "--include",
    "--keep",
    "--list",
    "--merge",
    "--name",
    "--no-verify",
    "--oneline",
    "--output",
    "--patch",
    "--prune",
    "--quiet",
    "--rebase",
    "--recursive",
    "--release",
    "--short",
    "--signoff",
    "--stat",
    "--tags",
    "--user",
    "--verbose",
    "--version",
    "--word-diff",
];

/// Returns whether a word is a beginning of this long option, as programs take it: `--har`, `--open=less`.
pub(crate) fn is_beginning_of(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    name.len() > "--".len()
        && name.starts_with("--")
        && name.len() < option.len()
        && option.starts_with(name)
        && !WHOLE.contains(&name)
}
