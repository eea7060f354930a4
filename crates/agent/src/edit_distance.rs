//! The nearest of some names: for suggestions to people and models who misspelt one.
//!
//! A suggestion that is wrong costs a model another wrong call. So a name is near only if a third of its
//! letters at most are other ones, if one lies in the other (`file_path`, `path`), or if one shortens the
//! other (`cmd`, `command`).

/// The candidate that `name` most likely means, if one is near enough.
///
/// ```
/// use agentx_agent::nearest;
/// assert_eq!(edit_distance("comand", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(edit_distance("scr", ["src", "docs"]), Some("src"));
/// assert_eq!(edit_distance("cmd", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(edit_distance("file_path", ["path", "offset"]), Some("path"));
/// assert_eq!(edit_distance("colour", ["path", "offset"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate
                .chars()
                .take(LONGEST)
                .flat_map(char::to_lowercase)
                .collect();
            distance(&name, &letters).map(|distance| (distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters that are looked at: a name that a model made up can have any length.
const LONGEST: usize = 64;

/// The distance between two names, the less the nearer; `None` if one cannot have been meant by the other.
///
/// Names that contain one another count as 3 apart at most, those that shorten one another as 4 at least.
fn distance(a: &[char], b: &[char]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let edits = edits(a, b);
    if edits <= (long.len() / 3).max(1) {
        return Some(edits);
    }
    if short.len() < 2 {
        return None;
    }
    if long.windows(short.len()).any(|window| window == short) {
        return Some(edits.min(3));
    }
    is_subsequence(short, long).then_some(edits.max(4))
}

/// Whether the letters of `short` stand in `long` in their order, and both begin with the same: at least
/// three letters.
fn is_subsequence(short: &[char], long: &[char]) -> bool {
    let mut rest = long.iter();
    short.len() >= 3
        && short.first() == long.first()
        && short.iter().all(|letter| rest.any(|other| other == letter))
}

/// Insertions, deletions, replacements and swaps of neighbours from one to the other.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            let swapped = if swapped { before[j - 1] + 1 } else { usize::MAX };
            row.push(replaced.min(last[j + 1] + 1).min(row[j] + 1).min(swapped));
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
