//! Collects the files that a command line may name: words, values of options, names that braces and globs
//! make, input of `xargs`, and names in code of other languages.
//!
//! It notes more names than the line opens: a wrong name costs a comparison, a missed one may be a secret. It
//! notes relative names as they are written and, after a `cd`, below the target folder.

use super::directory_readers::leads_anywhere;
use super::name_takers::name_taker;
use super::pathspecs::{behind_marks, of_address, takes_objects, without_groups};
use super::working_directory::{is_relative, working_folders};
use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::Lexed;
use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR, dotted};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::indirect_programs::is_quiet;
use crate::commands::command_analysis::programs::wrapper_commands::{
    Runs, basename, is_assignment, is_shell, is_wrapper, runs,
};

/// Maximum number of names of one line to check. A line with more of them counts as having unknown names.
const MOST_NAMES: usize = 2000;
/// Maximum length of a text that is checked; the rest of a longer text is not.
const LONGEST_TEXT: usize = 100_000;

/// Programs that pass lines on without changing them.
const PASS_ON: &[&str] = &["sort", "uniq", "head", "tail", "grep", "cat", "tee", "shuf"];

/// Programs that open none of the files that their words name.
const OPEN_NOTHING: &[&str] = &[
    "echo", "printf", "export", "test", "[", "[[", "return", "exit", "let", "local", "declare", "kill",
    "sleep", "for",
];

/// Beginnings of names in a folder that a variable names: `HOME`, `PWD`, `OLDPWD`, or any variable.
const HOMES: &[&str] = &["~/", "~+/", "~-/", "\0/"];
const _: () = assert!(ANYTHING == '\0', "the last one is a variable");

/// Options of `find` whose value is a pattern of names.
const FIND_NAMES: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"];

impl CommandAnalysis {
    /// Records the files that a command names; from version 5 of the rules on, also those that its words
    /// become.
    ///
    /// A word after the program counts as a name if it is not an option, and any word with a slash counts. In
    /// `NAME=VALUE` and `--NAME=VALUE` the value counts.
    pub(crate) fn note_names(&mut self, words: &[Word]) {
        let folders = self.expands_twice.then(|| working_folders(words));
        self.command_folders = folders.unwrap_or_default();
        for (index, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            if let Some((_, value)) = text.split_once('=') {
                self.note_path(value);
            }
            if !text.starts_with('-') && (index > 0 || text.contains('/')) {
                self.note_path(text);
            }
        }
        if !self.names {
            return;
        }
        let inner = innermost(words);
        let program = inner.first().map(|word| basename(&word.text));
        let opens_nothing = program.is_some_and(|program| OPEN_NOTHING.contains(&program));
        let mut is_before = true;
        for word in words {
            is_before &= is_assignment(&word.text);
            self.note_spellings(word, opens_nothing || is_before);
        }
        if self.expands_twice && program == Some("git") {
            self.note_pathspecs(inner);
        }
        if self.expands_twice && program == Some("compgen") {
            for word in inner.iter().filter(|word| word.text.contains(['*', '?'])) {
                self.note_name(word.text.replace(['*', '?'], "\u{1}"));
            }
        }
        self.note_searches(words);
        self.note_folder(words);
    }

    /// Records the target of a redirection.
    pub(crate) fn note_target(&mut self, word: &Word) {
        self.note_path(&word.text);
        if self.names {
            self.note_spellings(word, false);
        }
    }

    /// Records a literal path, as it is written and below the folder of an earlier `cd`.
    fn note_path(&mut self, path: &str) {
        self.unnamed |= self.expands_twice && leads_anywhere(path);
        self.paths.push(path.to_owned());
        // The shell puts its working directory in place of `~+`.
        let here = path.strip_prefix("~+/").filter(|_| self.feeds);
        if let Some(here) = here {
            self.paths.push(here.to_owned());
        }
        self.note_below(here.unwrap_or(path));
    }

    /// Records a relative name below each folder that the line goes to, or that an option of its command
    /// names. Records a name in a home below that folder, too, if the line sets it.
    pub(crate) fn note_below(&mut self, name: &str) {
        let in_home = HOMES.iter().find_map(|home| name.strip_prefix(home));
        let Some(name) = in_home
            .filter(|_| self.homes)
            .or_else(|| is_relative(name).then_some(name))
        else {
            return;
        };
        let folders = self.folders.iter().chain(&self.command_folders);
        let there: Vec<String> = folders.map(|folder| format!("{folder}/{name}")).collect();
        there.into_iter().for_each(|name| self.note_name(name));
    }

