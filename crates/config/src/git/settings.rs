//! Reads a file of Git's settings as Git does, so that nothing that Git sees is overlooked. The grammar is
//! that of <https://git-scm.com/docs/git-config#_syntax>, in the detail of `git_parse_source` in Git's
//! `config.c`.

use std::path::{Path, PathBuf};

use super::repository_files::{MAX_BYTES, readable};
use crate::digest::digest;

/// The name for unreadable settings: Git may find something in them that we do not.
pub(super) const UNREADABLE: &str = "settings that cannot be read";
/// The maximum depth of included files; Git's own limit.
const MAX_DEPTH: usize = 10;

/// A setting: `section.sub.name`, in lower case but for `sub`, and its value as Git understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
}

impl Setting {
    /// The section: the part before the first dot.
    pub(super) fn section(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The name within its section.
    pub(super) fn last(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    pub(super) fn is_include(&self) -> bool {
        matches!(self.section(), "include" | "includeif") && self.last() == "path"
    }
}

/// The settings of a file and of those that it includes; none if there is no file.
pub(super) fn of_file(file: &Path) -> Vec<Setting> {
    let mut found = Vec::new();
    add(file, 0, &mut found);
    found
}

/// Returns the length of a hash in this repository, in bytes. Git reads this setting before any other, from
/// the file of the repository alone: neither from those that it includes nor from that of a worktree
/// (`read_repository_format` in its `setup.c`).
pub(super) fn hash_length(config: &Path) -> usize {
    let bytes = readable(config, MAX_BYTES).ok().flatten().unwrap_or_default();
    let settings = parse(&bytes);
    let mut formats = settings
        .iter()
        .filter(|setting| setting.name == "extensions.objectformat");
    if formats
        .next_back()
        .is_some_and(|setting| setting.value == "sha256")
    {
        32
    } else {
        20
    }
}

fn add(file: &Path, depth: usize, found: &mut Vec<Setting>) {
    let bytes = match readable(file, MAX_BYTES) {
        Ok(None) => return,
        Ok(Some(bytes)) if depth < MAX_DEPTH => bytes,
        Ok(Some(_)) => return found.push(unreadable("they include each other")),
        Err(why) => return found.push(unreadable(&why)),
    };
    for setting in parse(&bytes) {
        // Conditions count as true, because they may become true later. A file in a home directory is the
        // person's own.
        let included =
            (setting.is_include() && !setting.value.starts_with('~')).then(|| PathBuf::from(&setting.value));
        found.push(setting);
        if let Some(path) = included {
            add(
                &file.parent().unwrap_or(Path::new("/")).join(path),
                depth + 1,
                found,
            );
        }
    }
}

fn unreadable(why: &str) -> Setting {
    Setting {
        name: UNREADABLE.to_owned(),
        value: why.to_owned(),
    }
}

/// The settings of a text. If Git would stop with an error, or bytes are odd, the last one says so.
pub(super) fn parse(bytes: &[u8]) -> Vec<Setting> {
    let mut settings = Vec::new();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = Text { rest: text };
    if bytes.contains(&0) || text.read(&mut settings).is_none() {
        settings.push(unreadable(&digest(bytes)));
    }
    settings
}

struct Text<'t> {
    rest: &'t [u8],
}

impl Text<'_> {
    /// The next character; the end of the text is the end of a line.
    fn next(&mut self) -> u8 {
        if let Some(rest) = self.rest.strip_prefix(b"\r\n") {
            self.rest = rest;
            return b'\n';
        }
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => b'\n',
        }
    }

    /// All settings; `None` if a line does not follow Git's syntax.
    fn read(&mut self, settings: &mut Vec<Setting>) -> Option<()> {
        let mut section = Vec::new();
        let mut in_comment = false;
        while !self.rest.is_empty() {
            match self.next() {
                b'\n' => in_comment = false,
                _ if in_comment => {}
                c if is_space(c) => {}
                b'#' | b';' => in_comment = true,
                b'[' => section = self.section()?,
                c if c.is_ascii_alphabetic() => {
                    let (name, value) = self.setting(c)?;
                    let name = [&section[..], b".", &name].concat();
                    settings.push(Setting {
                        name: shown(&name),
                        value: shown(&value),
                    });
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Reads the text between `[` and `]`, as `section` or `section.sub`.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            if self.rest.is_empty() {
                return None;
            }
            match self.next() {
                b']' => return Some(name),
                c if is_space(c) => return self.subsection(c, name),
                c if is_of_name(c) || c == b'.' => name.push(c.to_ascii_lowercase()),
                _ => return None,
            }
        }
    }

    fn subsection(&mut self, mut c: u8, mut name: Vec<u8>) -> Option<Vec<u8>> {
        while is_space(c) {
            if c == b'\n' {
                return None;
            }
            c = self.next();
        }
        if c != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            c = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                c => c,
            };
            if c == b'\n' {
                return None;
            }
            name.push(c);
        }
        (self.next() == b']').then_some(name)
    }

    /// A name that begins with `first`, and its value; one without a value is true.
    fn setting(&mut self, first: u8) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut name = vec![first.to_ascii_lowercase()];
        let mut c = self.next();
        while is_of_name(c) {
            name.push(c.to_ascii_lowercase());
            c = self.next();
        }
        while matches!(c, b' ' | b'\t') {
            c = self.next();
        }
        match c {
            b'\n' => Some((name, b"true".to_vec())),
            b'=' => Some((name, self.value()?)),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        // Blanks at the end do not count, unless they are quoted.
        let mut length = 0;
        let (mut in_quotes, mut in_comment) = (false, false);
        loop {
            match self.next() {
                b'\n' if in_quotes => return None,
                b'\n' => break,
                _ if in_comment => continue,
                c if is_space(c) && !in_quotes => {
                    if !value.is_empty() {
                        value.push(c);
                    }
                    continue;
                }
                b'#' | b';' if !in_quotes => {
                    in_comment = true;
                    continue;
                }
                b'"' => in_quotes = !in_quotes,
                b'\\' => match self.next() {
                    b'\n' => continue,
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    c @ (b'\\' | b'"') => value.push(c),
                    _ => return None,
                },
                c => value.push(c),
            }
            length = value.len();
        }
        value.truncate(length);
        Some(value)
    }
}

