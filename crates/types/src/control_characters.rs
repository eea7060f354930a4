//! Characters that act on their surroundings without being visible, so that every output hides the same ones.

/// Returns whether `c` is a control character, or one that changes the direction of the text around it.
///
/// ```
/// use agentx_types::is_control_or_bidi;
///
/// assert!(is_control_or_bidi('\u{1b}') && is_control_or_bidi('\u{200e}') && is_control_or_bidi('\u{202e}'));
/// assert!(!is_control_or_bidi('a') && !is_control_or_bidi('\u{200d}'));
/// ```
pub fn is_control_or_bidi(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_embeddings_and_isolates_change_the_direction() {
        let acting = [
            '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
        ];
        assert!(acting.into_iter().all(is_control_or_bidi));
        let beside = [
            '\u{200d}', '\u{2010}', '\u{2029}', '\u{202f}', '\u{2065}', '\u{206a}',
        ];
        assert!(!beside.into_iter().any(is_control_or_bidi));
    }
}
