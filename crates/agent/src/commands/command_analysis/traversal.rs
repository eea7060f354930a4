//! Reads a line, the commands in it, and the lines and commands that those run, down to a bound.

use super::lex::inner_text::InnerKind;
use super::lex::word::Word;
use super::lex::{Lexed, lex};
use super::loaders::{evaluates_what_it_reads, expansion_sets_a_loader, sets_a_loader, sets_a_place};
use super::mentioned_commands::sets_a_program;
use super::named_files::directory_readers::{names_of_templates, reads_its_folder};
use super::named_files::names::innermost;
use super::named_files::whole_folders::{
    folders_of_globs, mounted_folders, takes_whole_folders, writes_what_it_names,
};
use super::piped_input::FedCommands;
use super::programs::data_consumers::{names_a_program, takes_data};
use super::programs::git::shown_by_bisect;
use super::programs::indirect_programs::{has_indirect_program, texts_that_may_run, words_that_may_run};
use super::programs::launchers::{Launched, launched};
use super::programs::wrapper_commands::{Runs, basename, runs, script_of};
use super::{CommandAnalysis, LAUNCHES, WRAPPERS};
use crate::commands::command_split::{BLANKS, take_apart};

impl CommandAnalysis {
    /// Reads a line, and those within it, `depth` levels deep.
    pub(super) fn line(&mut self, line: &str, depth: usize) {
        let lexed = lex(line, self.expands_twice);
        if self.expands_twice {
            self.note_values(&lexed);
        }
        let apart = take_apart(line);
        if apart.certain {
            self.commands.extend(apart.commands);
        }
        let hid = std::mem::replace(&mut self.hides, lexed.unclosed);
        let fed_outside = self.fed;
        let fed = FedCommands::of(&lexed, fed_outside);
        self.read_commands(&lexed, &fed, depth);
        self.note_redirections(line, &lexed, depth);
        let Some(deeper) = depth.checked_sub(1) else {
            self.hides |= hid || !lexed.inner.is_empty();
            return;
        };
        // A shell may read the input of the commands.
        let runs_input = self.hides;
        self.read_inner_texts(&lexed, &fed, deeper);
        self.fed = fed_outside;
        for input in lexed.input.iter().filter(|_| runs_input) {
            self.line(input, deeper);
        }
        self.hides |= hid;
        if lexed.unclosed {
            self.read_pieces(line, deeper);
        }
    }

    /// Reads the commands of a line, each with the input that it gets.
    fn read_commands(&mut self, lexed: &Lexed, fed: &FedCommands, depth: usize) {
        let outside = (self.fed, self.piped_args);
        for (at, command) in lexed.commands.iter().enumerate() {
            (self.fed, self.piped_args) = (fed.command(at), outside.1);
            self.listed = fed.is_listed(lexed, at);
            self.command(command, depth);
        }
        (self.fed, self.piped_args) = outside;
    }

    /// Records the targets of redirections and the files that commands read, and reads the parts that bash
    /// expands a second time.
    fn note_redirections(&mut self, line: &str, lexed: &Lexed, depth: usize) {
        for (target, writes) in lexed.targets.iter().zip(&lexed.writes) {
            let (paths, globs) = (self.paths.len(), self.globs.len());
            self.note_target(target);
            if self.expands_twice && *writes {
                let noted = self.paths[paths..].iter().chain(&self.globs[globs..]);
                self.files_written.extend(noted.cloned());
            }
        }
        if self.expands_twice {
            self.note_joined(&lexed.targets, false);
            self.read_descriptors(lexed, depth);
            self.hides |= evaluates_what_it_reads(line, &lexed.commands)
                || lexed
                    .inner
                    .iter()
                    .any(|inner| inner.kind == InnerKind::Parameter && expansion_sets_a_loader(&inner.text));
        }
        if self.names {
            self.note_given(lexed);
        }
        if self.expands_twice {
            self.note_found(lexed);
        }
        if self.closer {
            self.written
                .extend(lexed.targets.iter().map(|target| target.text.clone()));
        }
    }

