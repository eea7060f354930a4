//! Characters that a person does not see while a model reads them. Pages and servers can hide words in them.

/// Returns whether a character shows as nothing or a blank, or turns the direction of text around.
///
/// These are the control characters, the characters that Unicode lets a display ignore
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>,
/// `Default_Ignorable_Code_Point`), and the blank of Braille. `\n` and `\t` are control characters.
///
/// ```
/// use agentx_types::is_invisible;
/// assert!(is_invisible('\u{200b}') && is_invisible('\u{e0041}') && is_invisible('\u{202e}') && is_invisible('\u{3164}'));
/// assert!(!is_invisible('a') && !is_invisible(' ') && !is_invisible('中'));
/// ```
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the text without invisible characters, except line feeds, tabs, and the one character that
/// chooses the look of the emoji before it.
///
/// ```
/// use agentx_types::without_invisible;
/// assert_eq!(without_invisible("a\u{200b}b\n❤\u{fe0f}\u{fe0f}\u{e0041}"), "ab\n❤\u{fe0f}");
/// ```
pub fn without_invisible(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_visible = false;
    for c in text.chars() {
        let chooses_look = after_visible && matches!(c, '\u{fe0e}' | '\u{fe0f}');
        after_visible = !is_invisible(c);
        if after_visible || chooses_look || matches!(c, '\n' | '\t') {
            kept.push(c);
        }
    }
    kept
}
