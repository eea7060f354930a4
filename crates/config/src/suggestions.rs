//! The nearest right word to a wrong one.

/// Returns the candidates that `word` may be a misspelling of, the nearest first, at most `limit`.
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
        // Of two equally near candidates, the one of the same length is more likely: letters are swapped more
        // often than lost.
        return Some(4 * distance + word.len().abs_diff(candidate.len()).min(3));
    }
    let part =
        word.len() >= 3 && (candidate.contains(word) || word.contains(candidate) && candidate.len() >= 3);
    part.then_some(1000 + longest)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let first = |word: &str| word.chars().take(128).collect::<String>();
    strsim::osa_distance(&first(from), &first(to))
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
