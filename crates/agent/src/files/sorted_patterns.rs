//! Patterns of absolute paths, sorted so that a name is compared only with those that it may fit.
//!
//! A guard has hundreds of patterns and a command line may have thousands of names, so a comparison of each
//! with each would hold a session for seconds. Every test here is a necessary condition alone: a pattern is
//! left out if it cannot fit, and [`crate::pattern`] and [`crate::commands::command_analysis`] compare the
//! others. So the sorting changes no verdict.
//!
//! | pattern | a path may fit if |
//! | --- | --- |
//! | `/**/.env`, `/etc/sudoers` | its last name is the same |
//! | `/**/id_rsa*`, `/**/*.pem` | its last name begins and ends so |
//! | `/~/.aws/**` | it has this folder |

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::commands::command_analysis::{ANYTHING, ComparedSize, STAR, is_compared};
use crate::pattern::fits_absolute;

/// Absolute patterns, and the parts by which they are found.
#[derive(Debug, Default)]
pub(super) struct SortedPatterns<'g> {
    all: Vec<PathPattern<'g>>,
    /// The patterns that end with a name without stars, by this name.
    by_name: BTreeMap<String, Vec<usize>>,
    /// The patterns that end with `**`, by the last of their folders without stars.
    by_folder: BTreeMap<String, Vec<usize>>,
    /// All other patterns.
    others: Vec<usize>,
}

/// An absolute pattern, and the parts of its last name that are known.
#[derive(Debug)]
struct PathPattern<'g> {
    text: Cow<'g, str>,
    /// The number of its folders and names.
    parts: usize,
    /// Whether it names the place of its files.
    is_placed: bool,
    /// The beginning of the last name, up to a star.
    begins: String,
    /// The end of the last name, behind the last star.
    ends: String,
}

impl<'g> SortedPatterns<'g> {
    /// Adds an absolute pattern in lower case. `is_placed` means that it does not begin with any folder.
    pub(super) fn add(&mut self, text: Cow<'g, str>, is_placed: bool) {
        let at = self.all.len();
        let last = last_name(&text);
        let (begins, ends) = match last {
            "**" => ("", ""),
            _ => known_ends(last),
        };
        let pattern = PathPattern {
            parts: text.split('/').count(),
            is_placed,
            begins: begins.to_owned(),
            ends: ends.to_owned(),
            text: "".into(),
        };
        let is_known = |part: &&str| !part.is_empty() && !part.contains('*');
        if !last.contains('*') {
            self.by_name.entry(last.to_owned()).or_default().push(at);
        } else if let Some(folder) = text.rsplit('/').find(is_known).filter(|_| last == "**") {
            self.by_folder.entry(folder.to_owned()).or_default().push(at);
        } else {
            self.others.push(at);
        }
        self.all.push(PathPattern { text, ..pattern });
    }

    /// Returns whether a pattern fits this absolute, normal path in lower case.
    pub(super) fn fit(&self, path: &str) -> bool {
        self.candidates(path).any(|pattern| fits_absolute(pattern, path))
    }

    /// The patterns that may fit a path.
    pub(super) fn candidates<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s str> {
        let last = last_name(path);
        let named = self.by_name.get(last).into_iter().flatten();
        // A set, because a folder that a path has often is compared once.
        let parts = path.split('/').filter(|_| !self.by_folder.is_empty());
        let folders: BTreeSet<&str> = parts.collect();
        let below = folders
            .into_iter()
            .filter_map(|folder| self.by_folder.get(folder));
        let others = self.others.iter().filter(move |at| {
            let pattern = &self.all[**at];
            last.starts_with(&pattern.begins) && last.ends_with(&pattern.ends)
        });
        let found = named.chain(below.flatten()).chain(others);
        found.map(|at| &*self.all[*at].text)
    }

    /// The patterns that may have a file in common with an absolute, normal name with globs in lower case.
    pub(super) fn candidates_of_glob<'s>(&'s self, name: &'s GlobParts<'s>) -> impl Iterator<Item = &'s str> {
        let all = self.all.iter().filter(move |pattern| pattern.may_meet(name));
        all.map(|pattern| &*pattern.text)
    }

    /// Such patterns, among those that name the place of their files.
    pub(super) fn placed_candidates_of_glob<'s>(
        &'s self,
        name: &'s GlobParts<'s>,
    ) -> impl Iterator<Item = &'s str> {
        let placed = self.all.iter().filter(|pattern| pattern.is_placed);
        let placed = placed.filter(move |pattern| pattern.may_meet(name));
        placed.map(|pattern| &*pattern.text)
    }
}

impl PathPattern<'_> {
    /// Returns whether some path may fit both the pattern and a name. A pair that is too long to be compared
    /// counts as such.
    fn may_meet(&self, name: &GlobParts<'_>) -> bool {
        let size = ComparedSize {
            bytes: self.text.len(),
            parts: self.parts,
        };
        let size_of_name = ComparedSize {
            bytes: name.text.len(),
            parts: name.parts,
        };
        !is_compared(size, size_of_name)
            || (share(&self.begins, name.begins, str::starts_with)
                && share(&self.ends, name.ends, str::ends_with)
                && self.may_begin_as(name.text))
    }

    /// Returns whether the folders at the beginnings of both are the same, as far as both are known.
    fn may_begin_as(&self, name: &str) -> bool {
        let both = self.text.split('/').zip(name.split('/'));
        let mut known = both.take_while(|(part, of_name)| !part.contains('*') && !of_name.contains(is_mark));
        known.all(|(part, of_name)| part == of_name)
    }
}

