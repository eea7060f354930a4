//! Suggestions for a mistyped name.

/// Returns at most three of `names`, nearest first: those that differ from `wanted` by a few keystrokes, and
/// those that begin with it.
///
/// ```
/// let names = ["gpt-5", "gpt-5-mini", "claude-opus-4-5"];
/// assert_eq!(agentx_llm::catalog::nearest("gtp-5", names), ["gpt-5"]);
/// ```
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    const SHOWN: usize = 3;
    let wanted = letters(wanted);
    let farthest = (wanted.chars().count() / 3).clamp(2, 6);
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = letters(name);
            let distance = distance(&wanted, &lower);
            let begins = wanted.len() >= 3 && lower.starts_with(&wanted);
            (distance <= farthest || begins).then_some((distance, name))
        })
        .collect();
    found.sort();
    found.dedup();
    found
        .into_iter()
        .take(SHOWN)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Maximum number of characters of a word that are compared. A name from a model, a file or a server can have
/// any length, and a comparison costs the product of both lengths.
const LONGEST: usize = 64;

/// The characters of a word that are compared, in lower case.
fn letters(word: &str) -> String {
    word.chars().take(LONGEST).flat_map(char::to_lowercase).collect()
}

/// Returns the edit distance of two words: a character more, less or different, or two swapped.
fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, distance, nearest};

    #[test]
    fn only_the_beginning_of_a_word_of_any_length_is_compared() {
        let same = "m".repeat(LONGEST);
        let (wanted, name) = (
            same.clone() + &"a".repeat(1 << 20),
            same.clone() + &"b".repeat(1 << 20),
        );
        assert_eq!(nearest(&wanted, [name.as_str()]), [name.as_str()]);
        let short = same[1..].to_owned() + &"a".repeat(1 << 20);
        assert!(nearest(&short, ["gpt-5"]).is_empty());
    }

    #[test]
    fn counts_keystrokes() {
        for (a, b, steps) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
            assert_eq!(distance(b, a), steps, "{b} {a}");
        }
    }
}