    /// Records a name that a word becomes: a path, or a glob if it has a mark. At most [`MOST_NAMES`].
    pub(crate) fn note_name(&mut self, name: String) {
        self.unnamed |= self.expands_twice && leads_anywhere(&name);
        if self.globs.len() + self.paths.len() > MOST_NAMES {
            self.unnamed = true;
        } else if name.contains([STAR, ANYTHING]) {
            let name = match (self.dots, self.expands_twice) {
                (true, true) => dotted(&name),
                (true, false) => name.replace(STAR, "\0"),
                (false, _) => name,
            };
            self.globs.push(name);
        } else {
            self.paths.push(name);
        }
    }

    /// Records the names that a word becomes, and the names in it behind `=`, `@`, `:` and the letter of an
    /// option.
    fn note_spellings(&mut self, word: &Word, opens_nothing: bool) {
        let mut names = word.names();
        if names.is_empty() {
            // The unexpanded word was recorded already.
            let attached = word
                .text
                .strip_prefix('-')
                .filter(|option| !option.starts_with('-'));
            let value = attached
                .and_then(|option| option.get(1..))
                .filter(|value| value.contains(['.', '/']));
            names.extend(value.map(str::to_owned));
            names.extend(behind_marks(&word.text).map(str::to_owned));
        } else {
            let behind: Vec<String> = names
                .iter()
                .flat_map(|name| behind_marks(name))
                .map(str::to_owned)
                .collect();
            names.extend(behind);
        }
        if self.expands_twice {
            let decoded: Vec<String> = names
                .iter()
                .chain([&word.text])
                .filter_map(|name| of_address(name))
                .map(|name| without_groups(&name))
                .collect();
            names.extend(decoded);
        }
        for name in names {
            if opens_nothing && name.contains(ANYTHING) {
                if self.expands_twice {
                    self.note_spoken(name);
                }
                continue;
            }
            self.note_below(&name);
            self.note_name(name);
        }
    }

    /// Records patterns of names that a search has as text, and whether a search passes its results to
    /// another program.
    fn note_searches(&mut self, words: &[Word]) {
        let mut before = "";
        for word in words {
            let set = std::mem::replace(&mut before, word.text.as_str());
            let given = match word.text.split_once('=') {
                Some(("--include" | "--glob" | "--iglob", pattern)) => Some(pattern),
                _ if FIND_NAMES.contains(&set)
                    || matches!(set, "-g" | "--include" | "--glob" | "--iglob") =>
                {
                    Some(word.text.as_str())
                }
                _ => None,
            };
            if let Some(pattern) = given.filter(|pattern| !pattern.starts_with('!')) {
                // A search includes names with a dot, too.
                let name = format!("{ANYTHING}/{}", pattern.replace(['*', '?'], "\0"));
                self.note_name(name);
            }
        }
        let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text.as_str()));
        let program = words.first().map(|word| basename(&word.text)).unwrap_or_default();
        let hands_on = match program {
            "find" => has(&["-exec", "-execdir", "-ok", "-okdir"]) && !is_named_search(words),
            "fd" | "fdfind" => has(&["-x", "-X", "--exec", "--exec-batch"]),
            _ => false,
        };
        let from_list =
            |word: &Word| word.text.starts_with("--files-from") || word.text.starts_with("--files0-from");
        self.unnamed |= hands_on || words.iter().any(from_list) || (program == "tar" && has(&["-T"]));
    }

    /// Records names and texts that commands of a line get from other commands, or from the line itself.
    pub(crate) fn note_given(&mut self, lexed: &Lexed) {
        let mut input_is_read = (false, false);
        for (at, words) in lexed.commands.iter().enumerate() {
            let takes = name_taker(words);
            let inner = innermost(words);
            let is_loud =
                !inner.is_empty() && (!is_quiet(inner) || (self.expands_twice && takes_objects(inner)));
            input_is_read = (
                input_is_read.0 || is_loud || takes.is_some(),
                input_is_read.1 || is_loud,
            );
            if at > 0 && is_piped(lexed, at) && (is_loud || takes.is_some()) {
                let said = joined(&lexed.commands[at - 1]);
                self.note_mentioned(&said);
                self.texts.extend(Some(said).filter(|_| is_loud));
            }
            if matches!(takes, Some("xargs" | "parallel" | "cpio" | "pax")) {
                self.unnamed |= !is_given_names(lexed, at);
            }
        }
        for input in lexed.input.iter().filter(|_| input_is_read.0) {
            self.note_mentioned(input);
            self.texts.extend(Some(input.clone()).filter(|_| input_is_read.1));
        }
    }

    /// Records names that a program may find in its words: code in another language, its own commands.
    pub(crate) fn note_words_of(&mut self, words: &[Word]) {
        let program = words.first().map(|word| basename(&word.text)).unwrap_or_default();
        if is_wrapper(program) || is_shell(program) {
            return;
        }
        let quiet = is_quiet(words);
        if !quiet || program == "sed" {
            let has_more = |text: &str| text.contains([' ', '\'', '"', '(', ',', ';', '\n']);
            for word in words.iter().filter(|word| has_more(&word.text)) {
                self.note_mentioned(&word.text);
            }
        }
        if !quiet {
            self.texts.push(joined(words));
        }
    }

    /// Records the parts of a text that look like a path.
    fn note_mentioned(&mut self, text: &str) {
        let end = text.floor_char_boundary(LONGEST_TEXT);
        if self.expands_twice {
            self.note_code(&text[..end]);
        }
        let between = |c: char| c.is_whitespace() || "'\"`()[]{}<>;,=|&!\\\0".contains(c);
        let tokens = text[..end]
            .split(between)
            .filter(|token| token.contains(['.', '/', '~']));
        for token in tokens.take(MOST_NAMES) {
            self.note_path(token.trim_end_matches(':'));
            if let Some((_, path)) = token.split_once(':').filter(|_| self.expands_twice) {
                self.note_path(path);
            }
            if self.expands_twice && token.contains(['*', '?']) {
                self.note_spoken(token.replace(['*', '?'], "\u{1}"));
            }
        }
    }
}

