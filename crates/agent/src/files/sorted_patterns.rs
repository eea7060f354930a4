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
use std::ops::Range;

use crate::commands::command_analysis::{ANYTHING, ComparedSize, STAR, is_compared};
use crate::pattern::fits_absolute;

/// Absolute patterns, and the parts by which they are found.
///
/// An agent keeps them, so their texts are in one string and their parts are places in it.
#[derive(Debug, Default)]
pub(super) struct SortedPatterns {
    text: String,
    all: Vec<PathPattern>,
    /// The patterns that end with a name without stars, sorted by this name.
    by_name: Vec<usize>,
    /// The patterns that end with `**`, sorted by the last of their folders without stars, which is at the
    /// named place.
    by_folder: Vec<(Range<usize>, usize)>,
    /// The names and the folders by which patterns are found.
    known: KnownNames,
    /// All other patterns.
    others: Vec<usize>,
}

/// A set of names that answers fast, and in nearly all cases right, that a name is not in it.
#[derive(Debug, Default)]
struct KnownNames([u64; 16]);

impl KnownNames {
    fn add(&mut self, name: &str) {
        let (word, bit) = Self::place(name);
        self.0[word] |= 1 << bit;
    }

    /// Returns whether a name may have been added; `false` is certain.
    fn may_have(&self, name: &str) -> bool {
        let (word, bit) = Self::place(name);
        self.0[word] & (1 << bit) != 0
    }

    /// The place of a name: a word and a bit in it, from its length and its outer bytes.
    fn place(name: &str) -> (usize, usize) {
        let name = name.as_bytes();
        let byte = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or(0));
        let mark = byte(name.first()) * 31 + byte(name.last()) * 7 + name.len();
        (mark / 64 % 16, mark % 64)
    }
}

/// The places of an absolute pattern, and of the parts of its last name that are known.
#[derive(Debug)]
struct PathPattern {
    text: Range<usize>,
    /// The number of its folders and names.
    parts: usize,
    /// Whether it names the place of its files.
    is_placed: bool,
    /// The beginning of the last name, up to a star.
    begins: Range<usize>,
    /// The end of the last name, behind the last star.
    ends: Range<usize>,
}

