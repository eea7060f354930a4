//! Plain English in doc comments and on the pages: phrases that a reader has to read twice do not come back,
//! and lines have one width.

use std::path::Path;

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{sources, split};

/// Phrases that no doc comment and no page has, in upper or lower case, also across two lines. One is added
/// as soon as it has been replaced everywhere.
const PHRASES: &[&str] = &["also where", "for want of", "goes on with", "it is told"];

/// Phrases that no doc comment begins with: it begins with what the item is or does.
const OPENINGS: &[&str] = &["what", "who", "whose", "where", "why", "how", "which"];

/// The doc comments here are the help of flags, which may be questions.
const HELP: &str = "apps/agentx/src/args/";

/// Maximum number of columns of a line of text, as `rustfmt.toml` has it for code.
const COLUMNS: usize = 110;

/// A word with the signs around it, and the number of its line, from 1.
struct Word<'t> {
    line: usize,
    text: &'t str,
}

/// The words of each run of lines that are not `None`.
fn blocks<'t>(lines: impl Iterator<Item = Option<&'t str>>) -> Vec<Vec<Word<'t>>> {
    let (mut blocks, mut block) = (Vec::new(), Vec::new());
    for (index, line) in lines.enumerate() {
        let Some(line) = line else {
            blocks.push(std::mem::take(&mut block));
            continue;
        };
        let line_number = index + 1;
        block.extend(line.split_whitespace().map(|text| Word {
            line: line_number,
            text,
        }));
    }
    blocks.push(block);
    blocks
}

/// The text of a line of a doc comment.
fn doc_line(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let is_rule = line.starts_with("////");
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    text.filter(|_| !is_rule)
}

fn line_of_paragraph(line: &str) -> Option<&str> {
    (!line.trim().is_empty()).then_some(line)
}

