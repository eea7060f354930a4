//! Decides whether a name with globs or expansions may be a path that a rule is about.
//!
//! It compares a pattern of a rule and a name of a command line folder by folder; parts of either may stand
//! for more than one folder. The certainty of the answer matters: a rule that denies applies to a name that
//! is [`Named`](PathOverlap::Named); a name that only fits `Perhaps` counts as hidden from the rule.
//!
//! | pattern | name | overlap |
//! | --- | --- | --- |
//! | `/ws/.env` | `/ws/.en?` | `Named` |
//! | `/ws/.env` | `/ws/$X` | `Perhaps` |
//! | `/ws/.env` | `/ws/*` | `Never`: a glob at the beginning stands for no dot |
//! | `/ws/.env` | `/ws/src/*` | `Never` |

use super::pattern_overlap::{self, names_meet};
use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};

/// Maximum product of the folders of the pattern and of the name; longer pairs count as overlapping.
const MOST_STEPS: usize = 1 << 16;

/// The certainty with which a name is one of the paths of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathOverlap {
    /// No file has both.
    Never,
    /// Some file may: `*`, `$X`.
    Perhaps,
    /// The letters of the name are part of the pattern: `.en?` and `**/.env`.
    Named,
}

/// Returns the certainty with which an absolute path pattern and an absolute, normalized name overlap. As in
/// a shell, a glob at the beginning of a name does not stand for a dot.
pub(crate) fn meeting(pattern: &str, name: &str) -> PathOverlap {
    let (pattern, name) = (parts(pattern), parts(name));
    // The value of a variable may be a path of any length.
    let is_anything = |part: &str| {
        let is_variable = !part.is_empty() && part.chars().all(|c| c == ANYTHING);
        is_variable || (part.starts_with(ANYTHING) && spans_folders(part))
    };
    let perhaps = |_, pattern: &str, part: &str| may_be(pattern, part);
    if is_named(&pattern, &name) {
        PathOverlap::Named
    } else if paths_meet(&pattern, &name, perhaps, is_anything) {
        PathOverlap::Perhaps
    } else {
        PathOverlap::Never
    }
}

/// Returns whether an absolute path pattern and such a name are [`Named`](PathOverlap::Named).
pub(crate) fn names_path(pattern: &str, name: &str) -> bool {
    is_named(&parts(pattern), &parts(name))
}

fn is_named(pattern: &[&str], name: &[&str]) -> bool {
    let by_name = |_, pattern: &str, part: &str| named_by(pattern, part);
    is_too_long(pattern, name) || paths_meet(pattern, name, by_name, |_| false)
}

/// Returns whether a glob may become one of the paths of a pattern, even if only by its stars.
///
/// `**` stands for any number of folders. A variable stands for one folder, because its value is unknown.
/// Used for files that are guarded more strictly than others.
pub(crate) fn reaches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (parts(pattern), parts(name));
    let perhaps = |_, pattern: &str, part: &str| may_be(pattern, part);
    is_too_long(&pattern, &name) || paths_meet(&pattern, &name, perhaps, spans_folders)
}

/// Returns whether a glob names one of the paths of a pattern behind folders that are only stars:
/// `*/*/credentials`. It must name the last part of the pattern as well.
pub(crate) fn names_behind_stars(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (parts(pattern), parts(name));
    let last = pattern.iter().rposition(|part| !is_all_stars(part));
    let named = |at, pattern: &str, part: &str| {
        let is_star = !part.is_empty() && part.chars().all(|c| c == STAR);
        named_by(pattern, part) || (Some(at) != last && is_star && may_be(pattern, part))
    };
    is_too_long(&pattern, &name) || paths_meet(&pattern, &name, named, spans_folders)
}

/// Returns the folders of a path or a pattern, and its last part.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').collect()
}

/// Returns whether a comparison of both would take more steps than [`MOST_STEPS`].
fn is_too_long(pattern: &[&str], name: &[&str]) -> bool {
    pattern.len().saturating_mul(name.len()) > MOST_STEPS
}

/// The size of a pattern or a name, by which a comparison takes its time.
#[derive(Clone, Copy)]
pub(crate) struct ComparedSize {
    pub(crate) bytes: usize,
    pub(crate) parts: usize,
}

/// Returns whether a pattern of this size is compared with a name. A pair that would take too many steps is
/// not: it counts as overlapping.
pub(crate) fn is_compared(pattern: ComparedSize, name: ComparedSize) -> bool {
    pattern.parts.saturating_mul(name.parts) <= MOST_STEPS
        && pattern.bytes.saturating_mul(name.bytes) <= pattern_overlap::MOST_STEPS
}

/// Returns whether a part of a pattern is `*` or `**`, and so names nothing.
fn is_all_stars(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*')
}

/// Returns whether a part of a name is the `**` of a shell, also with the mark for names with a dot.
fn spans_folders(part: &str) -> bool {
    let stars = part.strip_prefix(ANYTHING).unwrap_or(part);
    stars.len() >= 2 && stars.chars().all(|c| c == STAR)
}

/// Compares row by row: `reached[j]` says whether the part of the pattern up to this row and the first `j`
/// folders of the name may be equal.
///
/// `meet` compares one folder of each, with the position in the pattern; `spans` returns whether a part of
/// the name stands for any number of folders.
fn paths_meet(
    pattern: &[&str],
    name: &[&str],
    meet: impl Fn(usize, &str, &str) -> bool,
    spans: impl Fn(&str) -> bool,
) -> bool {
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    spread(&mut reached, name, &spans);
    for (at, part) in pattern.iter().enumerate() {
        let mut next = vec![false; name.len() + 1];
        for j in 0..=name.len() {
            if *part == "**" {
                next[j] = reached[j] || (j > 0 && next[j - 1]);
            } else {
                let steps = j > 0 && reached[j - 1] && meet(at, part, name[j - 1]);
                next[j] =
                    steps || (j > 0 && reached[j] && spans(name[j - 1]) && may_begin(part, name[j - 1]));
            }
        }
        reached = next;
        spread(&mut reached, name, &spans);
    }
    reached[name.len()]
}

