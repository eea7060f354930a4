//! The nearest right word to a wrong one.

/// The candidates that are near enough to `word` to be what was meant, the nearest first, at most `limit`.
///
/// ```
/// assert_eq!(agentx_config::nearest("modle", ["model", "mode", "rules"], 1), ["model"]);
/// assert!(agentx_config::nearest("xyz", ["model"], 3).is_empty());
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| score(&word, &candidate.to_lowercase()).map(|score| (score, candidate)))
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked
        .into_iter()
        .take(limit)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Smaller is nearer; `None` is too far. A part of a name (`sonnet` of `claude-sonnet-4-5`) counts as near.
fn score(word: &str, candidate: &str) -> Option<usize> {
    let longest = word.chars().count().max(candidate.chars().count());
    let distance = edit_distance(word, candidate);
    if distance <= 1.max(longest / 3) {
        // Of two that are as near, the one of the same length is meant: letters are swapped more often than lost.
        return Some(4 * distance + word.len().abs_diff(candidate.len()).min(3));
    }
    let part =
        word.len() >= 3 && (candidate.contains(word) || word.contains(candidate) && candidate.len() >= 3);
    part.then_some(1000 + longest)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(128).collect();
    let to: Vec<char> = to.chars().take(128).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut cost = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_step_and_parts_are_near() {
        assert_eq!(edit_distance("modle", "model"), 1);
        assert_eq!(edit_distance("", "ab"), 2);
        assert_eq!(
            nearest("sonnet", ["claude-sonnet-4-5", "gpt-5"], 3),
            ["claude-sonnet-4-5"]
        );
    }
}
