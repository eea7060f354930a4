//! A line of an answer: `rule: name=value, name=value`, in any of the forms that models write.
//!
//! Models put list marks and emphasis around lines, write commas and colons in full width, quote values or
//! not, and write a comma into a value without quotes. All of that is read in one way:
//!
//! 1. marks around the line are removed, and the text before the first colon names a rule, regardless of its
//!    width and case;
//! 2. the rest is cut at commas outside of quotes;
//! 3. a piece with `name=` begins a variable, and one without continues with the value before it;
//! 4. quotes around a whole value are removed, and `\"`, `\\`, `\n` and `\t` in it are read.
//!
//! Outputs of patterns and examples in rules are read in this way too, so that a rule can be written as a
//! model answers.

use agentx_types::IntentRule;
use serde_json::Value;

use super::intent::{Intent, MatchNote};
use super::text::folded;
use super::value::typed;

/// A variable and its words, as in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VariableWords {
    /// The variable's own name if the rule has it, otherwise the name as written.
    pub(crate) key: String,
    /// The words, without quotes around them.
    pub(crate) words: String,
}

/// A line that names a rule.
pub(crate) struct RuleLine<'a> {
    /// The rule that it names.
    pub(crate) rule: &'a IntentRule,
    /// The variables that it fills in, in order; one may come twice.
    pub(crate) pairs: Vec<VariableWords>,
    /// Words before the first pair.
    pub(crate) stray: String,
}

/// Parses a line; `None` if it names no rule.
pub(crate) fn take_apart<'a>(rules: &'a [IntentRule], line: &str) -> Option<RuleLine<'a>> {
    let line = line.trim();
    let bare = unmarked(line);
    for candidate in [line, bare] {
        let (name, rest) = candidate.split_once([':', '：']).unwrap_or((candidate, ""));
        if let Some(rule) = named(rules, name) {
            return Some(with_args(rule, rest.trim().trim_end_matches('`')));
        }
    }
    None
}

/// The intent that a line states; `None` if it names no rule.
///
/// A variable with no words, or with its own label in brackets, is not filled in. Words that are not a value
/// of the variable's kind stay words, with a note.
pub(crate) fn intent(rules: &[IntentRule], line: &str) -> Option<Intent> {
    let line = take_apart(rules, line)?;
    let mut intent = Intent::new(line.rule.name.clone());
    if !line.stray.is_empty() {
        intent.notes.push(MatchNote::Stray { text: line.stray });
    }
    for VariableWords { key, words } in line.pairs {
        let Some(var) = line.rule.var(&key) else {
            intent.notes.push(MatchNote::UnknownKey { key, value: words });
            continue;
        };
        if words.is_empty() || is_placeholder(&words, &key, &var.label) {
            continue;
        }
        if intent.args.contains_key(&key) {
            intent.notes.push(MatchNote::Again { key, value: words });
            continue;
        }
        let value = typed(var.kind, &words).unwrap_or_else(|| {
            let kind = var.kind;
            intent.notes.push(MatchNote::NotOfKind {
                key: key.clone(),
                kind,
            });
            Value::String(words)
        });
        intent.args.insert(key, value);
    }
    Some(intent)
}

/// Returns whether the words are a placeholder for a variable without a value: `[its label]` or `[its name]`.
pub(crate) fn is_placeholder(words: &str, name: &str, label: &str) -> bool {
    let inner = words.strip_prefix('[').and_then(|words| words.strip_suffix(']'));
    inner.is_some_and(|inner| inner == name || inner == label)
}

/// A line without the marks of lists and quotations before it, and without those of emphasis and code around
/// it.
pub(crate) fn unmarked(line: &str) -> &str {
    const MARKS: &[char] = &[
        '-', '*', '+', '>', '•', '·', '–', '—', '`', '_', '#', ' ', '\t', '　',
    ];
    let line = line.trim_start_matches(MARKS);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits
        .strip_prefix(['.', ')', '、', '）', '．'])
        .filter(|_| digits.len() < line.len());
    numbered.unwrap_or(line).trim_matches(MARKS)
}

/// The rule with this name. A name that is exact counts first; then width, case and marks of emphasis do not
/// matter.
fn named<'a>(rules: &'a [IntentRule], name: &str) -> Option<&'a IntentRule> {
    const AROUND: &[char] = &['*', '`', '_', '"', '\'', '“', '”', ' ', '\t', '　'];
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let exact = |name: &str| rules.iter().find(|rule| rule.name == name);
    exact(name)
        .or_else(|| exact(name.trim_matches(AROUND)))
        .or_else(|| {
            let name = folded(name.trim_matches(AROUND));
            rules.iter().find(|rule| folded(&rule.name) == name)
        })
}

