//! The forms in which a person's home directory is written: `~/x`, `$HOME/x` and `/data/home/x` are one file.
//!
//! The machine does not read the environment, so the directory is data of the configuration
//! ([`Guard::homes`]). [`crate::files::path_pattern`] recognizes only the homes that look like one
//! (`/home/NAME`); a container or a service may have any other.

use std::borrow::Cow;
use std::iter::once;

use agentx_types::{Guard, since};

use crate::pattern::{literal, normalize};

/// The words for the home directory in a path of a call or a command line.
const WORDS: [&str; 3] = ["~", "$HOME", "${HOME}"];

/// The home directories that the configuration names; none before version 9 of the rules.
pub(crate) fn known_homes(guard: Option<&Guard>, version: u32) -> &[String] {
    match guard {
        Some(guard) if version >= since::HOMES_ARE_KNOWN => &guard.homes,
        _ => &[],
    }
}

/// A pattern of a rule as it is written, and with each home directory in place of `~`.
pub(crate) fn pattern_forms<'a>(pattern: &'a str, homes: &'a [String]) -> impl Iterator<Item = Cow<'a, str>> {
    let at_home = homes.iter().filter_map(move |home| {
        let rest = rest_behind("~", pattern)?;
        let absolute = format!("{}{rest}", literal(home.trim_end_matches('/')));
        (!absolute.is_empty()).then_some(Cow::Owned(absolute))
    });
    once(Cow::Borrowed(pattern)).chain(at_home)
}

/// A path of a call as it is written, and below each home directory if it begins with a word for one.
pub(crate) fn path_forms<'a>(path: &'a str, homes: &'a [String]) -> impl Iterator<Item = Cow<'a, str>> {
    let at_home = homes.iter().filter_map(move |home| {
        let rest = WORDS.iter().find_map(|word| rest_behind(word, path))?;
        Some(Cow::Owned(normalize("/", &format!("{home}{rest}"))))
    });
    once(Cow::Borrowed(path)).chain(at_home)
}

/// The rest of a path behind its first segment, if that is `first`.
fn rest_behind<'p>(first: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(first)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'a>(forms: impl Iterator<Item = Cow<'a, str>>) -> Vec<String> {
        forms.map(Cow::into_owned).collect()
    }

    #[test]
    fn a_home_is_written_in_each_of_its_forms() {
        let homes = ["/data/a*b".to_owned()];
        assert_eq!(
            all(pattern_forms("~/x/**", &homes)),
            ["~/x/**", r"/data/a\*b/x/**"]
        );
        assert_eq!(all(pattern_forms("~x", &homes)), ["~x"]);
        assert_eq!(all(pattern_forms("/x", &homes)), ["/x"]);
        for path in ["~/x", "$HOME/x", "${HOME}/y/../x"] {
            assert_eq!(all(path_forms(path, &homes)), [path, "/data/a*b/x"], "{path}");
        }
        for path in ["~ada/x", "$HOMES/x", "/x", "x/~/y"] {
            assert_eq!(all(path_forms(path, &homes)), [path], "{path}");
        }
        assert_eq!(all(path_forms("~", &["/".to_owned()])), ["~", "/"]);
        assert_eq!(all(pattern_forms("~/x", &["/".to_owned()])), ["~/x", "/x"]);
    }

    #[test]
    fn homes_are_unknown_to_earlier_versions_of_the_rules() {
        let guard = Guard {
            homes: vec!["/data/me".to_owned()],
            ..Guard::default()
        };
        assert_eq!(known_homes(Some(&guard), since::HOMES_ARE_KNOWN), ["/data/me"]);
        assert!(known_homes(Some(&guard), since::HOMES_ARE_KNOWN - 1).is_empty());
        assert!(known_homes(None, since::HOMES_ARE_KNOWN).is_empty());
    }
}
