//! Suggestions for a mistyped name: the one definition of "did you mean …?".
//!
//! One place judges nearness differently: an agent's answer to wrong arguments of a call, because recorded
//! sessions depend on it (`crates/agent/src/tools/nearest_argument.rs`).

/// Returns the candidates that `word` may be a misspelling of, the nearest first, at most `limit`. Case does
/// not count.
///
/// ```
/// use agentx_types::nearest;
/// assert_eq!(nearest("modle", ["model", "mode", "rules"], 1), ["model"]);
/// assert_eq!(nearest("gtp-5", ["gpt-5", "claude-opus-4-5"], 3), ["gpt-5"]);
/// assert_eq!(nearest("sonnet", ["claude-sonnet-4-5", "gpt-5"], 3), ["claude-sonnet-4-5"]);
/// assert!(nearest("xyz", ["model"], 3).is_empty());
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let word = letters(word);
    let mut ranked: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| score(&word, &letters(candidate)).map(|score| (score, candidate)))
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked
        .into_iter()
        .take(limit)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The maximum number of compared letters. A name from a model, a file or a server can have any length, and a
/// comparison costs the product of both lengths.
const LONGEST: usize = 64;

/// The letters of a word that are compared, in lower case.
fn letters(word: &str) -> String {
    word.chars().take(LONGEST).flat_map(char::to_lowercase).collect()
}

/// Smaller is nearer; `None` is too far. A part of a name (`sonnet` of `claude-sonnet-4-5`) counts as near.
fn score(word: &str, candidate: &str) -> Option<usize> {
    let longest = word.chars().count().max(candidate.chars().count());
    // Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
    let distance = strsim::osa_distance(word, candidate);
    if distance <= 1.max(longest / 3) {
        // If two candidates are equally near, the one of the same length is more likely: letters are swapped
        // more often than lost.
        return Some(4 * distance + word.len().abs_diff(candidate.len()).min(3));
    }
    let part =
        word.len() >= 3 && (candidate.contains(word) || word.contains(candidate) && candidate.len() >= 3);
    part.then_some(1000 + longest)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, nearest, score};

    #[test]
    fn a_swap_is_one_step() {
        assert_eq!(score("modle", "model"), Some(4));
        assert_eq!(
            score("mode", "model"),
            Some(5),
            "a letter less is a little farther"
        );
        assert_eq!(score("", "abc"), None);
    }

    #[test]
    fn only_the_beginning_of_a_word_of_any_length_is_compared() {
        let same = "m".repeat(LONGEST);
        let (wanted, name) = (
            same.clone() + &"a".repeat(1 << 20),
            same.clone() + &"b".repeat(1 << 20),
        );
        assert_eq!(nearest(&wanted, [name.as_str()], 3), [name.as_str()]);
        let short = same[1..].to_owned() + &"a".repeat(1 << 20);
        assert!(nearest(&short, ["gpt-5"], 3).is_empty());
    }
}
