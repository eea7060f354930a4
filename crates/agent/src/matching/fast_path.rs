//! The fast path: finds the meaning of an input that equals a pattern or an example, without a model.
//!
//! Literal words take precedence over variables (`play something by [artist]` over `play [title] by
//! [artist]`). A variable takes the words in its place if there is only one reading. A model has to decide if
//! two readings differ, if a rule has references that explain words (`用英语回复我` may have to become `eng`), or
//! if the words of a variable seem to contain another request.

use std::collections::BTreeMap;

use agentx_types::{IntentRule, RULES_VERSION, VarKind};
use serde_json::Value;

use super::answer::{AnswerParser, Finding};
use super::answer_line::{self, is_placeholder};
use super::disambiguation::{InputReading, Spans, decide};
use super::further_requests::{PrecedingChar, rests};
use super::intent::Intent;
use super::template::{TemplatePiece, pieces};
use super::text::{Kana, Plain, is_punctuation};
use super::value::typed;

/// Inputs of more bytes are for a model: nobody writes that much in the words of a pattern.
const MAX_INPUT: usize = 2_048;
/// Represents variables while a pattern is normalized; patterns with such characters are for a model.
const FIRST_PLACE: u32 = 0xE000;
const LAST_PLACE: u32 = 0xE0FF;

/// The patterns of some rules, prepared to be found.
#[derive(Clone, Debug, Default)]
pub struct FastPath {
    /// The meanings of inputs that are word for word a pattern or an example.
    whole: BTreeMap<String, Meaning>,
    templates: Vec<Template>,
    /// Templates by the words that they begin with.
    by_first: WordIndex,
    /// Templates that begin with a variable, by the words that they end with.
    by_last: WordIndex,
    /// Templates that begin and end with a variable.
    open: Vec<usize>,
    /// The change of the kana by a following mark.
    kana: Kana,
}

/// Templates by the words at one of their ends.
#[derive(Clone, Debug, Default)]
struct WordIndex {
    places: BTreeMap<String, Vec<usize>>,
    /// Bytes of the longest of these words.
    longest: usize,
}

impl WordIndex {
    /// Records that the template at `index` ends with these words.
    fn add(&mut self, words: &str, index: usize) {
        self.longest = self.longest.max(words.len());
        self.places.entry(words.to_owned()).or_default().push(index);
    }

    /// The templates with one of `ends`, which become longer and longer.
    fn lookup<'a>(&'a self, ends: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a usize> {
        ends.take_while(|end| end.len() <= self.longest)
            .filter_map(|end| self.places.get(end))
            .flatten()
    }
}

/// The meaning of words: the same in all rules, or different in two of them.
#[derive(Clone, Debug)]
enum Meaning {
    One(Vec<Intent>),
    Several,
}

/// A pattern with variables.
#[derive(Clone, Debug)]
struct Template {
    /// The words around the variables: one more than those. Only the first and the last may be empty.
    words: Vec<String>,
    vars: Vec<VarKind>,
    rule: String,
    /// The variables with their values.
    args: Vec<(String, Filled)>,
}

/// The value of a variable.
#[derive(Clone, Debug)]
enum Filled {
    /// The same for every input.
    With(Value),
    /// The words of the variable with this place.
    By(usize),
}

/// The way in which an input fits a template.
enum Fit {
    Not,
    As(InputReading),
    /// In more than one way.
    Somehow,
}

impl FastPath {
    /// Prepares the patterns and examples of `rules`. Those that only a model can read are left out.
    pub fn new(rules: &[IntentRule]) -> Self {
        Self::of_version(rules, RULES_VERSION)
    }

    /// The same for an agent with this version of the rules.
    pub(crate) fn of_version(rules: &[IntentRule], version: u32) -> Self {
        let mut path = Self {
            kana: Kana::of_version(version),
            ..Self::default()
        };
        for rule in rules {
            for pattern in &rule.patterns {
                let output = pattern
                    .output
                    .as_deref()
                    .filter(|output| !output.trim().is_empty());
                path.add_pattern(rules, rule, &pattern.input, output);
            }
            for example in &rule.examples {
                if let (Some(input), Some(output)) = (&example.input, &example.output) {
                    path.add_whole(input, parse_output(rules, output));
                }
            }
        }
        path
    }

    /// The meaning of `input`, in order; `None` if a model has to find it.
    pub fn find(&self, input: &str) -> Option<Vec<Intent>> {
        if input.len() > MAX_INPUT {
            return None;
        }
        let plain = Plain::new(input, self.kana);
        if let Some(meaning) = self.whole.get(&plain.text) {
            return match meaning {
                Meaning::One(intents) => Some(intents.clone()),
                Meaning::Several => None,
            };
        }
        let text = plain.text.as_str();
        let beginnings = text
            .char_indices()
            .filter_map(|(at, c)| text.get(..at + c.len_utf8()));
        let ends = text.char_indices().rev().filter_map(|(at, _)| text.get(at..));
        let by_words = self.by_first.lookup(beginnings).chain(self.by_last.lookup(ends));
        let mut readings = Vec::new();
        for index in by_words.chain(&self.open) {
            match self.templates.get(*index)?.fit(&plain, input) {
                Fit::Not => {}
                Fit::As(reading) => readings.push(reading),
                Fit::Somehow => return None,
            }
        }
        let reading = decide(readings).filter(|reading| !self.asks_more(text, reading))?;
        Some(vec![reading.intent])
    }

