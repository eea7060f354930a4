//! Lines that answer a question of a rewind with none of its answers.

use crate::render::clean::visible;

/// The note about a line that is not an answer.
pub(super) fn no_answer(word: &str, choices: &str) -> String {
    format!("`{}` is not one of the answers: {choices}\n", visible(word))
}

/// Returns whether a line that names no message of the list was meant as an answer to it: a letter, or what
/// begins with a digit. Nobody sends that to a model.
pub(super) fn is_meant_as_answer(word: &str) -> bool {
    let is_one = word.chars().count() == 1;
    is_one || (word.starts_with(|first: char| first.is_ascii_digit()) && !word.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_at_the_list_is_no_message() {
        for word in ["b", "?", "12x", "3.", "99999999999999999999999"] {
            assert!(is_meant_as_answer(word), "{word}");
        }
        for line in ["go on", "2 more tests, please", "yes", "/help"] {
            assert!(!is_meant_as_answer(line), "{line}");
        }
    }
}