    /// Reads the substitutions of a line, each as a separate line.
    fn read_inner_texts(&mut self, lexed: &Lexed, fed: &FedCommands, depth: usize) {
        for inner in &lexed.inner {
            if self.expands_twice && inner.kind == InnerKind::Quoted {
                continue;
            }
            self.fed = fed.inner(inner);
            let outside = std::mem::replace(&mut self.substituted, true);
            match inner.kind {
                // The value of a variable does not name a program here; the line is read again when the
                // variable is used.
                InnerKind::Parameter if self.expands_twice => {
                    self.line(&format!("echo {}", inner.text), depth);
                }
                _ => self.line(&inner.text, depth),
            }
            self.substituted = outside;
        }
    }

    /// Reads the pieces of a line with a quote that has no end: the quote may have swallowed a command, as a
    /// quote in the text of a here-document does.
    fn read_pieces(&mut self, line: &str, depth: usize) {
        for piece in line.split([';', '&', '|', '\n', '\r', '(', ')', '{', '}', '`']) {
            for command in lex(piece.trim_matches(BLANKS), self.expands_twice).commands {
                self.command(&command, depth);
            }
        }
    }

    /// Reads a command: itself, then the one that it runs, and so on.
    fn command(&mut self, words: &[Word], depth: usize) {
        self.note_files(words);
        let mut words = words;
        for _ in 0..WRAPPERS {
            self.note_wrapper(words, depth);
            match runs(words, self.closer) {
                Runs::Nothing => {
                    self.note_option_globs(words);
                    self.hides |=
                        self.feeds && self.fed && !takes_data(words, self.piped_args && !self.listed);
                    self.read_launched(words, depth);
                    return;
                }
                Runs::Unknown => {
                    self.note_option_globs(words);
                    break;
                }
                Runs::From(start) => {
                    self.note_option_globs(words.get(..start).unwrap_or(words));
                    let gives = matches!(basename(&words[0].text), "xargs" | "parallel");
                    (self.fed, self.piped_args) = (self.fed || gives, self.piped_args || gives);
                    words = words.get(start..).unwrap_or_default();
                }
                Runs::Parts(parts) => {
                    self.note_option_globs(words);
                    self.hides |= self.feeds && self.piped_args;
                    let Some(deeper) = depth.checked_sub(1) else { break };
                    for part in parts {
                        self.command(part, deeper);
                    }
                    return;
                }
                Runs::Lines(lines) => {
                    self.note_option_globs(words);
                    // Its input may be part of the line: `xargs -I{} sh -c {}`.
                    self.hides |= self.feeds && self.piped_args;
                    let Some(deeper) = depth.checked_sub(1) else { break };
                    if self.expands_twice {
                        // `env -C DIR sh -c 'cat x'`
                        self.go_to(self.command_folders.clone());
                    }
                    for (line, known) in lines {
                        self.hides |= !known;
                        self.line(&line, deeper);
                    }
                    return;
                }
            }
            if words.is_empty() {
                return;
            }
        }
        self.hides = true;
    }

    /// Reads the commands that a tool of a programming language may run, as `uv run rm x`, in the folders of
    /// this tool. At most [`LAUNCHES`] of a line.
    fn read_launched(&mut self, words: &[Word], depth: usize) {
        let found = if self.expands_twice {
            launched(words)
        } else {
            Vec::new()
        };
        if found.is_empty() {
            return;
        }
        let Some(deeper) = depth.checked_sub(1).filter(|_| self.launches < LAUNCHES) else {
            self.hides = true;
            return;
        };
        self.launches += 1;
        let outside = self.folders.clone();
        self.go_to(self.command_folders.clone());
        for command in found {
            match command {
                Launched::Words(words) => self.command(words, deeper),
                Launched::Line(line, is_known) => {
                    self.hides |= !is_known;
                    self.line(&line, deeper);
                }
            }
        }
        self.folders = outside;
    }

