//! Names that words become by values of their line (`given_values`), for guarded files.
//!
//! A word whose beginning is unknown and that no value of the line completes may begin in a home or in the
//! workspace. The number of names is bounded, and a line with more of them runs only with an approval.

use super::given_values::{LONGEST, MOST_JOINED};
use super::working_directory::{is_relative, leads_out};
use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::expand::{ANYTHING, dotted};
use crate::commands::command_analysis::lex::word::Word;

/// Maximum number of attempts to make such names.
const MOST_ATTEMPTS: usize = 8000;

impl CommandAnalysis {
    /// Records the names that the words of a command become by values of the line. `takes_whole`: whether it
    /// acts on whole folders.
    pub(crate) fn note_joined(&mut self, words: &[Word], takes_whole: bool) {
        for word in words {
            if self.given.are_too_many {
                return;
            }
            let mut joined = self.joined_names(word);
            joined.extend(self.below_folders_outside(&joined));
            if takes_whole {
                self.folders_joined.extend(joined.iter().cloned());
            }
            joined.into_iter().for_each(|name| self.add_joined(name));
            for rest in word.names().iter().filter_map(|name| name.strip_prefix(ANYTHING)) {
                if !names_something(rest) {
                    continue;
                }
                if !rest.starts_with('/') {
                    self.add_joined(rest.to_owned());
                    continue;
                }
                if takes_whole && rest.contains("..") {
                    self.folders_joined.push(format!(".{rest}"));
                }
                self.add_joined(format!("~{rest}"));
                self.add_joined(format!(".{rest}"));
            }
        }
    }

    /// Returns the names that a word becomes by values of the line; empty if its beginning is known.
    pub(crate) fn joined_names(&self, word: &Word) -> Vec<String> {
        if let Some(rest) = behind_unknown_tilde(&word.text) {
            let folders = self.folders.iter().map(String::as_str);
            let places = folders.chain(["~", "."]);
            let mut joined: Vec<String> = places.map(|folder| format!("{folder}{rest}")).collect();
            joined.push(format!("{ANYTHING}{rest}"));
            return joined;
        }
        let names = word.names();
        let rests: Vec<&str> = names
            .iter()
            .filter_map(|name| name.strip_prefix(ANYTHING))
            .collect();
        if rests.is_empty() {
            return Vec::new();
        }
        let values = self.given.of_beginning(&word.text);
        let with = |rest: &&str| {
            let rest = (*rest).to_owned();
            values.iter().map(move |value| format!("{value}{rest}"))
        };
        rests.iter().flat_map(with).take(MOST_JOINED).collect()
    }

    /// Returns these names below the folders outside of the workspace to which the line goes.
    fn below_folders_outside(&self, names: &[String]) -> Vec<String> {
        let outside = self.folders.iter().filter(|folder| leads_out(folder));
        let below = |folder: &String| {
            let relative = names.iter().filter(|name| is_relative(name));
            let joined = relative.map(|name| format!("{folder}/{name}"));
            joined.collect::<Vec<String>>()
        };
        outside.flat_map(below).take(MOST_JOINED).collect()
    }

    /// Records a name that a value of the line makes. At most [`MOST_JOINED`].
    fn add_joined(&mut self, name: String) {
        self.given.attempts += 1;
        if self.joined.len() >= MOST_JOINED || self.given.attempts > MOST_ATTEMPTS {
            self.given.are_too_many = true;
        } else if name.len() <= 2 * LONGEST && !self.joined.contains(&name) {
            let name = if self.dots { dotted(&name) } else { name };
            self.joined.push(name);
        }
    }

    /// Records the relative names of a line below all folders that it goes to, whatever their order: a list
    /// of names may be written before the `cd` of the program that opens them.
    pub(crate) fn note_listed_elsewhere(&mut self) {
        let relative: Vec<String> = self
            .paths
            .iter()
            .filter(|path| is_relative(path) && path.contains('/'))
            .cloned()
            .collect();
        let folders: Vec<String> = self
            .folders
            .iter()
            .filter(|folder| leads_out(folder))
            .cloned()
            .collect();
        for folder in folders {
            for name in relative.iter().take(MOST_JOINED) {
                self.add_joined(format!("{folder}/{name}"));
            }
        }
    }
}

/// Returns the text behind `~1`, `~-` or `~NAME`, whose folder the line does not show. A home is `~` alone,
/// and `~+` is the present folder.
fn behind_unknown_tilde(text: &str) -> Option<&str> {
    let behind = text.strip_prefix('~')?;
    let end = behind.find('/').unwrap_or(behind.len());
    let (place, rest) = behind.split_at(end);
    let is_place = |c: char| c.is_ascii_alphanumeric() || "+-_".contains(c);
    (!place.is_empty() && place != "+" && place.chars().all(is_place)).then_some(rest)
}

/// Returns whether a path has a part that is the name of something.
fn names_something(rest: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..") && part.chars().any(|c| c != ANYTHING);
    rest.split('/').any(is_name)
}
