//! Fences of code: recognizes lines that open and close a block, and returns the exact code of a whole text,
//! for copying.

/// A fence of code that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// A backtick or a tilde.
    pub(super) sign: char,
    /// The number of characters in the fence.
    length: usize,
    /// Number of blanks before them.
    pub(super) indent: usize,
}

/// Number of blanks that a line begins with.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The fence that a line opens. No other backtick follows a fence of backticks: the line would be a span of
/// code.
pub(super) fn fence_of(line: &str) -> Option<Fence> {
    let indent = indent_of(line);
    let text = &line[indent..];
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(sign).len();
    let is_span = sign == '`' && text[length..].contains('`');
    (length >= 3 && !is_span && indent < 4).then_some(Fence { sign, length, indent })
}

/// Returns whether a line closes a fence.
pub(super) fn closes(line: &str, fence: Fence) -> bool {
    let text = line.trim();
    text.len() >= fence.length && text.chars().all(|c| c == fence.sign)
}

/// The contents of the fenced code blocks of a Markdown text, in order and to the letter, without the
/// indentation of the fence. A block without an end goes to the end of the text.
///
/// ```
/// let text = "Try:\n```sh\necho \"a\tb\"\n```\n";
/// assert_eq!(agentx_terminal::code_blocks(text), ["echo \"a\tb\"\n"]);
/// ```
pub fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, String)> = None;
    for line in text.split_inclusive('\n') {
        let indent = indent_of(line);
        match &mut open {
            Some((fence, code)) if !closes(line, *fence) => code.push_str(&line[indent.min(fence.indent)..]),
            Some(_) => blocks.extend(open.take().map(|(_, code)| code)),
            None => {
                // A fence inside of a list is indented as far as the text of its item.
                let fence = fence_of(&line[indent..]).map(|fence| Fence { indent, ..fence });
                open = fence.map(|fence| (fence, String::new()));
            }
        }
    }
    blocks.extend(open.map(|(_, code)| code));
    blocks
}

#[cfg(test)]
mod tests {
    use super::code_blocks;

    #[test]
    fn code_is_taken_to_the_letter() {
        let text = "Try `a`:\n```rust\nfn main() {\n\tlet x = \"`\";  \n\n}\n```\nor\n\n1. this:\n   ~~~\n   a\n     b\n   ~~~\n```inline``` no\n";
        assert_eq!(
            code_blocks(text),
            ["fn main() {\n\tlet x = \"`\";  \n\n}\n", "a\n  b\n"]
        );
    }

    #[test]
    fn a_longer_fence_holds_shorter_ones_and_an_open_one_goes_to_the_end() {
        assert_eq!(
            code_blocks("````md\n```\nx\n```\n````\n```\nrest"),
            ["```\nx\n```\n", "rest"]
        );
        assert!(code_blocks("no code").is_empty());
    }
}
