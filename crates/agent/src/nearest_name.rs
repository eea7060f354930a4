//! The nearest of some names: for suggestions to people and models who misspelt one.
//!
//! A wrong suggestion costs a model another wrong call. So a name is near only if at most a third of its
//! letters differ, if one contains the other (`file_path`, `path`), or if one shortens the other (`cmd`,
//! `command`).

/// The candidate that `name` most likely means, if one is near enough.
///
/// ```
/// use agentx_agent::nearest;
/// assert_eq!(nearest("comand", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(nearest("scr", ["src", "docs"]), Some("src"));
/// assert_eq!(nearest("cmd", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(nearest("file_path", ["path", "offset"]), Some("path"));
/// assert_eq!(nearest("colour", ["path", "offset"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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
