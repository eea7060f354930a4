//! Helpers for changes of a text of YAML: places in it, its line ends, and the ends of its values.

use std::borrow::Cow;

use crate::layers::keys::SettingPath;
use crate::yaml::{TextPosition, Yaml, YamlNode};

/// The place of a position in the text, in bytes.
pub(crate) fn offset(text: &str, at: TextPosition) -> Option<usize> {
    let start: usize = text
        .split_inclusive('\n')
        .take(index_of(at.line)?)
        .map(str::len)
        .sum();
    let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
    let (before, _) = text[start..].char_indices().nth(column)?;
    Some(start + before)
}

/// Lines count from 1 in positions, from 0 here.
pub(crate) fn index_of(line: u64) -> Option<usize> {
    usize::try_from(line).ok()?.checked_sub(1)
}

/// Returns the changed text of a file with the line ends that the file had: Windows writes `\r\n`.
pub(crate) fn with_line_ends_of<'a>(before: &str, changed: &'a str) -> Cow<'a, str> {
    if !before.contains("\r\n") || before.replace("\r\n", "").contains('\n') {
        return Cow::Borrowed(changed);
    }
    Cow::Owned(changed.replace("\r\n", "\n").replace('\n', "\r\n"))
}

pub(crate) fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

pub(crate) fn insert_line(text: &str, before: usize, line: &str) -> String {
    let at: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    format!("{}{line}{}", &text[..at], &text[at..])
}

/// The path under which a file has the key: a former name of it if the file uses that, otherwise `path`.
pub(crate) fn written_path(root: &YamlNode, path: &SettingPath) -> SettingPath {
    path.former()
        .find(|former| has(root, &former.0))
        .unwrap_or_else(|| path.clone())
}

/// Returns whether a tree has a value at this path.
fn has(node: &YamlNode, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else {
        return true;
    };
    match &node.value {
        Yaml::Map(map) => map.iter().any(|(key, node)| key.name == *name && has(node, rest)),
        _ => false,
    }
}

/// The range of a value in its line, from this character on; `None` if it does not end in the line.
pub(crate) fn span(line: &str, column: usize) -> Option<(usize, usize)> {
    let from = line.char_indices().nth(column)?.0;
    let rest = &line[from..];
    let length = match rest.chars().next()? {
        quote @ ('"' | '\'') => closing(rest, quote)? + 1,
        '[' => rest.rfind(']')? + 1,
        '|' | '>' | '&' | '*' | '!' | '{' => return None,
        _ => {
            let end = rest.find(" #").unwrap_or(rest.len());
            rest[..end].trim_end().len()
        }
    };
    Some((from, from + length))
}

/// The end of a quoted text.
pub(crate) fn closing(text: &str, quote: char) -> Option<usize> {
    let mut signs = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = signs.next() {
        if c == '\\' && quote == '"' {
            signs.next();
        } else if c == quote {
            // Two single quotes are one in the text.
            let is_doubled = quote == '\'' && signs.peek().is_some_and(|(_, next)| *next == '\'');
            if !is_doubled {
                return Some(at);
            }
            signs.next();
        }
    }
    None
}
