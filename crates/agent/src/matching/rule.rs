//! Mistakes in rules: names that an answer cannot hold, variables that are not declared, words that are
//! empty.
//!
//! A reader of rule files calls [`mistakes`] and adds the place of each one in the file. All mistakes are
//! reported together.
//!
//! | part | must not |
//! | --- | --- |
//! | name of a rule | be empty or taken, begin or end with a blank, hold `:`, `=`, a comma or a line break |
//! | name of a variable | be empty or taken, hold blanks, brackets, quotes or those marks |
//! | label of a variable | hold brackets or a line break |
//! | pattern | be empty, hold a line break, name a variable that the rule has not |
//! | example | be empty |

use std::fmt;

use agentx_types::{IntentRule, IntentVar};

use super::template::{TemplatePiece, pieces};

/// An error in a rule. Its `Display` counts rules and parts from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleMistake {
    /// The index of the rule, from 0.
    pub rule: usize,
    /// The part of it that is wrong.
    pub part: RulePart,
    /// The error as text, with advice.
    pub reason: String,
}

/// A part of a rule, by its index in it, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePart {
    /// The name of the rule.
    Name,
    /// A variable.
    Var(usize),
    /// A pattern.
    Pattern(usize),
    /// An example.
    Example(usize),
}

impl fmt::Display for RuleMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.rule + 1;
        match self.part {
            RulePart::Name => write!(f, "rule {number}, its name: {}", self.reason),
            RulePart::Var(at) => write!(f, "rule {number}, variable {}: {}", at + 1, self.reason),
            RulePart::Pattern(at) => write!(f, "rule {number}, pattern {}: {}", at + 1, self.reason),
            RulePart::Example(at) => write!(f, "rule {number}, example {}: {}", at + 1, self.reason),
        }
    }
}

/// The errors in `rules`, in their order; empty if they can be used.
///
/// ```
/// use agentx_agent::matching::{RulePart, mistakes};
/// use agentx_types::IntentRule;
///
/// let found = mistakes(&[IntentRule { name: " ".into(), ..IntentRule::default() }]);
/// assert_eq!((found[0].rule, found[0].part), (0, RulePart::Name));
/// assert!(found[0].to_string().starts_with("rule 1, its name: it is empty"));
/// ```
pub fn mistakes(rules: &[IntentRule]) -> Vec<RuleMistake> {
    let mut found = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let mut check = RuleChecker {
            rule: at,
            found: &mut found,
        };
        check.name(rule, rules.get(..at).unwrap_or_default());
        for (index, var) in rule.vars.iter().enumerate() {
            check.var(index, var, rule.vars.get(..index).unwrap_or_default());
        }
        check.patterns(rule);
        check.examples(rule);
    }
    found
}

/// Checks one rule, and collects its errors.
struct RuleChecker<'a> {
    rule: usize,
    found: &'a mut Vec<RuleMistake>,
}

impl RuleChecker<'_> {
    /// Adds an error.
    fn wrong(&mut self, part: RulePart, reason: impl Into<String>) {
        self.found.push(RuleMistake {
            rule: self.rule,
            part,
            reason: reason.into(),
        });
    }

    /// Checks the name; `before` are the rules before this one.
    fn name(&mut self, rule: &IntentRule, before: &[IntentRule]) {
        let name = rule.name.as_str();
        if name.trim().is_empty() {
            self.wrong(RulePart::Name, "it is empty; each rule needs a name of its own");
        } else if name.trim() != name {
            self.wrong(
                RulePart::Name,
                format!("{name:?} begins or ends with white space"),
            );
        } else if let Some(c) = name.chars().find(|c| is_mark(*c)) {
            let reason = format!("{name:?} has {c:?} in it, which has a meaning of its own in answers");
            self.wrong(RulePart::Name, reason);
        }
        if let Some(first) = before.iter().position(|other| other.name == name) {
            let reason = format!("{name:?} is the name of rule {} already", first + 1);
            self.wrong(RulePart::Name, reason);
        }
    }

    /// Checks a variable; `before` are those of the rule before it.
    fn var(&mut self, index: usize, var: &IntentVar, before: &[IntentVar]) {
        let part = RulePart::Var(index);
        let name = var.name.as_str();
        let is_odd = |c: char| c.is_whitespace() || is_mark(c) || "[]\"'".contains(c);
        if name.is_empty() {
            self.wrong(part, "its name is empty");
        } else if let Some(c) = name.chars().find(|c| is_odd(*c)) {
            self.wrong(
                part,
                format!("the name {name:?} has {c:?} in it, which answers cannot hold"),
            );
        }
        if before.iter().any(|other| other.name == name) {
            self.wrong(part, format!("{name:?} is declared twice"));
        }
        if let Some(c) = var.label.chars().find(|c| "[]\n\r".contains(*c)) {
            let label = &var.label;
            self.wrong(
                part,
                format!("the label {label:?} of {name:?} has {c:?} in it; write it without"),
            );
        }
    }

    /// Checks the patterns: each has words, in one line, and no variable that is not declared.
    fn patterns(&mut self, rule: &IntentRule) {
        for (index, pattern) in rule.patterns.iter().enumerate() {
            let part = RulePart::Pattern(index);
            let output = pattern.output.as_deref().unwrap_or_default();
            if pattern.input.trim().is_empty() {
                self.wrong(part, "it is empty");
            }
            if [pattern.input.as_str(), output].concat().contains(['\n', '\r']) {
                self.wrong(part, "it has a line break in it; write one pattern for each line");
            }
            for piece in pieces(rule, &pattern.input) {
                if let TemplatePiece::Undeclared(name) = piece {
                    self.wrong(part, undeclared(rule, name));
                }
            }
        }
    }

    /// Checks the examples: each has an input, or else a word of advice.
    fn examples(&mut self, rule: &IntentRule) {
        for (index, example) in rule.examples.iter().enumerate() {
            let part = RulePart::Example(index);
            let input = example.input.as_deref();
            if input.is_some_and(|input| input.trim().is_empty()) {
                self.wrong(part, "what a person says is empty");
            } else if input.is_none() && example.subject.trim().is_empty() {
                self.wrong(part, "it is empty");
            }
        }
    }
}

