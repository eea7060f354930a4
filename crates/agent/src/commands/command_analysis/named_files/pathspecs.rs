//! Names that programs themselves derive from their words: the globs of Git, which Git expands even in
//! quotes, and addresses of files.

use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::wrapper_commands::basename;

impl CommandAnalysis {
    /// Records the files that words of Git may name: `':(glob).e*'`, `'.e*'`. Stars of Git also match dots
    /// and slashes.
    pub(crate) fn note_pathspecs(&mut self, words: &[Word]) {
        for word in words.iter().skip(1) {
            let text = word.text.as_str();
            let magic = text.strip_prefix(":(").and_then(|rest| rest.split_once(')'));
            let bare = magic.map_or_else(|| text.trim_start_matches([':', '/']), |(_, bare)| bare);
            let behind = bare.rsplit_once(':').map_or(bare, |(_, behind)| behind);
            if text.starts_with('-') || !(bare.contains(['*', '?', '[']) || magic.is_some()) {
                continue;
            }
            let name = opened(behind);
            if name.chars().any(|c| c != ANYTHING) {
                self.note_name(name);
            }
        }
    }
}

/// Returns a pathspec with marks instead of its stars and brackets: `.e*` becomes `.e` and a mark, `[ab]c` a
/// mark and `c`.
///
/// A mark stands for any letters, so rules about files find these names like those of a word with a variable.
fn opened(bare: &str) -> String {
    let mut name = String::new();
    let mut rest = bare;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '*' | '?' => name.push(ANYTHING),
            '[' if rest.contains(']') => {
                rest = rest.split_once(']').map_or("", |(_, behind)| behind);
                name.push(ANYTHING);
            }
            '\\' => {}
            c => name.push(c),
        }
    }
    name
}

/// Returns whether Git reads the names of the objects to show from its input.
pub(crate) fn takes_objects(words: &[Word]) -> bool {
    words.first().is_some_and(|word| basename(&word.text) == "git")
        && words.iter().any(|word| {
            ["--batch", "--stdin", "--pathspec-from-file"]
                .iter()
                .any(|option| word.text.starts_with(option))
        })
}

/// Returns the parts of a word behind the marks before a file in some programs: `file=@.env`, `HEAD:.env`.
pub(crate) fn behind_marks(word: &str) -> impl Iterator<Item = &str> {
    let behind = |mark: char| word.rsplit_once(mark).map(|(_, rest)| rest);
    ['=', '@', ':']
        .into_iter()
        .filter_map(behind)
        .filter(|rest| !rest.is_empty())
}

/// Returns the path in the address of a file, without the host and with decoded characters:
/// `file://localhost/ws/.en%76`.
pub(crate) fn of_address(text: &str) -> Option<String> {
    let at = text.find("://");
    let (place, is_file) = match at {
        Some(at) => (&text[at + 3..], text[..at].to_ascii_lowercase().ends_with("file")),
        None => (text, false),
    };
    let place = match (is_file, place.starts_with(['/', '.', '~', '$', ANYTHING])) {
        (true, false) => place.find('/').map_or(place, |at| &place[at..]),
        _ => place,
    };
    (is_file || text.contains('%')).then(|| decoded(place))
}

/// Returns the path in an address with marks instead of the brackets and braces that `curl` expands:
/// `/ws/.e[n-n]v`, `/ws/{.env}`.
pub(crate) fn without_groups(path: &str) -> String {
    let (mut name, mut rest) = (String::new(), path);
    while let Some(at) = rest.find(['[', '{']) {
        let (before, group) = rest.split_at(at);
        let end = if group.starts_with('[') { ']' } else { '}' };
        let Some((_, behind)) = group.split_once(end).filter(|_| !before.ends_with('$')) else {
            break;
        };
        name.push_str(before);
        name.push(STAR);
        rest = behind;
    }
    name + rest
}

/// Returns a text with its percent-encoded characters decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits
            .filter(|_| *byte == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = match code {
            Some(_) => &behind[2..],
            None => behind,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