    /// Records the files and folders that a command names, and those that it takes whole or writes.
    fn note_files(&mut self, words: &[Word]) {
        let (paths, globs) = (self.paths.len(), self.globs.len());
        self.note_names(words);
        if !self.expands_twice {
            return;
        }
        let inner = innermost(words);
        for folder in mounted_folders(inner) {
            self.note_name(folder);
        }
        for folder in folders_of_globs(inner).into_iter().chain(folders_of_globs(words)) {
            self.note_below(&folder);
            self.note_name(folder);
        }
        let takes_whole = takes_whole_folders(inner) || takes_whole_folders(words);
        let noted = self.paths[paths..].iter().chain(&self.globs[globs..]);
        let noted: Vec<String> = noted.cloned().collect();
        if takes_whole {
            self.take_folders(&noted);
        }
        if writes_what_it_names(inner) {
            self.files_written.extend(noted);
        }
        self.note_joined(words, takes_whole);
        if reads_its_folder(inner) || reads_its_folder(words) {
            self.take_working_folders();
        }
        for name in names_of_templates(words) {
            self.note_name(name);
        }
    }

    /// Records the folders in which the current command may work as taken whole.
    fn take_working_folders(&mut self) {
        let here = std::iter::once(".".to_owned());
        let folders = self.folders.iter().chain(&self.command_folders).cloned();
        let taken: Vec<String> = here.chain(folders).collect();
        self.take_folders(&taken);
    }

    /// Records the wrapper command alone, without the one that it runs.
    fn note_wrapper(&mut self, words: &[Word], depth: usize) {
        self.note(words);
        if self.expands_twice && sets_a_loader(words) {
            // The names of the other programs of the line can no longer be trusted.
            (self.hides, self.beyond_stars) = (true, true);
        }
        if self.expands_twice && sets_a_place(words) {
            (self.hides, self.beyond_stars) = (true, true);
            self.note_places();
        }
        if let Some(shown) = shown_by_bisect(words).filter(|_| self.expands_twice) {
            match depth.checked_sub(1) {
                Some(deeper) => self.command(&shown, deeper),
                None => self.hides = true,
            }
        }
        if self.feeds {
            self.read_subscripts(words, depth);
        }
        if self.expands_twice && self.hides {
            self.note_words_of(words);
        }
        if self.closer {
            self.look_closer(words, depth);
        }
    }

    /// Looks for more, from version 1 of the rules on: programs that take their work from elsewhere, and
    /// words that may be commands.
    fn look_closer(&mut self, words: &[Word], depth: usize) {
        let Some((program, arguments)) = words.split_first().filter(|_| !self.hides) else {
            return;
        };
        self.hides |= has_indirect_program(words) || (self.names && sets_a_program(words));
        self.hides |= self.feeds && names_a_program(words);
        if self.names {
            self.note_words_of(words);
            self.note_copies(words);
        }
        let name = basename(&program.text);
        if name == "xargs" || name == "parallel" {
            self.note_given_arguments(words);
        }
        if matches!(name, "tee" | "cp" | "mv" | "install" | "curl" | "wget") {
            let files = arguments.iter().map(|word| word.text.clone());
            self.written.extend(files);
        }
        match name {
            "source" | "." => self
                .scripts
                .extend(arguments.first().map(|word| word.text.clone())),
            _ if program.text.contains('/') => self.scripts.push(program.text.clone()),
            _ => self.scripts.extend(script_of(words)),
        }
        if depth == 0 {
            return;
        }
        for start in words_that_may_run(words) {
            self.note_open(basename(&words[start].text), &words[start + 1..]);
        }
        for part in texts_that_may_run(words) {
            let lexed = lex(&part, self.expands_twice);
            for command in lexed.commands.iter().filter(|command| !command.is_empty()) {
                self.note_open(basename(&command[0].text), &command[1..]);
            }
        }
    }

    /// Records the command that `xargs` or `parallel` makes by appending its input to its words.
    fn note_given_arguments(&mut self, words: &[Word]) {
        let Runs::From(start) = runs(words, true) else {
            return;
        };
        // `parallel git ::: push`
        let own = words[start..]
            .iter()
            .take_while(|word| !word.text.starts_with(":::"));
        let with: Vec<Word> = own.cloned().chain([Word::anything()]).collect();
        if let Some((program, arguments)) = with.split_first() {
            self.note_open(basename(&program.text), arguments);
        }
    }

    /// Returns whether a script that is run is one of the files that the line writes: `curl -o x …; sh x`.
    pub(super) fn runs_what_it_writes(&self) -> bool {
        let plain = |path: &String| path.trim_start_matches("./").to_owned();
        let written: Vec<String> = self.written.iter().map(plain).collect();
        self.scripts.iter().any(|script| written.contains(&plain(script)))
    }
}
