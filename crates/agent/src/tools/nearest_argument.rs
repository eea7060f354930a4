//! The argument that a model most likely means by another name.
//!
//! A wrong suggestion costs a model another wrong call. So a name is near only if at most a third of its
//! letters differ, if one contains the other (`file_path`, `path`), or if one shortens the other (`cmd`,
//! `command`).
//!
//! | a model writes | the tool has | near, because |
//! | --- | --- | --- |
//! | `comand` | `command` | at most a third of the letters differ |
//! | `file_path` | `path` | one contains the other |
//! | `cmd` | `command` | one shortens the other |
//! | `colour` | `path` | not near |
//!
//! The answer to wrong arguments follows from facts, so recorded sessions fix the results of this function.
//! Hints that are made outside of agents come from [`agentx_types::nearest`].

/// The candidate that `name` most likely means, if one is near enough.
pub(crate) fn nearest_argument<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = letters(name);
    candidates
        .into_iter()
        .filter_map(|candidate| distance(&name, &letters(candidate)).map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The maximum number of compared letters, because a name that a model made up can have any length.
const LONGEST: usize = 64;

/// The letters of a name that count, in lower case.
fn letters(name: &str) -> String {
    name.chars().take(LONGEST).flat_map(char::to_lowercase).collect()
}

/// The distance between two names; `None` if one cannot be a misspelling of the other.
///
/// Names that contain one another count as 3 apart at most, those that shorten one another as 4 at least.
fn distance(a: &str, b: &str) -> Option<usize> {
    let (a_chars, b_chars) = (a.chars().count(), b.chars().count());
    let (short, long) = if a_chars <= b_chars { (a, b) } else { (b, a) };
    // Insertions, deletions, replacements and swaps of neighbours from one to the other.
    let edits = strsim::osa_distance(a, b);
    if edits <= (a_chars.max(b_chars) / 3).max(1) {
        return Some(edits);
    }
    if a_chars.min(b_chars) < 2 {
        return None;
    }
    if long.contains(short) {
        return Some(edits.min(3));
    }
    is_subsequence(short, long).then_some(edits.max(4))
}

/// Returns whether the letters of `short`, at least three, occur in `long` in their order, and both begin
/// with the same letter.
fn is_subsequence(short: &str, long: &str) -> bool {
    let mut rest = long.chars();
    short.chars().nth(2).is_some()
        && short.chars().next() == long.chars().next()
        && short.chars().all(|letter| rest.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::nearest_argument;

    #[test]
    fn a_misspelt_a_longer_and_a_shortened_name_are_near() {
        for (name, candidates, near) in [
            ("comand", ["command", "timeout_ms"], Some("command")),
            ("scr", ["src", "docs"], Some("src")),
            ("cmd", ["command", "timeout_ms"], Some("command")),
            ("file_path", ["path", "offset"], Some("path")),
            ("colour", ["path", "offset"], None),
        ] {
            assert_eq!(nearest_argument(name, candidates), near, "{name}");
        }
    }
}
