//! The outline of a script without running it: the libraries that it requires by name, and whether it has a
//! function to call. Tokens are read without comments and strings. Names that are computed at run time are
//! not found.

/// The result of scanning a script.
#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    /// Names in `require("NAME")`, and the bytes at which those calls begin.
    pub(crate) required: Vec<(usize, &'a str)>,
    /// Functions by name, and the bytes at which the names begin.
    pub(crate) functions: Vec<(usize, &'a str)>,
    /// Whether the tool can have a beginning: `invoke`, the older API, or something that the script returns.
    pub(crate) begins: bool,
}

impl<'a> Outline<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut outline = Self::default();
        let (mut at, mut before) = (0, "");
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let word = rest.get(..name_length(rest)).unwrap_or_default();
            at += match (passed(rest), word) {
                (Some(length), _) => length,
                (None, "") => {
                    let sign = rest.chars().next().map_or(1, char::len_utf8);
                    let shown = rest.get(..sign).unwrap_or_default();
                    before = if shown.trim().is_empty() { before } else { shown };
                    sign
                }
                (None, word) => {
                    let starts_line = text
                        .get(..at)
                        .is_none_or(|text| text.is_empty() || text.ends_with('\n'));
                    outline.word(at, word, before, rest, starts_line);
                    before = word;
                    word.len()
                }
            };
        }
        outline
    }

    fn word(&mut self, at: usize, word: &'a str, before: &str, rest: &'a str, starts_line: bool) {
        match word {
            "invoke" | "rt" | "__builtin" => self.begins = true,
            // The body of a function is assumed to be indented; if it is not, a mistake is missed.
            "return" if starts_line => self.begins = true,
            "require" if !matches!(before, "." | ":" | "function") => {
                let name = rest.get(word.len()..).and_then(only_text);
                self.required.extend(name.map(|name| (at, name)));
            }
            _ => {}
        }
        if before == "function" {
            self.functions.push((at, word));
        }
    }
}

fn name_length(rest: &str) -> usize {
    let of_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    rest.find(|sign| !of_name(sign)).unwrap_or(rest.len())
}

/// Returns the length of a comment or a string that begins here.
fn passed(rest: &str) -> Option<usize> {
    if let Some(comment) = rest.strip_prefix("--") {
        let line = rest.find('\n').unwrap_or(rest.len());
        return Some(long(comment).map_or(line, |length| length + 2));
    }
    let quote = rest
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\'' | '`'));
    match quote {
        Some(quote) => Some(quoted(rest, quote)),
        None => long(rest),
    }
}

/// `[==[ … ]==]`.
fn long(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    inner.get(level..)?.strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(rest.find(&end).map_or(rest.len(), |at| at + end.len()))
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, sign) in rest.char_indices().skip(1) {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return at,
            _ if sign == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the one text that a call is given: `("a")`, `'a'`.
fn only_text(after: &str) -> Option<&str> {
    let after = after.trim_start();
    let (inside, bracket) = match after.strip_prefix('(') {
        Some(inside) => (inside.trim_start(), true),
        None => (after, false),
    };
    let quote = inside.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
    let (text, rest) = inside.get(1..)?.split_once(quote)?;
    let whole = !bracket || rest.trim_start().starts_with(')');
    (whole && !text.contains(['\\', '\n'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::Outline;

    #[test]
    fn what_a_script_asks_for_is_seen_and_what_it_only_mentions_is_not() {
        let text = "local a = require(\"a\")\nlocal b = require 'b/c'\n-- require(\"no\")\n--[==[ require(\"no\") ]==]\n\
                    local s = \"require('no')\" .. [[require('no')]]\nlocal c = require(\"x\" .. name)\nlocal d = t.require('no')\n";
        let required: Vec<&str> = Outline::of(text).required.iter().map(|(_, name)| *name).collect();
        assert_eq!(required, ["a", "b/c"]);
        assert_eq!(Outline::of(text).required.first(), Some(&(10, "a")));
    }

    #[test]
    fn what_can_be_called_is_seen() {
        for begins in [
            "function invoke(ctx) end",
            "rt:output(1)",
            "__builtin.http{}",
            "local function f() end\nreturn f",
            "return { invoke = f }",
        ] {
            assert!(Outline::of(begins).begins, "{begins}");
        }
        let text = "-- invoke\nlocal function invok(ctx)\n  return 'invoke'\nend";
        let outline = Outline::of(text);
        assert!(!outline.begins);
        assert_eq!(outline.functions, [(25, "invok")]);
    }

    #[test]
    fn what_is_cut_off_is_read_to_its_end() {
        for text in [
            "\"a",
            "'a\\",
            "[[a",
            "--[[a",
            "--",
            "require(",
            "require(\"a",
            "`a{",
            "[",
        ] {
            assert!(Outline::of(text).required.is_empty(), "{text}");
        }
    }
}
