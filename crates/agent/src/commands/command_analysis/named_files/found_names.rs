//! Folders in which a program finds names of files that the line then opens: `find ~ | xargs cat`,
//! `cat $(ls ~)`.
//!
//! No word of such a line names the files, and each of its commands alone is harmless. So the folders that
//! the finding command names count as taken with everything in them, as those of `find ~ -exec cat {} +` do.
//!
//! | the names of a finding command go | counts |
//! | --- | --- |
//! | to `xargs`, `parallel`, `cpio`, `read`, also by way of a file of the line | yes |
//! | into a file of a line that has a substitution, a shell or `source` | yes |
//! | into a substitution (`$(…)`, `<(…)`) | yes |
//! | through a pipe to a program that treats them as text (`head`, `wc`, `grep`) | no |
//! | through a pipe to any other program (`tar -T -`, `python3 -c …`) | yes |
//!
//! A file of names that an earlier call wrote is not seen; only a sandbox prevents that.

use super::name_takers::takes_names;
use super::names::innermost;
use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::inner_text::{InnerKind, InnerText};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::lex::{Lexed, lex};
use crate::commands::command_analysis::programs::indirect_programs::has_indirect_program;
use crate::commands::command_analysis::programs::wrapper_commands::{basename, is_shell};

/// Programs that print names of the files in the folders that their words name.
#[rustfmt::skip]
const FINDERS: &[&str] = &[
    "dir", "du", "egrep", "fd", "fdfind", "fgrep", "find", "git", "grep", "locate", "ls", "plocate", "rg", "stat", "tree",
    "vdir",
];

/// Programs that treat their input as text and open no file that it names.
#[rustfmt::skip]
const READ_TEXT: &[&str] = &[
    "cat", "column", "cut", "egrep", "fgrep", "fold", "grep", "head", "jq", "less", "more", "nl", "paste", "rev", "rg", "sed",
    "shuf", "sort", "tac", "tail", "tee", "tr", "uniq", "wc",
];

/// Maximum number of folders of a line that are compared with guarded files and rules.
const MOST_FOLDERS_TAKEN: usize = 1000;

/// Maximum number of words in front of a finding command.
const FOLLOWED: usize = 12;

impl CommandAnalysis {
    /// Records the folders in which commands of a line find names that it opens.
    pub(crate) fn note_found(&mut self, lexed: &Lexed) {
        let takes = lexed.commands.iter().any(|words| takes_names(words));
        if takes {
            self.note_listed_elsewhere();
        }
        if lexed.commands.iter().any(|words| takes_list(words)) {
            self.take_listed(lexed);
        }
        let opens_names = self.substituted || takes || opens_what_it_writes(lexed);
        let last_opening = last_opening(lexed);
        for (at, words) in lexed.commands.iter().enumerate() {
            // Behind `sudo`, `timeout 5` and the like.
            let is_finder = |word: &Word| FINDERS.contains(&basename(&word.text));
            let Some(start) = words.iter().take(FOLLOWED).position(is_finder) else {
                continue;
            };
            if opens_names || last_opening.is_some_and(|reader| reader > at) {
                self.take_found(&words[start..]);
            }
        }
    }

    /// Records all words of a line with a program that takes a list of names as whole folders:
    /// `tar -T <(echo DIR)`.
    fn take_listed(&mut self, lexed: &Lexed) {
        let substituted = lexed
            .inner
            .iter()
            .flat_map(|inner| lex(&inner.text, true).commands);
        let commands = lexed.commands.iter().cloned().chain(substituted);
        let is_plain = |word: &Word| !word.text.starts_with('-');
        let listed = commands.flatten().filter(is_plain).map(|word| word.text);
        self.folders_joined.extend(listed);
    }

    /// Records the folders that a finding command names; the working folders if it certainly names none.
    fn take_found(&mut self, words: &[Word]) {
        let mut named = Self {
            names: self.names,
            expands_twice: self.expands_twice,
            dots: self.dots,
            folders: self.folders.clone(),
            ..Self::default()
        };
        named.note_names(words);
        let mut found: Vec<String> = named.paths.into_iter().chain(named.globs).collect();
        let is_plain = |word: &Word| !word.text.starts_with('-');
        if !words.iter().skip(1).any(is_plain) {
            found.push(".".to_owned());
            found.extend(self.folders.iter().cloned());
        }
        self.take_folders(&found);
        let has_room = add_each_once(&mut self.folders_found, &found);
        self.given.are_too_many |= !has_room;
    }

    /// Records folders on which a command acts as a whole, each once. With too many of them, the line may
    /// name any file.
    pub(crate) fn take_folders(&mut self, folders: &[String]) {
        let has_room = add_each_once(&mut self.folders_taken, folders);
        self.given.are_too_many |= !has_room;
        self.unnamed |= !has_room;
    }
}

/// Adds folders to a list of at most [`MOST_FOLDERS_TAKEN`], each once. Returns whether all had room.
fn add_each_once(list: &mut Vec<String>, folders: &[String]) -> bool {
    for folder in folders {
        if list.contains(folder) {
            continue;
        }
        if list.len() >= MOST_FOLDERS_TAKEN {
            return false;
        }
        list.push(folder.clone());
    }
    true
}