/// Returns whether the character separates the parts of an answer's line.
fn is_mark(c: char) -> bool {
    ":：=＝,，\n\r".contains(c)
}

/// The words for a variable that is not declared, with those that are.
fn undeclared(rule: &IntentRule, name: &str) -> String {
    let names: Vec<&str> = rule.vars.iter().map(|var| var.name.as_str()).collect();
    if names.is_empty() {
        format!("[{name}] is not declared: the rule has no variables; add {name:?} to its vars")
    } else {
        format!(
            "[{name}] is not declared; the rule's variables are {}",
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{IntentExample, IntentPattern, VarKind};

    use super::*;

    fn rule(name: &str) -> IntentRule {
        IntentRule {
            name: name.into(),
            ..IntentRule::default()
        }
    }

    fn var(name: &str, label: &str) -> IntentVar {
        IntentVar {
            name: name.into(),
            label: label.into(),
            kind: VarKind::String,
        }
    }

    fn pattern(input: &str, output: Option<&str>) -> IntentPattern {
        IntentPattern {
            input: input.into(),
            output: output.map(str::to_owned),
        }
    }

    fn found(rules: &[IntentRule]) -> Vec<String> {
        mistakes(rules).iter().map(RuleMistake::to_string).collect()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let mut first = rule("a");
        first.vars = vec![var("x", "甲"), var("x y", "a[b]"), var("x", ""), var("", "")];
        first.patterns = vec![
            pattern("do [x] with [y]", None),
            pattern("[其他]", None),
            pattern("one\ntwo", None),
            pattern("one", Some("a\nb")),
            pattern(" ", None),
        ];
        let example = |subject: &str, input: Option<&str>| IntentExample {
            subject: subject.into(),
            input: input.map(str::to_owned),
            output: None,
        };
        first.examples = vec![example("s", None), example("s", Some(" ")), example("", None)];
        assert_eq!(
            found(&[first, rule("a"), rule(""), rule(" b"), rule("c:d")]),
            [
                "rule 1, variable 2: the name \"x y\" has ' ' in it, which answers cannot hold",
                "rule 1, variable 2: the label \"a[b]\" of \"x y\" has '[' in it; write it without",
                "rule 1, variable 3: \"x\" is declared twice",
                "rule 1, variable 4: its name is empty",
                "rule 1, pattern 1: [y] is not declared; the rule's variables are x, x y, x, ",
                "rule 1, pattern 3: it has a line break in it; write one pattern for each line",
                "rule 1, pattern 4: it has a line break in it; write one pattern for each line",
                "rule 1, pattern 5: it is empty",
                "rule 1, example 2: what a person says is empty",
                "rule 1, example 3: it is empty",
                "rule 2, its name: \"a\" is the name of rule 1 already",
                "rule 3, its name: it is empty; each rule needs a name of its own",
                "rule 4, its name: \" b\" begins or ends with white space",
                "rule 5, its name: \"c:d\" has ':' in it, which has a meaning of its own in answers",
            ]
        );
        assert!(found(&[rule("a"), rule("b")]).is_empty());
    }
}
