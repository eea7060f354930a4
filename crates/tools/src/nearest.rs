//! The nearest of some names: for suggestions to people and models who misspelt one.

/// The candidate that `name` most likely means, if one is near enough.
///
/// ```
/// use agentx_tools::nearest;
/// assert_eq!(nearest("comand", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(nearest("cmd", ["command", "timeout_ms"]), Some("command"));
/// assert_eq!(nearest("file_path", ["path", "offset"]), Some("path"));
/// assert_eq!(nearest("colour", ["path", "offset"]), None);
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

/// How far two names are apart; `None` where one cannot have been meant by the other.
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

fn is_subsequence(short: &[char], long: &[char]) -> bool {
    let mut rest = long.iter();
    short.len() >= 3
        && short.first() == long.first()
        && short.iter().all(|letter| rest.any(|other| other == letter))
}

/// Insertions, deletions and replacements from one to the other.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