/// Returns whether a program takes the names of whole folders from a list.
fn takes_list(words: &[Word]) -> bool {
    let packs = words.iter().take(FOLLOWED).any(|word| {
        let name = basename(&word.text);
        matches!(name, "tar" | "bsdtar" | "rsync" | "cp" | "zip")
    });
    let is_list = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with("-T") || text.starts_with("--files-from") || text == "-@"
    };
    packs && words.iter().any(is_list)
}

/// Returns whether a line writes a file and may run or substitute what it wrote: `ls > x; cat $(cat x)`.
fn opens_what_it_writes(lexed: &Lexed) -> bool {
    let prints = |words: &Vec<Word>| words.iter().any(|word| word.text.starts_with("-fprint"));
    let runs = |words: &Vec<Word>| {
        let mut first = words.iter().take(FOLLOWED).map(|word| basename(&word.text));
        first.any(|name| is_shell(name) || matches!(name, "source" | "."))
    };
    let is_substitution = |inner: &InnerText| inner.kind == InnerKind::Command;
    (lexed.writes.contains(&true) || lexed.commands.iter().any(prints))
        && (lexed.commands.iter().any(runs) || lexed.inner.iter().any(is_substitution))
}

/// Returns the position of the last command behind a pipe that may open files which its input names.
fn last_opening(lexed: &Lexed) -> Option<usize> {
    let mut readers = lexed.piped.iter().copied().rev();
    readers.find(|reader| {
        lexed
            .commands
            .get(*reader)
            .is_some_and(|words| may_open_names(words))
    })
}

/// Returns whether a command behind a pipe may open files that its input names.
fn may_open_names(words: &[Word]) -> bool {
    let inner = innermost(words);
    let is_text = inner
        .first()
        .is_some_and(|program| READ_TEXT.contains(&basename(&program.text)));
    !is_text || has_indirect_program(inner) || inner.iter().any(|word| word.text.starts_with("--files0"))
}

#[cfg(test)]
mod tests {
    use super::MOST_FOLDERS_TAKEN;
    use crate::commands::command_analysis::read;

    #[test]
    fn folders_count_as_taken_if_names_from_them_are_opened() {
        for line in [
            "find ~/x -name k | xargs cat",
            "find ~/x -print0 | sort -z | xargs -0 -n1 cat",
            "find -L ~/x -name k* | xargs -I{} cp {} .",
            "ls -d ~/x/* | xargs head",
            "find ~/x -name k | parallel cat",
            "find ~/x | while read f; do cat \"$f\"; done",
            "find ~/x > l; xargs cat < l",
            "find ~/x | tar cf x.tar -T -",
            "find ~/x | python3 -c 'print(1)'",
            "find ~/x -print0 | sort --files0-from=-",
            "cat $(find ~/x -name k)",
            "cat `ls ~/x`",
            "for f in $(find ~/x); do cat $f; done",
            "while read f; do cat $f; done < <(find ~/x)",
            "sudo find ~/x | xargs cat",
            "sh -c 'find ~/x | xargs cat'",
            "rg -l key ~/x | xargs cat",
        ] {
            let reading = read(line);
            let is_taken = reading
                .folders_found
                .iter()
                .any(|folder| folder.starts_with("~/x"));
            assert!(is_taken, "{line}: {:?}", reading.folders_found);
        }
    }

    #[test]
    fn names_that_are_only_printed_open_nothing() {
        for line in [
            "find ~/x -name k",
            "find ~/x -name k | head -5",
            "ls ~/x | wc -l",
            "ls ~/x | grep a | sort",
            "ls ~/x && make",
            "echo a | xargs cat",
        ] {
            assert!(read(line).folders_found.is_empty(), "{line}");
        }
    }

    #[test]
    fn folders_are_noted_once_and_too_many_may_be_any() {
        let same = read(&["find . -delete"; 2_000].join("; "));
        assert!(
            same.folders_taken.len() < 4 && !same.has_too_many_values(),
            "{same:?}"
        );
        let folders: Vec<String> = (0..2 * MOST_FOLDERS_TAKEN)
            .map(|number| format!("d{number}"))
            .collect();
        let many = read(&format!("rm -r {}", folders.join(" ")));
        assert_eq!(many.folders_taken.len(), MOST_FOLDERS_TAKEN);
        assert!(many.has_too_many_values() && many.unnamed);
    }

    /// The last command of the pipe decides, and each command is looked at once.
    #[test]
    fn a_long_pipe_is_read_to_its_end() {
        let pipe = ["rg x ~/x"; 4_000].join(" | ");
        assert!(read(&pipe).folders_found.is_empty());
        let opened = read(&format!("{pipe} | tar cf x.tar -T -"));
        let is_taken = |folder: &String| folder.starts_with("~/x");
        assert!(
            opened.folders_found.iter().any(is_taken),
            "{:?}",
            opened.folders_found
        );
    }
}
