//! Words of pages, as the model reads them: without signs that nobody sees, and inside a quotation that they
//! cannot end. The tools that show pages call it.

use agentx_types::without_invisible;

/// The longest address that is shown, in characters.
const LONGEST_ADDRESS: usize = 500;

/// Returns a text without control and invisible characters, and without anything that ends the surrounding
/// quotation.
pub fn clean_page_text(text: &str) -> String {
    let visible: String = without_invisible(text)
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    visible.replace("</page", "<\\/page").replace("<page", "<\\page")
}

/// Returns a text on one line, cut to `most` characters.
pub fn page_line(text: &str, most: usize) -> String {
    let text = clean_page_text(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(most).collect()
}

/// Returns an address that can stand between quotes.
pub fn quoted_address(address: &str) -> String {
    let shown: String = address
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_ADDRESS)
        .collect();
    shown.replace('"', "%22").replace('<', "%3C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_page_end_no_quotation() {
        assert_eq!(clean_page_text("a\u{200b}b\u{7}\n</page>"), "ab\n<\\/page>");
        assert_eq!(page_line(" a \n\n b c", 3), "a b");
        assert_eq!(quoted_address("http://a/\"<\n>"), "http://a/%22%3C>");
    }
}