/// Returns the words as one text, with a NUL for the unknown parts.
fn joined(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.open.as_str()).collect();
    texts.join(" ")
}

/// Returns a command without the commands before it: `sudo`, `env`, assignments.
pub(crate) fn innermost(mut words: &[Word]) -> &[Word] {
    const FOLLOWED: usize = 12;
    for _ in 0..FOLLOWED {
        match runs(words, true) {
            Runs::From(start) if start > 0 => words = words.get(start..).unwrap_or_default(),
            Runs::Nothing => return words,
            // A command in it is read separately.
            _ => return &[],
        }
    }
    &[]
}

/// Returns whether a command reads the output of the one before.
fn is_piped(lexed: &Lexed, at: usize) -> bool {
    lexed.piped.binary_search(&at).is_ok()
}

/// Returns whether the names that the command at `at` takes from standard input are known.
fn is_given_names(lexed: &Lexed, at: usize) -> bool {
    let words = &lexed.commands[at];
    let says = |start: &str| words.iter().any(|word| word.text.starts_with(start));
    if says("-a") || says("--arg-file") {
        return false;
    }
    let mut source = at;
    while source > 0 && is_piped(lexed, source) {
        source -= 1;
        let program = lexed.commands[source].first().map(|word| basename(&word.text));
        if !program.is_some_and(|program| PASS_ON.contains(&program)) {
            break;
        }
    }
    if source == at {
        return says(":::") || !lexed.input.is_empty();
    }
    let from = &lexed.commands[source];
    match from.first().map(|word| basename(&word.text)) {
        _ if is_piped(lexed, source) => false,
        Some("echo") => !from.iter().any(|word| {
            word.open.contains(ANYTHING) && word.names().iter().any(|name| name.contains(ANYTHING))
        }),
        Some("printf") => {
            from.get(1).is_some_and(|format| {
                let format = format.text.as_str();
                !format.contains('%') || matches!(format, "%s\\n" | "%s\\0" | "%s " | "%s")
            }) && !from.iter().any(|word| word.dynamic)
        }
        Some("find") => is_named_search(from),
        _ => false,
    }
}

/// Returns whether a `find` names the files to find.
fn is_named_search(words: &[Word]) -> bool {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text.as_str()));
    has(FIND_NAMES) && !has(&["!", "-not", "-regex", "-iregex", "-o", "-or"])
}