fn is_sign(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Whether these words are the phrase. Signs may be in front of its first word and behind its last one.
fn is_phrase(words: &[Word<'_>], phrase: &[&str]) -> bool {
    words
        .iter()
        .zip(phrase)
        .enumerate()
        .all(|(index, (word, wanted))| {
            let mut text = word.text;
            if index == 0 {
                text = text.trim_start_matches(is_sign);
            }
            if index + 1 == phrase.len() {
                text = text.trim_end_matches(is_sign);
            }
            text.eq_ignore_ascii_case(wanted)
        })
}

/// The lines on which the phrase begins in a block.
fn lines_with(block: &[Word<'_>], phrase: &str) -> Vec<usize> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let found = block
        .windows(phrase.len())
        .filter(|words| is_phrase(words, &phrase));
    found.map(|words| words[0].line).collect()
}

fn begins_with(block: &[Word<'_>], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    block
        .get(..phrase.len())
        .is_some_and(|first| is_phrase(first, &phrase))
}

/// Each phrase in a block, with its place.
fn phrases_in(path: &str, block: &[Word<'_>]) -> Vec<String> {
    let found = PHRASES.iter().flat_map(|phrase| {
        let lines = lines_with(block, phrase).into_iter();
        lines.map(move |line| format!("{path}:{line} {phrase:?}"))
    });
    found.collect()
}

/// The phrase with which a block begins, with its place.
fn opening_of(path: &str, block: &[Word<'_>]) -> Option<String> {
    let line = block.first()?.line;
    let opening = OPENINGS.iter().find(|opening| begins_with(block, opening))?;
    Some(format!("{path}:{line} begins with {opening:?}"))
}

/// A line of a comment or a page.
struct TextLine<'t> {
    /// The whole line.
    whole: &'t str,
    /// Its text, without the marks of a comment.
    text: &'t str,
}

/// The lines of a source that are comments and nothing else; `None` for each other line. `comments` is the
/// source with everything else blanked.
fn comment_lines<'t>(source: &'t str, comments: &'t str) -> impl Iterator<Item = Option<TextLine<'t>>> {
    source.lines().zip(comments.lines()).map(|(whole, comment)| {
        let comment = comment.trim();
        let text = comment.strip_prefix("//").filter(|_| comment == whole.trim())?;
        let text = text.trim_start_matches(['/', '!']).trim();
        Some(TextLine { whole, text })
    })
}

/// Whether a text can be continued on the next line: it is not a row of a table or a picture, and has a blank
/// outside of code.
fn can_be_broken(text: &str) -> bool {
    let is_whole = text.starts_with('|') || text.starts_with("![");
    let mut outside_of_code = text.split('`').step_by(2);
    !is_whole && outside_of_code.any(|part| part.contains(' '))
}

/// The numbers, from 1, of the lines with too many columns. Code between fences may have more.
fn wide_lines<'t>(lines: impl Iterator<Item = Option<TextLine<'t>>>) -> Vec<usize> {
    let (mut is_code, mut wide) = (false, Vec::new());
    for (index, line) in lines.enumerate() {
        let Some(TextLine { whole, text }) = line else {
            is_code = false;
            continue;
        };
        if text.starts_with("```") || text.starts_with("~~~") {
            is_code = !is_code;
        } else if !is_code && whole.chars().count() > COLUMNS && can_be_broken(text) {
            wide.push(index + 1);
        }
    }
    wide
}

/// The path and the text of each page.
fn pages(root: &Path) -> Vec<(String, String)> {
    let folder = std::fs::read_dir(root.join("docs")).unwrap();
    let names = folder.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_string_lossy()));
    let top = ["README.md", "SECURITY.md"].map(str::to_owned);
    names
        .chain(top)
        .filter(|path| path.ends_with(".md"))
        .map(|path| (path.clone(), std::fs::read_to_string(root.join(path)).unwrap()))
        .collect()
}

#[test]
fn doc_comments_and_pages_have_no_phrase_that_is_read_twice() {
    let root = workspace_root();
    let mut wrong = Vec::new();
    for source in sources(&root) {
        for block in blocks(source.comments.lines().map(doc_line)) {
            wrong.extend(phrases_in(&source.path, &block));
            if !source.path.starts_with(HELP) {
                wrong.extend(opening_of(&source.path, &block));
            }
        }
    }
    for (path, text) in pages(&root) {
        for block in blocks(text.lines().map(line_of_paragraph)) {
            wrong.extend(phrases_in(&path, &block));
        }
    }
    none(&wrong, "phrases that make a sentence heavy: say who does what");
}

#[test]
fn phrases_are_found_as_whole_words_in_doc_comments_alone() {
    for (text, count) in [
        ("/// A run that goes\n/// on with (another) model.", 1),
        ("    //! It `Goes on with` it, and goes on with it.", 2),
        ("/// It goes on, with a model.", 0),
        ("/// It goes on without one.", 0),
        ("/// It goes on\nfn f() {}\n/// with a model.", 0),
        ("// goes on with", 0),
        ("//// goes on with", 0),
    ] {
        let blocks = blocks(text.lines().map(doc_line));
        let found: usize = blocks.iter().map(|block| phrases_in("a.rs", block).len()).sum();
        assert_eq!(found, count, "{text}");
    }
    for (text, is_found) in [
        ("/// Who asks.", true),
        ("/// WHO asks.", true),
        ("//! What is asked.", true),
        ("/// Whatever is asked.", false),
        ("/// Whoever asks.", false),
        ("/// A person\n/// who asks.", false),
    ] {
        let blocks = blocks(text.lines().map(doc_line));
        let found = blocks.iter().any(|block| opening_of("a.rs", block).is_some());
        assert_eq!(found, is_found, "{text}");
    }
}

#[test]
fn comments_and_pages_have_one_width() {
    let root = workspace_root();
    let mut wrong = Vec::new();
    for source in sources(&root) {
        let wide = wide_lines(comment_lines(&source.text, &source.comments));
        wrong.extend(wide.iter().map(|line| format!("{}:{line}", source.path)));
    }
    for (path, text) in pages(&root) {
        let lines = text.lines().map(|whole| {
            let text = whole.trim();
            Some(TextLine { whole, text })
        });
        let wide = wide_lines(lines);
        wrong.extend(wide.iter().map(|line| format!("{path}:{line}")));
    }
    none(
        &wrong,
        &format!("lines of comments and pages with more than {COLUMNS} columns"),
    );
}

#[test]
fn only_text_that_can_be_broken_is_too_wide() {
    let words = "word ".repeat(30);
    let address = "x".repeat(150);
    for (text, is_wide) in [
        (format!("/// {words}"), true),
        (format!("    // {words}"), true),
        (format!("//! ```\n//! a\n//! ```\n//! {words}"), true),
        (format!("//! ```\n//! {words}\n//! ```"), false),
        (format!("//! | {words} |"), false),
        (format!("// `{words}`"), false),
        (format!("// <{address}>"), false),
        (format!("f(); // {words}"), false),
        (format!("let a = \"\n// {words}\";"), false),
        ("/// word".to_owned(), false),
    ] {
        let comments = split(&text).1;
        let wide = wide_lines(comment_lines(&text, &comments));
        assert_eq!(!wide.is_empty(), is_wide, "{text}");
    }
}
