//! Texts that are too long for their place: their ends stay, and the middle is left out.

/// Cuts a text to this many characters: three quarters of them from its beginning, the rest from its end.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail = most / 4;
    let head: String = text.chars().take(most - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} […{} characters left out…] {end}", count - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_both_ends() {
        assert_eq!(cut("0123456789", 10), "0123456789");
        assert_eq!(cut("0123456789", 8), "012345 […2 characters left out…] 89");
        assert_eq!(cut("中文中文", 0), " […4 characters left out…] ");
    }
}
