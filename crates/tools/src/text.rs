//! Cuts text: at line ends, at character borders, or in the middle of a long text.

/// Returns the largest character boundary that is not above `index`.
pub(crate) fn floor_char(text: &str, index: usize) -> usize {
    (0..=index.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Returns the smallest character boundary that is not below `index`.
pub(crate) fn ceil_char(text: &str, index: usize) -> usize {
    (index..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

/// Returns at most `bytes` from the beginning; it ends with a whole line if a line ends in the second half.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let cut = floor_char(text, bytes);
    match text[..cut].rfind('\n') {
        Some(end) if end + 1 > cut / 2 => &text[..=end],
        _ => &text[..cut],
    }
}

/// Returns at most `bytes` from the end; it begins with a whole line if a line begins in the first half.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let cut = ceil_char(text, text.len() - bytes);
    let rest = &text[cut..];
    if text[..cut].ends_with('\n') {
        return rest;
    }
    match rest.find('\n') {
        Some(end) if end + 1 < rest.len() / 2 => &rest[end + 1..],
        _ => rest,
    }
}

/// Returns a line of at most `bytes`, and a note of how much of it is left out.
pub(crate) fn cut_line(line: &str, bytes: usize) -> String {
    if line.len() <= bytes {
        return line.to_owned();
    }
    let cut = floor_char(line, bytes);
    format!("{}… [{} more bytes in this line]", &line[..cut], line.len() - cut)
}

/// Returns bytes as text, and whether some of them were not UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> (std::borrow::Cow<'_, str>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let replaced = matches!(text, std::borrow::Cow::Owned(_));
    (text, replaced)
}

/// Returns a number of bytes as people write it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_240_000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// Bytes that come in pieces, as text: a character that is split between two pieces is put together, bytes
/// that are not UTF-8 are replaced.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    begun: Vec<u8>,
}

impl Decoder {
    /// Decodes `bytes` and adds them to `text`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], text: &mut String) {
        while !self.begun.is_empty() {
            let Some((first, rest)) = bytes.split_first() else {
                return;
            };
            self.begun.push(*first);
            match std::str::from_utf8(&self.begun) {
                Ok(whole) => text.push_str(whole),
                Err(error) if error.error_len().is_none() => {
                    bytes = rest;
                    continue;
                }
                Err(_) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.begun.clear();
                    // The byte that does not fit may begin another character.
                    break;
                }
            }
            self.begun.clear();
            bytes = rest;
        }
        self.push_fresh(bytes, text);
    }

    /// Adds a replacement for a character that was cut off.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !self.begun.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            self.begun.clear();
        }
    }

    fn push_fresh(&mut self, bytes: &[u8], text: &mut String) {
        let mut end = 0;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            end += chunk.valid().len() + chunk.invalid().len();
            let unfinished = end == bytes.len()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.begun.extend_from_slice(chunk.invalid());
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_byte_is_not_said_to_be_several() {
        let sizes = [0, 1, 2, 10_240].map(size);
        assert_eq!(sizes, ["0 bytes", "1 byte", "2 bytes", "10 KiB"]);
    }

    proptest! {
        #[test]
        fn pieces_decode_like_the_whole(bytes in prop::collection::vec(byte(), 0..200), cuts in prop::collection::vec(0usize..200, 0..20)) {
            let mut decoder = Decoder::default();
            let mut text = String::new();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                decoder.push(&bytes[from..cut], &mut text);
                from = cut;
            }
            decoder.finish(&mut text);
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
        }

        #[test]
        fn head_and_tail_are_bounded_and_true(text in "[a-z你\n]{0,200}", bytes in 1usize..100) {
            let (head, tail) = (head(&text, bytes), tail(&text, bytes));
            prop_assert!(head.len() <= bytes && tail.len() <= bytes);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(text.len() > bytes || (head == text && tail == text));
        }
    }

    /// Bytes that are often parts of characters.
    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![
            any::<u8>(),
            Just(b'a'),
            0xE0u8..0xF5,
            0x80u8..0xC0,
            Just(0xE4),
            Just(0xBD),
            Just(0xA0)
        ]
    }

    #[test]
    fn cuts_at_lines() {
        assert_eq!(head("one\ntwo\nthree\n", 9), "one\ntwo\n");
        assert_eq!(tail("one\ntwo\nthree\n", 12), "two\nthree\n");
        assert_eq!(tail("one\ntwo\nthree\n", 10), "two\nthree\n");
        assert_eq!(head("a long line without an end", 6), "a long");
    }
}
