//! Command lines that certainly only read the workspace: `ls -la src`, `git status`, `head -20 a.rs | wc -l`.
//! In a folder that the person trusts they run without a question, as a call of the tool `read` does.
//!
//! This is a proof, so it errs on the side of a question: every word of every command has to be listed, with
//! the meaning that it has there, and each word that names a file has to stay below the workspace as it is
//! written. A glob, a variable, a home (`~`), a substitution, a redirection into a file, a wrapper, `cd sub`,
//! `..` and a program with a path (`./ls`) are never listed. Words that are only printed (`echo done`) may
//! stand beside such commands, but do not count as reading alone. Files with secrets that a word names are
//! found by the guard; the tool that runs the line looks for links, for programs of the workspace in `PATH`,
//! and for files with secrets below the folders in [`ReadingLine::searched`].
//!
//! | line | only reads |
//! | --- | --- |
//! | `ls -la src && cat src/a.rs` | yes |
//! | `git log --oneline -5 2>&1 \| head` | yes |
//! | `rg -n word src` | yes; the tool looks for files with secrets in `src` |
//! | `git diff HEAD~1` | yes; the tool looks for files with secrets among those that it would show |
//! | `cat /etc/hosts`, `ls ..`, `cat *.rs`, `cat $X`, `ls > x` | no |
//! | `find . -delete`, `sort -o x`, `git branch new`, `git log --output=x` | no |

mod file_readers;
mod find;
mod git;
mod search;

use crate::commands::command_split::{
    ReadWords, Reader, goes_to, is_only_redirections, known_words, only_reads_input, only_says,
    only_waits_or_asks, take_apart_as, without_redirections,
};
use crate::commands::severity::unnamed;
use crate::pattern::{is_within, normalize};

/// Programs among those below that a shell does not look up in `PATH`.
const BUILTINS: &[&str] = &["command", "pwd"];

/// The effects of a line that only reads, as far as the tool that runs it has to look at the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadingLine {
    /// The programs that the shell looks up in `PATH`.
    pub programs: Vec<String>,
    /// The folders whose files it shows.
    pub searched: Vec<SearchedFolder>,
    /// Commands of Git that list the files whose content it shows, as words. They fail if the line may show
    /// anything but commits.
    pub listings: Vec<Vec<String>>,
}

/// A folder, or a file, whose content a command shows with everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchedFolder {
    /// The folder as it is written; `.` if the command names none.
    pub place: String,
    /// Whether the command leaves out hidden files and those that ignore files name.
    pub leaves_out_ignored: bool,
    /// Patterns of the files that it shows; all if there are none.
    pub globs: Vec<String>,
    /// Whether it also shows files behind links in the folder.
    pub follows_links: bool,
}

/// Reads a command line; `None` if it may do more than read below `workspace`.
///
/// ```
/// use agentx_agent::reading_commands::reading_line;
/// let only_reads = |line| reading_line(line, "/ws", agentx_types::RULES_VERSION).is_some();
/// assert!(only_reads("ls -la src && git status"));
/// assert!(!only_reads("ls && rm x") && !only_reads("cat /etc/hosts") && !only_reads("cat *"));
/// ```
pub fn reading_line(line: &str, workspace: &str, version: u32) -> Option<ReadingLine> {
    let apart = take_apart_as(line, version);
    if !apart.certain || apart.commands.is_empty() {
        return None;
    }
    let workspace = Workspace { path: workspace };
    let (mut reading, mut reads) = (ReadingLine::default(), false);
    for (at, command) in apart.commands.iter().enumerate() {
        let command = without_redirections(command);
        if is_only_redirections(command)
            || only_says(command)
            || goes_to(command, workspace.path)
            || asks_inside(command, &workspace)
        {
            continue;
        }
        let words = known_words(command)?;
        let (program, words) = words.split_first()?;
        // The words of Git are compared with the lists of rules, too.
        let is_listed = || program != "git" || unnamed("git *", command, workspace.path, version).is_none();
        let reads_pipe = || apart.fed.contains(&at) && only_reads_input(command);
        if !(reads_pipe() || (is_listed() && reading.takes(program, words, &workspace))) {
            return None;
        }
        reads = true;
        if !BUILTINS.contains(&program.as_str()) {
            reading.programs.push(program.clone());
        }
    }
    reads.then_some(reading)
}

/// Returns whether a command sets how the shell stops, or asks about a file below the workspace.
fn asks_inside(command: &str, workspace: &Workspace<'_>) -> bool {
    let mut words = command.split(' ');
    let place = match words.next() {
        Some("test" | "[") => words.nth(1),
        Some("set") => Some("."),
        _ => None,
    };
    only_waits_or_asks(command) && place.is_some_and(|place| workspace.has(place))
}

/// The folder that commands may read.
struct Workspace<'w> {
    path: &'w str,
}

impl Workspace<'_> {
    /// Returns whether a word names a place in it, whatever links there are: `..` may lead out through one.
    fn has(&self, word: &str) -> bool {
        let leads_up = word.split('/').any(|part| part == "..");
        let is_known = !word.is_empty() && !word.starts_with(['~', '-']) && !word.contains(char::is_control);
        is_known && !leads_up && is_within(self.path, &normalize(self.path, word))
    }
}

impl ReadingLine {
    /// Adds the effects of one command. Returns whether it only reads.
    fn takes(&mut self, program: &str, words: &[String], workspace: &Workspace<'_>) -> bool {
        match program {
            "git" => git::listings(words, workspace).is_some_and(|listings| {
                self.listings.extend(listings);
                true
            }),
            "find" => find::only_lists(words, workspace),
            "sed" => file_readers::sed_prints(words, workspace),
            "command" => matches!(words, [option, name] if option == "-v" && is_name(name)),
            "rg" | "grep" | "egrep" | "fgrep" | "fd" | "fdfind" | "diff" => {
                search::folders(program, words, workspace).is_some_and(|folders| {
                    self.searched.extend(folders);
                    true
                })
            }
            _ => file_readers::only_reads(program, words, workspace),
        }
    }
}

impl ReadWords<'_> {
    /// Returns whether it has one of these options.
    fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }
}

/// Returns whether a word is the bare name of a program.
fn is_name(word: &str) -> bool {
    !word.starts_with('-')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
}

/// Takes the words of a command apart, those behind `--` as plain ones; `None` if an option is not listed.
fn read_words<'w>(reader: &Reader, words: &'w [String]) -> Option<ReadWords<'w>> {
    let end = words.iter().position(|word| word == "--");
    let mut read = reader.read(&words[..end.unwrap_or(words.len())])?;
    let rest = end.map_or(&[][..], |end| &words[end + 1..]);
    read.plain.extend(rest.iter().map(String::as_str));
    Some(read)
}

#[cfg(test)]
mod tests;
