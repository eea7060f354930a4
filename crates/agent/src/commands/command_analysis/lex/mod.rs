//! Splits a command line into words as a shell does: quotes and escapes are removed, and parts that are
//! decided only at run time are marked.
//!
//! It follows bash. If shells differ, it follows the one with which it finds more. It never fails: a quote or
//! a substitution without an end is closed at the end of the line, and the line is marked as unclosed.

mod ansi;
mod documents;
pub(super) mod expand;
mod here_document;
pub(super) mod inner_text;
mod nesting;
mod redirections;
pub(super) mod word;

use crate::commands::command_split::BLANKS;
use here_document::HereDocument;
use inner_text::{InnerKind, InnerText};
use nesting::{end_of_parameter, end_of_substitution};
use redirections::Redirects;
use word::Word;

/// A command line, split into words.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    /// The single commands, without redirections.
    pub(crate) commands: Vec<Vec<Word>>,
    /// The targets of redirections.
    pub(crate) targets: Vec<Word>,
    /// Whether each of the targets may be written.
    pub(crate) writes: Vec<bool>,
    /// The targets behind `>&` and `<&`, by their position among the targets.
    pub(crate) descriptors: Vec<usize>,
    /// Substitutions of every kind, which run within the line.
    pub(crate) inner: Vec<InnerText>,
    /// Texts that commands read on standard input: here-documents and here-strings.
    pub(crate) input: Vec<String>,
    /// The commands that read the output of the one before, by their position.
    pub(crate) piped: Vec<usize>,
    /// The positions of the commands whose input is redirected.
    pub(crate) reads: Vec<usize>,
    /// The opening parentheses, by the position of the next command.
    pub(crate) opened: Vec<usize>,
    /// Whether the input of commands in parentheses is redirected.
    pub(crate) group_reads: bool,
    /// Whether the line has empty parentheses, which define a function.
    pub(crate) defines: bool,
    /// Whether a quote or a substitution has no end.
    pub(crate) unclosed: bool,
}

/// Splits a line into words. It looks at each byte a bounded number of times.
///
/// `nests`: whether `${…}` may contain others, as in version 9 of the rules and later. Before that it ends at
/// the first brace.
pub(crate) fn lex(line: &str, nests: bool) -> Lexed {
    let mut lexer = Lexer::of(line, nests);
    while let Some(c) = lexer.next() {
        lexer.take(c);
    }
    lexer.end_command();
    lexer.lexed
}

/// The rest of the line, and the words and commands that were read.
pub(super) struct Lexer<'a> {
    pub(super) rest: &'a str,
    pub(super) word: Option<Word>,
    pub(super) command: Vec<Word>,
    /// The meaning of the next word if it follows a redirection.
    redirects: Option<Redirects>,
    /// The here-documents that begin on the next line.
    pub(super) documents: Vec<HereDocument>,
    /// Whether a part of the word behind a redirection is quoted.
    quoted: bool,
    /// Whether arithmetic began before. In arithmetic `<<` is not a redirection, and quotes protect nothing.
    pub(super) arithmetic: bool,
    /// Whether parentheses closed immediately before.
    pub(super) closed: bool,
    /// Whether `${…}` may contain others.
    pub(super) nests: bool,
    pub(super) lexed: Lexed,
}

impl<'a> Lexer<'a> {
    /// Returns a lexer at the beginning of a text.
    pub(super) fn of(text: &'a str, nests: bool) -> Self {
        Self {
            rest: text,
            word: None,
            command: Vec::new(),
            redirects: None,
            documents: Vec::new(),
            quoted: false,
            arithmetic: false,
            closed: false,
            nests,
            lexed: Lexed::default(),
        }
    }
}