/// Returns whether Git treats the byte as a blank.
fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'-'
}

/// Returns the bytes as text, so that different bytes are different texts and none of them moves a cursor.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                text.extend(c.escape_default())
            } else {
                text.push(c)
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        let settings = parse(text.as_bytes());
        settings
            .iter()
            .map(|setting| {
                if setting.name == UNREADABLE {
                    UNREADABLE.to_owned()
                } else {
                    format!("{}={}", setting.name, setting.value)
                }
            })
            .collect()
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        for (text, wanted) in [
            ("[core]\n\tbare = false\n", &["core.bare=false"][..]),
            ("[filter \"a]\"] clean = \"x; cat\"", &["filter.a].clean=x; cat"]),
            ("[filter \"X\"]\n# hello\\\n clean = y", &["filter.X.clean=y"]),
            ("\u{feff}[include]\n path = ../inc", &["include.path=../inc"]),
            ("[a.B]c=1 ; d=2\n;e=3\n", &["a.b.c=1"]),
            (
                "[a] b = one\\\n two\r\n[A \"q\\\"r\"]Cd",
                &["a.b=one two", "a.q\"r.cd=true"],
            ),
            ("[a]b = \" x \" y  \n", &["a.b= x  y"]),
            ("[a]b = x\\ny", &["a.b=x\\ny"]),
            ("[a]b = \"x", &[UNREADABLE]),
            ("[a]b = x\\q", &[UNREADABLE]),
            ("[a]\nb = 1\n[c\nd = 2", &["a.b=1", UNREADABLE]),
            ("[a]\n=2", &[UNREADABLE]),
            ("[a]b = x\0", &[UNREADABLE]),
        ] {
            assert_eq!(parsed(text), wanted, "{text}");
        }
        assert_ne!(
            parse(b"[a]b=\xff"),
            parse(b"[a]b=\xfe"),
            "bytes that are not text differ"
        );
    }
}
