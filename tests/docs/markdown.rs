//! As much of Markdown as these documents use: fenced blocks, tables below a heading, words between
//! backticks, links.

use agentx_tests::workspace_root;

/// A fenced block.
pub(crate) struct Block {
    /// The words behind the fence.
    pub(crate) language: String,
    /// The line of the fence, from 1.
    pub(crate) line: usize,
    /// The content.
    pub(crate) text: String,
}

/// A document of the project.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(workspace_root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of a document.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => {
                open = Some(Block {
                    language: language.trim().to_owned(),
                    line: index + 1,
                    text: String::new(),
                });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block that is not closed");
    blocks
}

/// A document without its fenced blocks; lines stay where they are.
pub(crate) fn prose(document: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in document.lines() {
        let fence = line.starts_with("```");
        inside ^= fence;
        if !inside && !fence {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    prose
}

/// Returns the text below a heading, up to the next one of the same rank or a higher one.
pub(crate) fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let rank = heading.chars().take_while(|c| *c == '#').count();
    let start = document
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no heading {heading:?}"));
    let body = &document[start + heading.len() + 2..];
    let end = (1..=rank)
        .filter_map(|rank| body.find(&format!("\n{} ", "#".repeat(rank))))
        .min();
    &body[..end.unwrap_or(body.len())]
}

/// The cells of every row of every table in a text, without the heads.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut in_body = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            in_body = false;
        } else if line.starts_with("| ---") {
            in_body = true;
        } else if in_body {
            let line = line.replace("\\|", "\u{1}");
            let cells = line.trim_matches('|').split('|');
            rows.push(cells.map(|cell| cell.trim().replace('\u{1}', "|")).collect());
        }
    }
    rows
}

/// Returns the texts between backticks.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn markdown_is_read_as_it_is_written() {
    let text = "# a\n\n## b\n| x | y |\n| --- | --- |\n| `p` | q\\|r |\n\n```sh\nls | wc\n```\n## c\nd\n";
    assert_eq!(rows(section(text, "## b")), [["`p`", "q|r"]]);
    assert_eq!(blocks(text)[0].text, "ls | wc\n");
    assert_eq!(blocks(text)[0].line, 8);
    assert_eq!(section(text, "## c"), "d\n");
    assert!(!prose(text).contains("wc"));
    assert_eq!(quoted("a `b` c `d`"), ["b", "d"]);
}
