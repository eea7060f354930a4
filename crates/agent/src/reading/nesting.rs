//! The end of a substitution that has others and quotes in it.
//!
//! `$(a "$(b ')')" c)` ends at its last parenthesis. One pass, with a stack of what is open (parentheses and
//! double quotes): it takes time in proportion to the text, so that deep nesting is no way to hold a server
//! up.

/// The place of the parenthesis that closes what was opened before `text`, in bytes; `None` where there is
/// none.
pub(super) fn end_of_substitution(text: &str) -> Option<usize> {
    let mut open = vec!['('];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let quoted = open.last() == Some(&'"');
        match c {
            '\\' => {
                chars.next();
            }
            '"' if quoted => {
                open.pop();
            }
            '"' => open.push('"'),
            '$' if quoted && chars.peek().is_some_and(|(_, next)| *next == '(') => {
                chars.next();
                open.push('(');
            }
            _ if quoted => {}
            '\'' => {
                chars.find(|(_, c)| *c == '\'');
            }
            '(' => open.push('('),
            ')' => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
