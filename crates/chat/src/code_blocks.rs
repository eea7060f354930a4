//! The code blocks of a Markdown text, to the letter: what stands between fences, without the indentation of the fence.

/// The contents of the fenced code blocks, in order. A block without an end goes to the end of the text.
pub(crate) fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(OpenFence<'_>, String)> = None;
    for line in text.split_inclusive('\n') {
        match &mut open {
            Some((fence, code)) if !fence.is_closed_by(line) => code.push_str(fence.without_indent(line)),
            Some(_) => blocks.extend(open.take().map(|(_, code)| code)),
            None => open = OpenFence::of(line).map(|fence| (fence, String::new())),
        }
    }
    blocks.extend(open.map(|(_, code)| code));
    blocks
}

/// The line that opened a block.
struct OpenFence<'a> {
    indent: usize,
    /// The backticks or tildes.
    mark: &'a str,
}

impl<'a> OpenFence<'a> {
    /// The fence that a line opens. Inside of a list a fence is indented; behind backticks stand no others.
    fn of(line: &'a str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let (mark, info) = rest.split_at(mark_length(rest)?);
        let is_code_span = mark.starts_with('`') && info.contains('`');
        (!is_code_span).then_some(Self {
            indent: line.len() - rest.len(),
            mark,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim();
        rest.starts_with(self.mark) && mark_length(rest) == Some(rest.len())
    }

    fn without_indent<'b>(&self, line: &'b str) -> &'b str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        &line[blanks.min(self.indent)..]
    }
}

/// How many backticks or tildes a text begins with, if they are a fence.
fn mark_length(text: &str) -> Option<usize> {
    let sign = text.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let length = text.len() - text.trim_start_matches(sign).len();
    (length >= 3).then_some(length)
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
