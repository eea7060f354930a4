//! Whether a name with globs or expansions in it may be a path that a rule is about.

use super::expand::STAR;
use super::may_fit::names_meet;
use super::word::ANYTHING;

/// Longer pairs are taken to meet.
const MOST_STEPS: usize = 1 << 16;

/// How sure it is that a name is one of the paths of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meeting {
    /// No file has both.
    Never,
    /// Some file may: `*`, `$X`.
    Perhaps,
    /// What is written of the name is part of what the pattern says: `.en?` and `**/.env`.
    Named,
}

/// How an absolute pattern of paths and an absolute, normal name meet. As in a shell, a glob at the beginning of a name stands for no dot.
pub(crate) fn meeting(pattern: &str, name: &str) -> Meeting {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let name: Vec<&str> = name.split('/').collect();
    if pattern.len().saturating_mul(name.len()) > MOST_STEPS || paths_meet(&pattern, &name, true) {
        Meeting::Named
    } else if paths_meet(&pattern, &name, false) {
        Meeting::Perhaps
    } else {
        Meeting::Never
    }
}

/// Row by row: `reached[j]` says whether the part of the pattern so far and the first `j` folders of the name may be the same.
fn paths_meet(pattern: &[&str], name: &[&str], strict: bool) -> bool {
    let meet = if strict { named_by } else { may_be };
    // What a variable holds may be a path of any length.
    let spans = |part: &str| !strict && !part.is_empty() && part.chars().all(|c| c == ANYTHING);
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    spread(&mut reached, name, spans);
    for part in pattern {
        let mut next = vec![false; name.len() + 1];
        for j in 0..=name.len() {
            if *part == "**" {
                next[j] = reached[j] || (j > 0 && next[j - 1]);
            } else {
                let steps = j > 0 && reached[j - 1] && meet(part, name[j - 1]);
                next[j] = steps || (j > 0 && reached[j] && spans(name[j - 1]));
            }
        }
        reached = next;
        spread(&mut reached, name, spans);
    }
    reached[name.len()]
}

/// What spans any number of folders spans none, too.
fn spread(reached: &mut [bool], name: &[&str], spans: impl Fn(&str) -> bool) {
    for (j, part) in name.iter().enumerate() {
        reached[j + 1] |= reached[j] && spans(part);
    }
}

fn is_wild(c: char) -> bool {
    c == STAR || c == ANYTHING
}

fn may_be(pattern: &str, part: &str) -> bool {
    !(part.starts_with(STAR) && pattern.starts_with('.')) && names_meet(pattern, part)
}

/// Whether what is written of `part` is what the pattern says, and not its stars alone.
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
        use Meeting::{Named, Never, Perhaps};
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
    fn long_names_are_held_against_patterns_in_time() {
        let name = "/a*".repeat(20_000).replace('*', "\u{1}");
        assert_eq!(meeting("/**/b*/**/c*/**/d*/x", &name), Meeting::Named);
        let name = format!("/{}", "a*".repeat(20_000).replace('*', "\u{1}"));
        assert_eq!(meeting("/**/b*c*d*e*", &name), Meeting::Never);
    }
}
