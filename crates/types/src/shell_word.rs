//! Text as a word of a shell's command line: hints print commands that a person pastes, and questions show
//! command lines that a person reads.

/// Returns the text as one word that a POSIX shell reads as this text, in quotes if it needs them.
///
/// ```
/// use agentx_types::shell_word;
/// assert_eq!(shell_word("/home/größe/a=b"), "/home/größe/a=b");
/// assert_eq!(shell_word("a'b; c"), r"'a'\''b; c'");
/// assert_eq!(shell_word(""), "''");
/// ```
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