    /// Returns whether the words of a variable contain another request.
    fn asks_more(&self, text: &str, reading: &InputReading) -> bool {
        let variables = reading.spans.iter().zip(&reading.kinds);
        let words = variables.filter(|(_, kind)| **kind == VarKind::String);
        let mut rests = words
            .filter_map(|((from, to), _)| text.get(*from..*to))
            .flat_map(rests);
        rests.any(|(before, rest)| self.asks(before, rest))
    }

    /// Returns whether the rest of a variable's words is a request, if the words before allow that.
    fn asks(&self, before: PrecedingChar, rest: &str) -> bool {
        if self.whole.contains_key(rest) && before.allows_whole(rest) {
            return true;
        }
        let beginnings = rest
            .char_indices()
            .filter_map(|(at, c)| rest.get(..at + c.len_utf8()));
        let beginnings = beginnings.filter(|words| before.allows(words));
        let mut templates = self
            .by_first
            .lookup(beginnings)
            .filter_map(|index| self.templates.get(*index));
        templates.any(|template| !matches!(template.fit(&Plain::new(rest, self.kana), rest), Fit::Not))
    }

    /// Adds literal words. Two meanings of the same words are for a model.
    fn add_whole(&mut self, input: &str, meaning: Option<Vec<Intent>>) {
        let plain = Plain::new(input, self.kana).text;
        let (Some(meaning), false) = (meaning, plain.is_empty()) else {
            return;
        };
        self.whole
            .entry(plain)
            .and_modify(|there| {
                if !matches!(there, Meaning::One(other) if *other == meaning) {
                    *there = Meaning::Several;
                }
            })
            .or_insert_with(|| Meaning::One(meaning.clone()));
    }

    /// A pattern: literal if it has no variables, otherwise a template.
    fn add_pattern(&mut self, rules: &[IntentRule], rule: &IntentRule, input: &str, output: Option<&str>) {
        let pieces = pieces(rule, input);
        if pieces
            .iter()
            .all(|piece| matches!(piece, TemplatePiece::Words(_)))
        {
            let meaning = match output {
                Some(output) => parse_output(rules, output),
                None => Some(vec![Intent::new(rule.name.clone())]),
            };
            self.add_whole(input, meaning);
        } else if let Some(template) = Template::new(rules, rule, &pieces, (output, self.kana)) {
            let index = self.templates.len();
            match (template.words.first(), template.words.last()) {
                (Some(first), _) if !first.is_empty() => self.by_first.add(first, index),
                (_, Some(last)) if !last.is_empty() => self.by_last.add(last, index),
                _ => self.open.push(index),
            }
            self.templates.push(template);
        }
    }
}

/// The meaning of written lines; `None` if a line names no rule, or has parts for which the rule has no
/// place.
fn parse_output(rules: &[IntentRule], output: &str) -> Option<Vec<Intent>> {
    let (mut parser, mut found) = (AnswerParser::default(), Vec::new());
    parser.feed(rules, output, &mut found);
    parser.finish(rules, &mut found);
    let whole = |finding| match finding {
        Finding::Intent(intent) if intent.notes.is_empty() => Some(intent),
        _ => None,
    };
    let intents: Option<Vec<Intent>> = found.into_iter().map(whole).collect();
    intents.filter(|intents| !intents.is_empty())
}

