//! The words of a pattern, split at its variables: `play [title] by [artist]`.
//!
//! The fast path makes templates of the pieces, the prompt shows them to a model, and `mistakes` finds
//! variables that are not declared. All three parse a pattern with this code.
//!
//! | in brackets | piece |
//! | --- | --- |
//! | the name of a variable of the rule | `Var` |
//! | another word that could be a name | `Undeclared`: a mistake |
//! | anything else, such as `[a number of songs]` | `Hint`: only a model understands it |

use agentx_types::IntentRule;

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePiece<'a> {
    /// Literal words.
    Words(&'a str),
    /// `[name]`, if the rule has such a variable.
    Var(&'a str),
    /// `[name]`, if it has none but the name could be one.
    Undeclared(&'a str),
    /// `[any other words]`: a hint that only a model understands.
    Hint(&'a str),
}

/// The pieces of a pattern, in order. A bracket that is not closed is a word.
pub(crate) fn pieces<'a>(rule: &IntentRule, pattern: &'a str) -> Vec<TemplatePiece<'a>> {
    let mut pieces = Vec::new();
    let mut words = 0;
    let mut at = 0;
    while let Some((open, close)) = next_bracket(pattern, at) {
        at = close + 1;
        let name = pattern.get(open + 1..close).unwrap_or_default();
        if let Some(before) = pattern.get(words..open).filter(|before| !before.is_empty()) {
            pieces.push(TemplatePiece::Words(before));
        }
        words = at;
        let name = name.trim();
        pieces.push(if rule.var(name).is_some() {
            TemplatePiece::Var(name)
        } else if is_name(name) {
            TemplatePiece::Undeclared(name)
        } else {
            TemplatePiece::Hint(name)
        });
    }
    if let Some(rest) = pattern.get(words..).filter(|rest| !rest.is_empty()) {
        pieces.push(TemplatePiece::Words(rest));
    }
    pieces
}

/// The next `[…]` from `from` on: the places of both brackets. Closing brackets that nothing opened are
/// ignored.
fn next_bracket(pattern: &str, mut from: usize) -> Option<(usize, usize)> {
    loop {
        let close = from + pattern.get(from..)?.find(']')?;
        if let Some(open) = pattern.get(from..close)?.rfind('[') {
            return Some((from + open, close));
        }
        from = close + 1;
    }
}

/// Returns whether a variable may be called so: a letter or `_`, then letters, digits and `_`, all ASCII.
/// Other words in brackets are hints.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The output of a pattern without an explicit one: its rule, with the pattern's variables, each by its
/// label.
pub(crate) fn usual_output(rule: &IntentRule, pattern: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for piece in pieces(rule, pattern) {
        if let TemplatePiece::Var(name) = piece
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let label = |name: &str| rule.var(name).map_or("", |var| var.label.as_str());
    let args: Vec<String> = names
        .iter()
        .map(|name| format!("{name}=[{}]", label(name)))
        .collect();
    if args.is_empty() {
        rule.name.clone()
    } else {
        format!("{}: {}", rule.name, args.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{IntentVar, VarKind};

    use super::*;

    fn rule() -> IntentRule {
        let var = |name: &str, label: &str| IntentVar {
            name: name.into(),
            label: label.into(),
            kind: VarKind::String,
        };
        IntentRule {
            name: "r".into(),
            vars: vec![var("a", "甲"), var("名", "乙")],
            ..IntentRule::default()
        }
    }

    #[test]
    fn patterns_come_apart_at_brackets() {
        use TemplatePiece::*;
        let cases: [(&str, &[TemplatePiece<'_>]); 8] = [
            ("x [a] y", &[Words("x "), Var("a"), Words(" y")]),
            ("[a][名]", &[Var("a"), Var("名")]),
            ("[b]", &[Undeclared("b")]),
            ("你好 [其他名字]", &[Words("你好 "), Hint("其他名字")]),
            ("a ] b [a]", &[Words("a ] b "), Var("a")]),
            ("[[a]", &[Words("["), Var("a")]),
            ("[a", &[Words("[a")]),
            ("", &[]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(pieces(&rule(), pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_means_its_variables() {
        let cases = [("hi", "r"), ("[名] of [a] [a]", "r: 名=[乙], a=[甲]")];
        for (pattern, output) in cases {
            assert_eq!(usual_output(&rule(), pattern), output);
        }
    }
}
