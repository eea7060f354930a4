//! Commands that a line mentions without visibly running them: in the words of a program that may run them,
//! in settings, and as programs that are copied to another name.
//!
//! `python -c 'os.system("git push")'` runs no `git push` that a shell could see, and `cp /usr/bin/git x; ./x
//! push` runs no program of that name. The texts in the line are therefore searched for the words of a rule,
//! in their order, with any text between them. A mention leads to a question, or to a refusal if nobody can
//! be asked. This applies from version 5 of the rules.

use super::CommandAnalysis;
use super::lex::expand::ANYTHING;
use super::lex::word::Word;
use super::overlap::pattern_overlap::names_meet;
use super::programs::wrapper_commands::basename;

/// Subcommands that do the work of another one, with that one.
const SAME: &[(&str, &str)] = &[
    ("git send-pack", "git push"),
    ("git http-push", "git push"),
    ("git subtree push", "git push"),
    ("git lfs push", "git push"),
];

/// Programs that give a file another name or another directory.
const COPY: &[&str] = &["ln", "cp", "mv", "install", "link", "rsync", "scp", "dd"];
/// Programs that only look at their file.
const LOOK: &[&str] = &[
    "ls",
    "stat",
    "file",
    "which",
    "type",
    "test",
    "[",
    "[[",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "du",
    "echo",
    "printf",
    "md5sum",
    "sha256sum",
];

impl CommandAnalysis {
    /// Adds the command that another name represents: `git-push` is `git push`, and so is `git send-pack`.
    pub(super) fn note_other_names(&mut self, name: &str, arguments: &[Word]) {
        if let Some(subcommand) = name.strip_prefix("git-").filter(|rest| !rest.is_empty()) {
            self.push("git", &[&[Word::written(subcommand)], arguments].concat());
        }
        let renamed = |last: &String| {
            SAME.iter().find_map(|(from, to)| {
                let rest = last.strip_prefix(from)?;
                (rest.is_empty() || rest.starts_with(' ')).then(|| format!("{to}{rest}"))
            })
        };
        let (command, in_words) = (
            self.commands.last().and_then(renamed),
            self.in_words.last().and_then(renamed),
        );
        self.commands.extend(command);
        self.in_words.extend(in_words);
    }

    /// Records programs that this command may copy to another name, and programs whose path it looks up.
    pub(super) fn note_copies(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let program = basename(&program.text);
        let copies = COPY.contains(&program);
        self.copies |= copies;
        for word in arguments {
            let open = word.open.rsplit('=').next().unwrap_or_default();
            let name = basename(open);
            let is_known = name.chars().any(|c| c != ANYTHING);
            let is_program = open.contains("bin/") || open.contains("git-core/");
            if is_known && (copies || (is_program && !LOOK.contains(&program))) {
                self.copied.push(name.to_owned());
            } else if is_known && matches!(program, "which" | "type" | "command" | "whereis" | "readlink") {
                self.located.push(name.to_owned());
            }
        }
    }

    /// Returns whether the line contains the command of a rule as text where a program may run it, or copies
    /// its program to another name.
    pub(crate) fn mentions(&self, pattern: &str) -> bool {
        let Some(program) = fixed_words(pattern).next().map(basename) else {
            return false;
        };
        let located = self.located.iter().filter(|_| self.copies);
        self.mentions_in_text(pattern)
            || self
                .copied
                .iter()
                .chain(located)
                .any(|name| names_meet(program, name))
    }

    /// Returns whether the line contains the command as text where a program may run it.
    pub(crate) fn mentions_in_text(&self, pattern: &str) -> bool {
        let fixed: Vec<&str> = fixed_words(pattern).flat_map(tokens).collect();
        !fixed.is_empty() && self.texts.iter().any(|text| in_order(&fixed, text))
    }

    /// Returns whether the line contains the command as text where a program may run it, and that text does
    /// not itself begin with the first word of the pattern.
    pub(crate) fn mentions_in_text_of_another(&self, pattern: &str) -> bool {
        let fixed: Vec<&str> = fixed_words(pattern).flat_map(tokens).collect();
        let of_another = |text: &&String| {
            let program = text.split(' ').next().unwrap_or_default();
            program.rsplit('/').next() != fixed.first().copied()
        };
        !fixed.is_empty()
            && self
                .texts
                .iter()
                .filter(of_another)
                .any(|text| in_order(&fixed, text))
    }
}

/// Returns the words of a pattern before its first star, which a mention must have.
fn fixed_words(pattern: &str) -> impl Iterator<Item = &str> {
    pattern
        .split(' ')
        .take_while(|word| !word.is_empty() && !word.contains('*'))
}

/// Returns the words of a text, separated by any signs.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| !(c.is_alphanumeric() || "-_.+".contains(c) || c == ANYTHING);
    text.split(between)
        .map(|token| token.trim_matches('.'))
        .filter(|token| !token.is_empty())
}

/// Returns whether a text contains these words in their order. The first one must be there to the letter.
fn in_order(words: &[&str], text: &str) -> bool {
    let mut found = 0;
    for token in tokens(text) {
        let Some(wanted) = words.get(found) else { break };
        let is_it = token == *wanted || (found > 0 && token.contains(ANYTHING) && names_meet(wanted, token));
        found += usize::from(is_it);
    }
    found == words.len()
}

/// Returns whether the words of a program that usually runs none of its words include settings that name a
/// program to run.
pub(super) fn sets_a_program(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let begins = |options: &[&str]| {
        arguments
            .iter()
            .any(|word| options.iter().any(|option| word.text.starts_with(option)))
    };
    let first = arguments.first().map(|word| word.text.as_str());
    match basename(&program.text) {
        "cargo" => begins(&["--config"]),
        "man" => begins(&["-P", "--pager", "-H", "--html", "-p", "--preprocessor"]),
        "gh" => first == Some("alias") && begins(&["set", "import"]),
        "git" => begins(&["for-each-repo"]),
        "sort" => begins(&["--compress-prog"]),
        "wget" => begins(&["--use-askpass", "-e", "--execute"]),
        _ => false,
    }
}