/// Marks the positions that are reached because a part that spans any number of folders spans none, too.
fn spread(reached: &mut [bool], name: &[&str], spans: impl Fn(&str) -> bool) {
    for (j, part) in name.iter().enumerate() {
        reached[j + 1] |= reached[j] && spans(part);
    }
}

/// Returns whether the character is a mark for other characters.
fn is_wild(c: char) -> bool {
    c == STAR || c == ANYTHING
}

/// Returns whether a part of a name may begin as the pattern does: a glob at the beginning does not stand for
/// a dot.
fn may_begin(pattern: &str, part: &str) -> bool {
    !(part.starts_with(STAR) && pattern.starts_with('.'))
}

/// Returns whether one folder of the name may match this part of the pattern.
fn may_be(pattern: &str, part: &str) -> bool {
    may_begin(pattern, part) && names_meet(pattern, part)
}

/// Returns whether letters of `part` match the pattern, and not only its stars.
fn named_by(pattern: &str, part: &str) -> bool {
    if !part.contains(is_wild) || pattern.bytes().all(|byte| byte == b'*') {
        return names_meet(pattern, part);
    }
    if part.chars().all(is_wild) || !may_be(pattern, part) {
        return false;
    }
    let plain = |star: &str| pattern.replace("\\*", "x").replace('*', star);
    let begins = !pattern.starts_with('*') && !part.starts_with(is_wild);
    let ends = !pattern.ends_with('*') && !part.ends_with(is_wild);
    begins || ends || names_meet(&plain("x"), part) || names_meet(&plain(""), part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_meets_the_paths_that_it_may_stand_for() {
        use PathOverlap::{Named, Never, Perhaps};
        // In the name `*` is a glob and `$` an expansion.
        for (pattern, name, expected) in [
            ("/**/.env", "/ws/.en*", Named),
            ("/**/.env", "/ws/.*", Named),
            ("/**/.env", "/ws/a/.e*v", Named),
            ("/**/.env", "/ws/*/.env", Named),
            ("/**/.env", "/ws/.$v", Named),
            ("/**/.env", "/ws/*", Never),
            ("/**/.env", "/ws/*env", Never),
            ("/**/.env", "/ws/$", Perhaps),
            ("/**/.env", "/ws/$env", Named),
            ("/**/.env", "/ws/*.rs", Never),
            ("/**/.env", "/ws/.a*", Never),
            ("/**/*.pem", "/ws/*.p*", Named),
            ("/**/*.pem", "/ws/*m", Named),
            ("/**/*.pem", "/ws/*", Perhaps),
            ("/**/*.pem", "/ws/a*", Perhaps),
            ("/**/id_rsa*", "/ws/*.rs", Perhaps),
            ("/**/id_rsa*", "/ws/id_*", Named),
            ("/ws/secrets/**", "/ws/sec*/x", Named),
            ("/ws/secrets/**", "/ws/*", Perhaps),
            ("/ws/secrets/**", "/ws/$/x", Perhaps),
            ("/ws/secrets/**", "/ws/$/secrets/x", Perhaps),
            ("/ws/secrets/*", "/ws/secrets/*", Named),
            ("/ws/secrets/**", "/ws/src/*", Never),
            ("/etc/**", "/ws/*", Never),
            ("/etc/**", "/$", Perhaps),
        ] {
            let written = name.replace('*', "\u{1}").replace('$', "\0");
            assert_eq!(meeting(pattern, &written), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn bare_stars_reach_what_lies_where_they_lead() {
        let own = "/home/me/.local/share/agentx/**";
        for (name, expected) in [
            ("/home/me/.local/share/*/identity", true),
            ("/home/me/.local/*/agentx/*", true),
            ("/home/me/.l*/*/*/identity", true),
            ("/home/me/.local/**/identity", true),
            ("/home/me/.local/share/$/identity", true),
            ("/*/*/.local/share/agentx/x", true),
            ("/home/me/**/identity", false),
            ("/home/me/*/share/agentx/identity", false),
            ("/home/me/ws/*", false),
            ("/home/me/*", false),
            ("/home/me/.local/share/other/*", false),
        ] {
            let written = name.replace('*', "\u{1}").replace('$', "\0");
            assert_eq!(reaches(own, &written), expected, "{name}");
        }
        for (pattern, name, expected) in [
            ("/home/me/keys/identity", "/home/me/*/identity", true),
            ("/home/me/keys/identity", "/**/identity", true),
            ("/home/me/.aws/**", "/*/*/.aws/*", true),
            ("/home/me/keys/identity", "/home/me/keys/*", false),
            ("/home/me/keys/**", "/home/me/*/x", false),
            ("/**/id_rsa*", "/ws/*/*.rs", false),
        ] {
            let written = name.replace('*', "\u{1}");
            assert_eq!(
                names_behind_stars(pattern, &written),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn long_names_are_held_against_patterns_in_time() {
        let name = "/a*".repeat(20_000).replace('*', "\u{1}");
        assert_eq!(meeting("/**/b*/**/c*/**/d*/x", &name), PathOverlap::Named);
        let name = format!("/{}", "a*".repeat(20_000).replace('*', "\u{1}"));
        assert_eq!(meeting("/**/b*c*d*e*", &name), PathOverlap::Never);
    }
}
