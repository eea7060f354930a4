//! Commands of Git that run a program because of a setting, a subcommand or an option.

use super::subcommands::options_before_subcommand;
use super::wrapper_commands::basename;
use crate::commands::command_analysis::lex::word::Word;

/// Settings of Git that name no program.
const PLAIN_SETTINGS: &[&str] = &[
    "color.",
    "user.",
    "advice.",
    "init.defaultbranch",
    "core.quotepath",
    "core.autocrlf",
    "core.abbrev",
    "commit.gpgsign",
    "log.",
    "safe.directory",
    "http.",
    "pull.rebase",
    "push.default",
    "merge.conflictstyle",
    "diff.renames",
    "diff.context",
    "status.",
    "column.",
    "fetch.prune",
    "rerere.",
    "branch.",
    "remote.",
];

/// Returns whether a setting or a subcommand makes Git run something.
///
/// | command line | runs |
/// | --- | --- |
/// | `git -c core.pager=x log`, `git --config-env=core.pager=V log` | the value of the setting; settings that name no program are in [`PLAIN_SETTINGS`] |
/// | `git config alias.x '!y'` | `y`, when `git x` is run |
/// | `git rebase --exec x`, `git bisect run x`, `git submodule foreach x`, `git filter-branch` | `x`, for each commit or module |
/// | `git difftool -x x`, `git grep -O x` | `x`, with the names of files |
/// | `git clone ext::x`, `git fetch --upload-pack x` | `x`, instead of a connection |
///
/// The words count at any position, so a word that only looks like one of these causes an unnecessary
/// question.
pub(crate) fn git_runs(arguments: &[Word]) -> bool {
    let is_plain = |setting: &str| {
        let setting = setting.to_ascii_lowercase();
        PLAIN_SETTINGS.iter().any(|plain| setting.starts_with(plain))
    };
    let mut before = "";
    let sets = arguments.iter().any(|word| {
        let text = word.text.as_str();
        let set = std::mem::replace(&mut before, text);
        let given = match set {
            "-c" | "--config-env" => Some(text),
            _ => text
                .strip_prefix("--config-env=")
                .or(text.strip_prefix("-c").filter(|text| text.contains('='))),
        };
        given.is_some_and(|setting| !is_plain(setting))
    });
    let has = |name: &str| arguments.iter().any(|word| word.text == name);
    let begins = |name: &str| arguments.iter().any(|word| word.text.starts_with(name));
    let settings = [
        "alias.",
        "core.",
        "credential.",
        "diff.",
        "filter.",
        "merge.",
        "gpg.",
        "sequence.",
        "pager.",
        "include",
    ];
    sets || (has("config") && settings.iter().any(|setting| begins(setting)))
        || (has("rebase") && (begins("-x") || begins("--exec")))
        || (has("bisect") && has("run"))
        || (has("submodule") && has("foreach"))
        || has("filter-branch")
        || (has("difftool") && (begins("-x") || begins("--extcmd")))
        || (has("grep") && (begins("-O") || begins("--open-files-in-pager")))
        || ["ext::", "--upload-pack", "--receive-pack", "--exec="]
            .iter()
            .any(|name| begins(name))
        || runs_by_short(arguments)
}

/// Returns the command that `git bisect view WORD…` runs: a program whose name begins with `git`, else the
/// subcommand of Git with this name. With an option in place of the word, it is `git log`.
pub(crate) fn shown_by_bisect(words: &[Word]) -> Option<Vec<Word>> {
    let (program, arguments) = words.split_first()?;
    if basename(&program.text) != "git" {
        return None;
    }
    let [bisect, view, rest @ ..] = arguments.get(options_before_subcommand(words)..)? else {
        return None;
    };
    let is_view = bisect.text == "bisect" && matches!(view.text.as_str(), "view" | "visualize");
    let first = rest
        .first()
        .filter(|word| is_view && !word.text.starts_with('-'))?;
    let is_program = first.dynamic || first.text.starts_with("git") || first.text == "tig";
    let git = (!is_program).then(|| program.clone());
    Some(git.into_iter().chain(rest.iter().cloned()).collect())
}

/// Returns whether a short option, or the beginning of a long one, names a program for a subcommand of Git to
/// run: `git clone -u x`, `git fetch --upload x`. Git accepts any beginning of a long option that no other
/// option has, so each of three letters or more counts. Words after `--` are not options.
fn runs_by_short(arguments: &[Word]) -> bool {
    const LONG: &[&str] = &[
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--extcmd",
        "--open-files-in-pager",
    ];
    let letters = |subcommand: &str| match subcommand {
        "clone" => "uc",
        "grep" => "O",
        "rebase" | "difftool" => "x",
        _ => "",
    };
    let is_long = |text: &str| {
        let name = text.split('=').next().unwrap_or_default();
        name.len() > 4 && LONG.iter().any(|option| option.starts_with(name))
    };
    let sends = [
        "clone",
        "fetch",
        "pull",
        "push",
        "ls-remote",
        "archive",
        "send-pack",
        "fetch-pack",
        "difftool",
        "rebase",
        "grep",
    ];
    let Some(at) = arguments
        .iter()
        .position(|word| sends.contains(&word.text.as_str()))
    else {
        return false;
    };
    let mut options = arguments[at + 1..].iter().take_while(|word| word.text != "--");
    options.any(|word| match word.text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => is_long(&word.text),
        Some(short) => short
            .chars()
            .take(6)
            .take_while(char::is_ascii_alphabetic)
            .any(|c| letters(&arguments[at].text).contains(c)),
        None => false,
    })
}