/// Reads the text after the rule's name.
fn with_args<'a>(rule: &'a IntentRule, args: &str) -> RuleLine<'a> {
    let mut line = RuleLine {
        rule,
        pairs: Vec::new(),
        stray: String::new(),
    };
    let mut raw: Vec<VariableWords> = Vec::new();
    let mut rest = args;
    let mut separator = "";
    loop {
        let (piece, found, after) = next_piece(rest);
        match assignment(rule, piece) {
            Some((key, words)) => raw.push(VariableWords {
                key,
                words: words.to_owned(),
            }),
            // A piece that assigns nothing continues with the value before it.
            None => {
                let open = raw.last_mut().map_or(&mut line.stray, |pair| &mut pair.words);
                open.push_str(separator);
                open.push_str(piece);
            }
        }
        if found.is_empty() {
            break;
        }
        (separator, rest) = (found, after);
    }
    line.stray = line.stray.trim_matches(is_blank_or_comma).to_owned();
    line.pairs.extend(raw.into_iter().map(|pair| VariableWords {
        key: pair.key,
        words: unquoted(pair.words.trim_matches(is_blank_or_comma)),
    }));
    line
}

/// Returns whether the character may surround words without being part of them.
fn is_blank_or_comma(c: char) -> bool {
    c.is_whitespace() || is_comma(c)
}

/// Returns whether the character separates pairs, in either width.
fn is_comma(c: char) -> bool {
    matches!(c, ',' | '，')
}

/// The name and the words of `name=words`; `None` if the piece has no `=`, or the text before it cannot be a
/// name.
fn assignment<'a>(rule: &IntentRule, piece: &'a str) -> Option<(String, &'a str)> {
    let (key, words) = piece.split_once(['=', '＝'])?;
    let key = key.trim().trim_matches(['"', '\'', '`', '*', '“', '”']).trim();
    if rule.var(key).is_some() {
        return Some((key.to_owned(), words));
    }
    let same = folded(key);
    let mut vars = rule.vars.iter();
    if let Some(var) = vars.find(|var| folded(&var.name) == same || var.label == key) {
        return Some((var.name.clone(), words));
    }
    let is_name = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    is_name.then(|| (key.to_owned(), words))
}

/// Splits at the first comma outside of quotes: the text before it, the comma, the text after it.
fn next_piece(text: &str) -> (&str, &str, &str) {
    let mut at_value = false;
    let mut from = 0;
    while let Some(c) = text.get(from..).and_then(|rest| rest.chars().next()) {
        let end = from + c.len_utf8();
        if is_comma(c) {
            let (before, rest) = text.split_at(from);
            let (comma, after) = rest.split_at(c.len_utf8());
            return (before, comma, after);
        }
        let quoted = closing(c)
            .filter(|_| at_value)
            .and_then(|close| quoted_until(text, end, close));
        at_value = matches!(c, '=' | '＝') || (at_value && c.is_whitespace());
        from = quoted.unwrap_or(end);
    }
    (text, "", "")
}

/// The quote that closes `open`.
fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '＂' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        '「' => Some('」'),
        _ => None,
    }
}

/// The place behind the quotation that began before `from`: behind the first `close` that only blanks
/// separate from a comma or the end. `None` if it never ends; then its quote was a character as any other.
fn quoted_until(text: &str, mut from: usize, close: char) -> Option<usize> {
    loop {
        let c = text.get(from..)?.chars().next()?;
        from += c.len_utf8();
        if c == '\\' {
            from += text.get(from..)?.chars().next()?.len_utf8();
        } else if c == close {
            let mut after = text.get(from..)?.chars().skip_while(|c| c.is_whitespace());
            if after.next().is_none_or(is_comma) {
                return Some(from);
            }
        }
    }
}

/// The words without quotes around all of them; otherwise the words unchanged.
fn unquoted(words: &str) -> String {
    let mut chars = words.chars();
    let close = chars.next().and_then(closing);
    let (Some(close), Some(last)) = (close, chars.next_back()) else {
        return words.to_owned();
    };
    if last != close {
        return words.to_owned();
    }
    let mut inner = String::with_capacity(words.len());
    let mut escaped = false;
    for c in chars {
        if !escaped && c == '\\' {
            escaped = true;
            continue;
        }
        match (std::mem::take(&mut escaped), c) {
            (true, 'n') => inner.push('\n'),
            (true, 't') => inner.push('\t'),
            (true, c) if c != '\\' && c != '"' && c != '\'' && c != close => inner.extend(['\\', c]),
            (_, c) => inner.push(c),
        }
    }
    if escaped {
        inner.push('\\');
    }
    inner
}
