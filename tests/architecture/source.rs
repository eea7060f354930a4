//! Reads Rust sources as the rules need them: which files there are, which of them are tests, what is code
//! and what is comment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// A Rust file of the workspace.
pub(crate) struct Source {
    /// Relative to the workspace, with `/`.
    pub(crate) path: String,
    /// As it stands.
    pub(crate) text: String,
    /// The same without what is inside comments and literals; every line break is kept.
    pub(crate) code: String,
    /// Only what is inside comments; every line break is kept.
    pub(crate) comments: String,
    /// The line (from 0) at which the tests begin; 0 for a file that is all test.
    pub(crate) tests_from: usize,
}

impl Source {
    /// The lines that are not tests, without comments and literals.
    pub(crate) fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().take(self.tests_from).enumerate()
    }

    /// The lines that are tests, without comments and literals.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().skip(self.tests_from)
    }

    /// Each function that is not a test, with its first line (from 0) and how many lines it has.
    pub(crate) fn functions(&self) -> Vec<(String, usize, usize)> {
        let lines: Vec<&str> = self.code.lines().take(self.tests_from).collect();
        (0..lines.len())
            .filter_map(|first| Some((function_name(lines[first])?, first, body_length(&lines[first..])?)))
            .collect()
    }
}

/// Every Rust file below `crates`, `apps` and `tests`.
pub(crate) fn sources(root: &Path) -> Vec<Source> {
    let mut paths = Vec::new();
    for top in ["crates", "apps", "tests"] {
        walk(&root.join(top), &mut paths);
    }
    paths.sort();
    let texts: Vec<(PathBuf, String)> = paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    let test_modules: BTreeSet<PathBuf> = texts
        .iter()
        .flat_map(|(path, text)| test_modules(path, text))
        .collect();
    texts
        .into_iter()
        .map(|(path, text)| source(root, path, text, &test_modules))
        .collect()
}

fn source(root: &Path, path: PathBuf, text: String, test_modules: &BTreeSet<PathBuf>) -> Source {
    let inside = path.strip_prefix(root).unwrap();
    let is_test = inside.starts_with("tests")
        || inside
            .components()
            .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "benches")))
        || path
            .ancestors()
            .any(|up| test_modules.contains(&up.with_extension("")));
    let tests_from = if is_test { 0 } else { first_test_line(&text) };
    let (code, comments) = split(&text);
    Source {
        path: inside.to_string_lossy().replace('\\', "/"),
        text,
        code,
        comments,
        tests_from,
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" && !name.starts_with('.') {
            walk(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

fn is_test_gate(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[cfg(")
        && line.contains("test")
        && !line.contains("not(test)")
        && !line.contains("feature")
}

/// The line at which `#[cfg(test)] mod … {` begins; the end of the file if there is none.
fn first_test_line(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len())
        .find(|&at| {
            is_test_gate(lines[at])
                && lines[at + 1..]
                    .iter()
                    .find(|l| !l.starts_with("#["))
                    .is_some_and(|l| l.starts_with("mod ") && l.ends_with('{'))
        })
        .unwrap_or(lines.len())
}

/// Files that a `#[cfg(test)] mod name;` in this file declares, without extension.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let stem = path.with_extension("");
    let folder = match stem.file_name().and_then(|name| name.to_str()) {
        Some("lib" | "main" | "mod") => path.parent().unwrap().to_owned(),
        _ => stem,
    };
    (0..lines.len())
        .filter(|&at| is_test_gate(lines[at]))
        .filter_map(|at| lines[at + 1..].iter().find(|line| !line.starts_with("#[")))
        .filter_map(|line| {
            line.split_once("mod ")
                .and_then(|(_, rest)| rest.strip_suffix(';'))
        })
        .map(|name| folder.join(name))
        .collect()
}

fn function_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    let (before, after) = line.split_once("fn ")?;
    let is_item = before.split_whitespace().all(|word| {
        matches!(word, "pub" | "async" | "const" | "unsafe" | "extern") || word.starts_with("pub(")
    });
    let name: String = after
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (is_item && !name.is_empty()).then_some(name)
}

/// Returns the number of lines from the first one to the brace that closes the body; `None` for a function
/// without one.
fn body_length(lines: &[&str]) -> Option<usize> {
    let (mut depth, mut brackets) = (0usize, 0usize);
    for (index, line) in lines.iter().enumerate() {
        for c in line.chars() {
            match c {
                '(' | '[' if depth == 0 => brackets += 1,
                ')' | ']' if depth == 0 => brackets = brackets.saturating_sub(1),
                ';' if depth == 0 && brackets == 0 => return None,
                '{' => depth += 1,
                '}' if depth == 1 => return Some(index + 1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    None
}

/// The code of a source and its comments, each with the other blanked, and literals in neither.
///
/// What lies between two comments or literals is copied as a whole: each test of the architecture splits all
/// sources, and most tokens are neither.
pub(crate) fn split(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let (mut copied, mut end) = (0, 0);
    for token in tokenize(text, FrontmatterAllowed::No) {
        let begin = end;
        end += token.len as usize;
        let is_comment = matches!(
            token.kind,
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        );
        let is_text = matches!(token.kind, TokenKind::Literal { kind, .. } if !is_number(kind));
        if is_comment || is_text {
            let (plain, part) = (&text[copied..begin], &text[begin..end]);
            let blanked = blank(part);
            code.push_str(plain);
            code.push_str(&blanked);
            comments.push_str(&blank(plain));
            comments.push_str(if is_comment { part } else { &blanked });
            copied = end;
        }
    }
    code.push_str(&text[copied..end]);
    comments.push_str(&blank(&text[copied..end]));
    (code, comments)
}

/// As many spaces as the text has characters, with its line breaks.
fn blank(text: &str) -> String {
    let lines = text.split('\n').map(|line| " ".repeat(line.chars().count()));
    lines.collect::<Vec<String>>().join("\n")
}

fn is_number(literal: LiteralKind) -> bool {
    matches!(literal, LiteralKind::Int { .. } | LiteralKind::Float { .. })
}