impl Lexer<'_> {
    /// Reads the next character of the line.
    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Reads the next character within a quote, without whose end the line is unclosed.
    fn next_quoted(&mut self) -> Option<char> {
        let c = self.next();
        self.lexed.unclosed |= c.is_none();
        c
    }

    /// Handles the next character, which is already taken from the line.
    fn take(&mut self, c: char) {
        self.note_groups(c);
        self.quoted |= matches!(c, '\\' | '\'' | '"');
        match c {
            '(' if self.begins_alternatives() => self.alternatives(),
            '\\' => self.escaped(),
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '$' => self.dollar(false),
            '`' => self.backticks(),
            '#' if self.word.is_none() => self.comment(),
            '<' | '>' => self.angle_bracket(c),
            '&' if self.rest.starts_with('>') => self.redirection(Redirects::File { writes: true }),
            '\n' if !self.documents.is_empty() || self.redirects.is_some() => {
                self.end_command();
                self.documents();
            }
            '|' => self.pipe(),
            '(' if self.rest.starts_with('(') => {
                self.begin_arithmetic();
                self.end_command();
            }
            '\n' | '\r' | ';' | '&' | '(' | ')' => self.end_command(),
            c if BLANKS.contains(&c) => self.end_word(),
            '*' | '?' => self.word().push_dynamic(c.encode_utf8(&mut [0; 4])),
            '[' | '{' => self.word().push_loose(c.encode_utf8(&mut [0; 4])),
            c => self.word().push_unquoted(c),
        }
    }

    /// Passes over a comment, which ends with its line.
    fn comment(&mut self) {
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// Returns the current word, and starts one if necessary.
    pub(super) fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    /// Ends the word, and adds it to the command or to the targets of redirections.
    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        // These are commands and keywords, not patterns.
        if matches!(word.text.as_str(), "[" | "[[" | "{") {
            word.make_literal();
        }
        match self.redirects.take() {
            Some(Redirects::File { writes }) => self.end_target(word, writes),
            Some(Redirects::Descriptor) => {
                self.lexed.descriptors.push(self.lexed.targets.len());
                self.end_target(word, true);
            }
            Some(Redirects::Document { tabs }) => {
                // The end marker is the unexpanded word. Expansions in it are not known here.
                self.lexed.unclosed |= word.dynamic;
                self.documents.push(HereDocument {
                    end: word.text,
                    quoted: self.quoted,
                    tabs,
                });
            }
            Some(Redirects::Text) => self.lexed.input.push(word.text),
            None => self.command.push(word),
        }
    }

    /// Ends the command, and drops a redirection without a target.
    fn end_command(&mut self) {
        self.end_word();
        self.redirects = None;
        if !self.command.is_empty() {
            self.lexed.commands.push(std::mem::take(&mut self.command));
        }
    }

    /// Handles `|`, `||` and `|&`.
    fn pipe(&mut self) {
        self.end_command();
        match self.rest.strip_prefix('|') {
            Some(rest) => self.rest = rest,
            None => self.lexed.piped.push(self.lexed.commands.len()),
        }
    }

    /// Handles a backslash outside of quotes.
    fn escaped(&mut self) {
        match self.next() {
            // The line continues on the next one.
            None | Some('\n') => {}
            Some(c) => self.word().push(c),
        }
    }

    /// Reads the text after a single quote: everything up to the next one is literal.
    fn single_quoted(&mut self) {
        let quoted = self.read_until('\'');
        self.word().push_str(&quoted);
    }

    /// Reads the text before `end`, and skips `end` itself.
    fn read_until(&mut self, end: char) -> String {
        let (inside, rest) = match self.rest.split_once(end) {
            Some(parts) => parts,
            None => {
                self.lexed.unclosed = true;
                (self.rest, "")
            }
        };
        self.rest = rest;
        inside.to_owned()
    }

    /// Reads the text after a double quote, in which `$`, backticks and some escapes keep their meaning.
    fn double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next_quoted() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.word().push(c),
                    Some(c) => {
                        let word = self.word();
                        word.push('\\');
                        word.push(c);
                    }
                },
                '$' => self.dollar(true),
                '`' => self.backticks(),
                c => self.word().push(c),
            }
        }
    }

    /// Handles a `$`. `quoted`: whether it is within double quotes, where `$'…'` and `$"…"` are not quotes.
    pub(super) fn dollar(&mut self, quoted: bool) {
        match self.rest.chars().next() {
            Some('(') => {
                self.rest = &self.rest[1..];
                if self.rest.starts_with('(') {
                    self.begin_arithmetic();
                }
                self.substitution(InnerKind::Command);
            }
            Some('{') => {
                self.rest = &self.rest[1..];
                let inside = self.parameter();
                self.word().push_dynamic(&format!("${{{inside}}}"));
                self.note_unprotected(&inside);
                self.note_inner(inside, InnerKind::Parameter);
            }
            Some('\'') if !quoted => {
                self.rest = &self.rest[1..];
                self.quoted = true;
                self.ansi_quoted();
            }
            Some('"') if !quoted => {}
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
                let (name, rest) = self.rest.split_at(end);
                self.word
                    .get_or_insert_default()
                    .push_dynamic(&format!("${name}"));
                self.rest = rest;
            }
            Some('[') => {
                self.begin_arithmetic();
                self.word().push_loose("$");
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.next();
                self.word().push_dynamic(&format!("${c}"));
            }
            _ => self.word().push('$'),
        }
    }

    /// Reads the text between `${` and its `}`.
    fn parameter(&mut self) -> String {
        if !self.nests {
            return self.read_until('}');
        }
        let end = end_of_parameter(self.rest);
        self.read_up_to(end)
    }

    /// Reads the text before the bracket at `end`, and skips the bracket. Without one, the line is unclosed.
    fn read_up_to(&mut self, end: Option<usize>) -> String {
        self.lexed.unclosed |= end.is_none();
        let (inside, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        inside.to_owned()
    }

    /// Reads the command after a backtick, up to the next one.
    pub(super) fn backticks(&mut self) {
        let mut inside = String::new();
        while let Some(c) = self.next_quoted() {
            match c {
                '`' => break,
                '\\' => inside.extend(self.next()),
                c => inside.push(c),
            }
        }
        self.word().push_dynamic("");
        self.note_inner(inside, InnerKind::Command);
    }

    /// Reads the text of a substitution, after the opening parenthesis.
    fn substitution(&mut self, kind: InnerKind) {
        let end = end_of_substitution(self.rest);
        let inside = self.read_up_to(end);
        self.note_inner(inside, kind);
        self.word().push_dynamic("");
    }
}

#[cfg(test)]
mod tests;