impl Template {
    /// `None` if only a model can read the pattern.
    fn new(
        rules: &[IntentRule],
        rule: &IntentRule,
        pieces: &[TemplatePiece<'_>],
        (output, kana): (Option<&str>, Kana),
    ) -> Option<Self> {
        let mut names: Vec<&str> = Vec::new();
        let mut marked = String::new();
        for piece in pieces {
            match piece {
                TemplatePiece::Words(words) if words.chars().any(is_place) => return None,
                TemplatePiece::Words(words) => marked.push_str(words),
                TemplatePiece::Var(name) if !names.contains(name) => {
                    marked.push(place(names.len())?);
                    names.push(name);
                }
                TemplatePiece::Var(_) | TemplatePiece::Undeclared(_) | TemplatePiece::Hint(_) => return None,
            }
        }
        let words: Vec<String> = Plain::new(&marked, kana)
            .text
            .split(is_place)
            .map(str::to_owned)
            .collect();
        let inner = words.get(1..words.len().saturating_sub(1))?;
        if inner.iter().any(String::is_empty) || words.iter().all(|words| words.trim().is_empty()) {
            return None;
        }
        let kinds: Option<Vec<VarKind>> = names.iter().map(|name| Some(rule.var(name)?.kind)).collect();
        let vars = kinds.filter(|kinds| rule.references.is_empty() || !kinds.contains(&VarKind::String))?;
        let (rule, args) = resolve_pattern(rules, rule, &names, output)?;
        Some(Self {
            words,
            vars,
            rule,
            args,
        })
    }

    /// Compares an input with the template: its words, then the kind of each variable.
    fn fit(&self, plain: &Plain, input: &str) -> Fit {
        let text = plain.text.as_str();
        let places = match self.places(text) {
            Some((first, last)) if first == last => first,
            Some(_) => return Fit::Somehow,
            None => return Fit::Not,
        };
        let mut values = Vec::with_capacity(self.vars.len());
        for (kind, (from, to)) in self.vars.iter().zip(&places) {
            let is_edge = |c: char| c.is_whitespace() || is_punctuation(c);
            let words = plain.original(input, *from, *to).trim_matches(is_edge);
            match typed(*kind, words).filter(|_| !words.is_empty()) {
                Some(value) => values.push(value),
                None => return Fit::Not,
            }
        }
        let mut intent = Intent::new(self.rule.clone());
        for (name, filled) in &self.args {
            let value = match filled {
                Filled::With(value) => Some(value),
                Filled::By(index) => values.get(*index),
            };
            if let Some(value) = value {
                intent.args.insert(name.clone(), value.clone());
            }
        }
        Fit::As(InputReading {
            intent,
            spans: places,
            kinds: self.vars.clone(),
        })
    }

    /// The places of the variables with the words between them as early as possible, and as late as possible:
    /// equal if there is only one reading.
    fn places(&self, text: &str) -> Option<(Spans, Spans)> {
        let (first, rest) = self.words.split_first()?;
        let (last, between) = rest.split_last()?;
        let end = text
            .strip_prefix(first.as_str())?
            .strip_suffix(last.as_str())?
            .len()
            + first.len();
        let mut early = Vec::with_capacity(self.vars.len());
        let mut from = first.len();
        for words in between {
            let (at, after) = find(text, next(text, from, end)?, end, words)?;
            early.push((from, at));
            from = after;
        }
        next(text, from, end)?;
        early.push((from, end));
        let mut late = vec![(first.len(), end); self.vars.len()];
        let mut to = end;
        for (index, words) in between.iter().enumerate().rev() {
            let room = text.get(..to)?.char_indices().next_back()?.0;
            let at = first.len() + text.get(first.len()..room)?.rfind(words.as_str())?;
            late.get_mut(index + 1)?.0 = at + words.len();
            late.get_mut(index)?.1 = at;
            to = at;
        }
        Some((early, late))
    }
}

/// Returns the position after the character at `from`, if there is one.
fn next(text: &str, from: usize, end: usize) -> Option<usize> {
    Some(from + text.get(from..end)?.chars().next()?.len_utf8())
}

/// The first place of `words` in `text[from..end]`, from and to.
fn find(text: &str, from: usize, end: usize, words: &str) -> Option<(usize, usize)> {
    let at = from + text.get(from..end)?.find(words)?;
    Some((at, at + words.len()))
}

/// Returns the rule of a pattern with variables, and the values to fill in.
fn resolve_pattern(
    rules: &[IntentRule],
    rule: &IntentRule,
    names: &[&str],
    output: Option<&str>,
) -> Option<(String, Vec<(String, Filled)>)> {
    let Some(output) = output else {
        let by = |(index, name): (usize, &&str)| ((*name).to_owned(), Filled::By(index));
        return Some((rule.name.clone(), names.iter().enumerate().map(by).collect()));
    };
    let line = answer_line::take_apart(rules, output).filter(|line| line.stray.is_empty())?;
    let mut args: Vec<(String, Filled)> = Vec::new();
    for pair in line.pairs {
        let kind = line.rule.var(&pair.key)?.kind;
        let is_of = |name: &&str| {
            rule.var(name)
                .is_some_and(|var| is_placeholder(&pair.words, name, &var.label))
        };
        let filled = match names.iter().position(is_of) {
            Some(index) if rule.var(names.get(index)?)?.kind == kind => Filled::By(index),
            Some(_) => return None,
            None if pair.words.starts_with('[') => return None,
            None => Filled::With(typed(kind, &pair.words)?),
        };
        if args.iter().any(|(name, _)| *name == pair.key) {
            return None;
        }
        args.push((pair.key, filled));
    }
    Some((line.rule.name.clone(), args))
}

fn is_place(c: char) -> bool {
    (FIRST_PLACE..=LAST_PLACE).contains(&u32::from(c))
}

/// The mark for the variable with this index; `None` if there are too many.
fn place(index: usize) -> Option<char> {
    let place = FIRST_PLACE.checked_add(u32::try_from(index).ok()?)?;
    char::from_u32(place).filter(|c| is_place(*c))
}