/// A name with globs and variables, with the parts of its last name that are known.
pub(super) struct GlobParts<'n> {
    text: &'n str,
    parts: usize,
    begins: &'n str,
    ends: &'n str,
}

impl<'n> GlobParts<'n> {
    /// Takes the parts of an absolute, normal name.
    pub(super) fn new(text: &'n str) -> Self {
        let last = last_name(text);
        Self {
            text,
            parts: text.split('/').count(),
            begins: last.split(is_mark).next().unwrap_or_default(),
            ends: last.rsplit(is_mark).next().unwrap_or_default(),
        }
    }
}

fn is_mark(c: char) -> bool {
    c == STAR || c == ANYTHING
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The beginning of a name up to its first star, and its end behind its last one. A star that stands for
/// itself counts as one.
fn known_ends(name: &str) -> (&str, &str) {
    let (Some(first), Some(last)) = (name.find('*'), name.rfind('*')) else {
        return (name, name);
    };
    let begins = &name[..first];
    (begins.strip_suffix('\\').unwrap_or(begins), &name[last + 1..])
}

/// Returns whether a text may begin or end with both of two texts: one of them is a part of the other.
fn share<'t>(one: &'t str, other: &'t str, is_part: fn(&'t str, &'t str) -> bool) -> bool {
    is_part(one, other) || is_part(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command_analysis::{PathOverlap, meeting, names_behind_stars, reaches};

    /// All absolute paths of one to `most` of these parts.
    fn paths(parts: &[&str], most: usize) -> Vec<String> {
        let mut all: Vec<String> = vec![String::new()];
        let mut from = 0;
        for _ in 0..most {
            let longer = all[from..]
                .iter()
                .flat_map(|path| parts.iter().map(move |part| format!("{path}/{part}")));
            let longer: Vec<String> = longer.collect();
            from = all.len();
            all.extend(longer);
        }
        all.split_off(1)
    }

    fn sorted(patterns: &[String]) -> SortedPatterns<'_> {
        let mut sorted = SortedPatterns::default();
        for pattern in patterns {
            sorted.add(pattern.as_str().into(), true);
        }
        sorted
    }

    const PATTERNS: &[&str] = &["a", "ab", ".a", "*", "**", "a*", "*b", "a*b", r"a\*b", r"\*"];

    #[test]
    fn a_path_fits_the_same_patterns_as_without_sorting() {
        let patterns = paths(PATTERNS, 3);
        let sorted = sorted(&patterns);
        for path in paths(&["a", "ab", "b", ".a", "*", "a*b", ""], 3) {
            let mut candidates: Vec<&str> = sorted.candidates(&path).collect();
            candidates.retain(|pattern| fits_absolute(pattern, &path));
            candidates.sort_unstable();
            let fitting = patterns.iter().filter(|pattern| fits_absolute(pattern, &path));
            let mut fitting: Vec<&str> = fitting.map(String::as_str).collect();
            fitting.sort_unstable();
            assert_eq!(candidates, fitting, "{path}");
        }
    }

    #[test]
    fn no_pattern_that_a_glob_may_meet_is_left_out() {
        let patterns = paths(PATTERNS, 3);
        let sorted = sorted(&patterns);
        // In a name `*` is a glob and `$` an expansion.
        for name in paths(&["a", "b", ".a", "a*", "*", "**", "$", "$b", "a$b", "$**"], 2) {
            let name = name.replace('*', "\u{1}").replace('$', "\0");
            let parts = GlobParts::new(&name);
            let candidates: BTreeSet<&str> = sorted.candidates_of_glob(&parts).collect();
            for pattern in patterns
                .iter()
                .filter(|pattern| !candidates.contains(pattern.as_str()))
            {
                let meets = meeting(pattern, &name) != PathOverlap::Never
                    || reaches(pattern, &name)
                    || names_behind_stars(pattern, &name);
                assert!(!meets, "{pattern} {name:?}");
            }
        }
    }

    #[test]
    fn a_pair_that_is_too_long_to_be_compared_is_not_left_out() {
        let patterns = ["/**/.env".to_owned(), "/etc/**".to_owned()];
        let sorted = sorted(&patterns);
        for name in ["/x".repeat(40_000), format!("/{}", "x".repeat(400_000))] {
            let parts = GlobParts::new(&name);
            assert_eq!(sorted.candidates_of_glob(&parts).count(), 2);
        }
    }

    #[test]
    fn a_folder_that_stands_in_a_path_often_is_compared_once() {
        let patterns = ["/**/a/**".to_owned(), "/a/a/**".to_owned()];
        let path = "/a".repeat(1_000);
        assert_eq!(sorted(&patterns).candidates(&path).count(), 2);
    }
}