impl SortedPatterns {
    /// Sorts absolute patterns in lower case, each with whether it names the place of its files: those that
    /// begin with any folder do not.
    pub(super) fn new<'p>(patterns: impl Iterator<Item = (Cow<'p, str>, bool)>) -> Self {
        let mut sorted = Self::default();
        for (pattern, is_placed) in patterns {
            sorted.add(&pattern, is_placed);
        }
        let Self {
            text,
            all,
            by_name,
            by_folder,
            ..
        } = &mut sorted;
        by_name.sort_by_key(|at| &text[all[*at].begins.clone()]);
        by_folder.sort_by_key(|(folder, _)| &text[folder.clone()]);
        sorted
    }

    /// Adds a pattern behind the others.
    fn add(&mut self, pattern: &str, is_placed: bool) {
        let (at, start) = (self.all.len(), self.text.len());
        self.text.push_str(pattern);
        let last = last_name(pattern);
        let (begins, ends) = match last {
            "**" => ("", ""),
            _ => known_ends(last),
        };
        let (end, last_start) = (self.text.len(), self.text.len() - last.len());
        self.all.push(PathPattern {
            text: start..end,
            parts: pattern.split('/').count(),
            is_placed,
            begins: last_start..last_start + begins.len(),
            ends: end - ends.len()..end,
        });
        if !last.contains('*') {
            self.known.add(last);
            self.by_name.push(at);
        } else if let Some(folder) = last_known_folder(pattern).filter(|_| last == "**") {
            self.known.add(&pattern[folder.clone()]);
            let place = start + folder.start..start + folder.end;
            self.by_folder.push((place, at));
        } else {
            self.others.push(at);
        }
    }

    /// Returns whether a pattern fits this absolute, normal path in lower case.
    pub(super) fn fit(&self, path: &str) -> bool {
        self.candidates(path).any(|pattern| fits_absolute(pattern, path))
    }

    /// The patterns that may fit a path.
    pub(super) fn candidates<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s str> {
        let last = last_name(path);
        let others = self.others.iter().filter(move |at| {
            let pattern = &self.all[**at];
            begins_with(last, &self.text[pattern.begins.clone()])
                && ends_with(last, &self.text[pattern.ends.clone()])
        });
        let found = self
            .named(last)
            .chain(self.below_folders(path))
            .chain(others.copied());
        found.map(|at| &self.text[self.all[at].text.clone()])
    }

    /// The patterns that end with this name.
    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = usize> {
        let name_of = |at: usize| &self.text[self.all[at].begins.clone()];
        let is_known = self.known.may_have(name);
        let by_name = if is_known { &self.by_name[..] } else { &[] };
        let from = by_name.partition_point(|at| name_of(*at) < name);
        let named = by_name[from..].iter().copied();
        named.take_while(move |at| name_of(*at) == name)
    }

    /// The patterns for everything in a folder of this path. A folder that a path has often counts once.
    fn below_folders(&self, path: &str) -> impl Iterator<Item = usize> {
        let name_of = |place: &Range<usize>| &self.text[place.clone()];
        let mut found: Vec<Range<usize>> = Vec::new();
        let folders = path.split('/').filter(|folder| self.known.may_have(folder));
        for folder in folders {
            let from = self
                .by_folder
                .partition_point(|(place, _)| name_of(place) < folder);
            let same = self.by_folder[from..].iter();
            let count = same.take_while(|(place, _)| name_of(place) == folder).count();
            if count > 0 && !found.contains(&(from..from + count)) {
                found.push(from..from + count);
            }
        }
        found.into_iter().flatten().map(|at| self.by_folder[at].1)
    }

    /// The patterns that may have a file in common with an absolute, normal name with globs in lower case.
    pub(super) fn candidates_of_glob<'s>(&'s self, name: &'s GlobParts<'s>) -> impl Iterator<Item = &'s str> {
        let all = self
            .all
            .iter()
            .filter(move |pattern| self.may_meet(pattern, name));
        all.map(|pattern| &self.text[pattern.text.clone()])
    }

    /// Such patterns, among those that name the place of their files.
    pub(super) fn placed_candidates_of_glob<'s>(
        &'s self,
        name: &'s GlobParts<'s>,
    ) -> impl Iterator<Item = &'s str> {
        let placed = self.all.iter().filter(|pattern| pattern.is_placed);
        let placed = placed.filter(move |pattern| self.may_meet(pattern, name));
        placed.map(|pattern| &self.text[pattern.text.clone()])
    }

    /// Returns whether some path may fit both a pattern and a name. A pair that is too long to be compared
    /// counts as such.
    fn may_meet(&self, pattern: &PathPattern, name: &GlobParts<'_>) -> bool {
        let part = |place: &Range<usize>| &self.text[place.clone()];
        let size = ComparedSize {
            bytes: pattern.text.len(),
            parts: pattern.parts,
        };
        let size_of_name = ComparedSize {
            bytes: name.text.len(),
            parts: name.parts,
        };
        !is_compared(size, size_of_name)
            || (share(part(&pattern.begins), name.begins, begins_with)
                && share(part(&pattern.ends), name.ends, ends_with)
                && may_begin_alike(part(&pattern.text), name.text))
    }
}

/// Returns whether the folders at the beginnings of a pattern and a name are the same, as far as both are
/// known.
fn may_begin_alike(pattern: &str, name: &str) -> bool {
    let both = pattern.split('/').zip(name.split('/'));
    let mut known = both.take_while(|(part, of_name)| !part.contains('*') && !of_name.contains(is_mark));
    known.all(|(part, of_name)| part == of_name)
}

/// The place of the last folder or name of a pattern that has no star.
fn last_known_folder(pattern: &str) -> Option<Range<usize>> {
    let mut end = pattern.len();
    loop {
        let start = pattern[..end].rfind('/').map_or(0, |slash| slash + 1);
        let part = &pattern[start..end];
        if !part.is_empty() && !part.contains('*') {
            return Some(start..end);
        }
        end = start.checked_sub(1)?;
    }
}

/// Returns whether a text begins with another one. Most do not, which their first bytes show.
fn begins_with(text: &str, start: &str) -> bool {
    let (text, start) = (text.as_bytes(), start.as_bytes());
    start.is_empty() || (text.first() == start.first() && text.starts_with(start))
}

/// Returns whether a text ends with another one. Most do not, which their last bytes show.
fn ends_with(text: &str, end: &str) -> bool {
    let (text, end) = (text.as_bytes(), end.as_bytes());
    end.is_empty() || (text.last() == end.last() && text.ends_with(end))
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
fn share(one: &str, other: &str, is_part: fn(&str, &str) -> bool) -> bool {
    is_part(one, other) || is_part(other, one)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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

    fn sorted(patterns: &[String]) -> SortedPatterns {
        SortedPatterns::new(patterns.iter().map(|pattern| (pattern.as_str().into(), true)))
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
