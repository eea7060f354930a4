//! Ranks tools by a query: BM25 over the words of names, parameters and descriptions, in which words with the
//! same stem are equal and synonyms are nearly equal.
//!
//! 1. Texts become words at blanks, punctuation and capital letters of `camelCase`; scripts without spaces
//!    become pairs of characters.
//! 2. Words become stems, so that `issues` finds `issue`.
//! 3. The weight of a stem of the query grows with its rarity among the tools.
//! 4. A tool's score is the sum of the weights of the stems that it has. Tools with a score of zero are left
//!    out; tools with equal scores keep their order.
//! 5. A tool whose name is the whole query comes first, whatever its score is.
//!
//! The result depends on the tools and the query alone, so a replay ranks the same.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::ToolSpec;
use serde_json::Value;

/// The saturation of repeated words (BM25's k1)
const SATURATION: f64 = 1.2;
/// The discount of longer texts (BM25's b)
const LENGTH: f64 = 0.6;
/// The weight of a word by its place: in the name, in the name of a parameter, in the description.
const IN_NAME: f64 = 3.0;
const IN_PARAMETER: f64 = 0.8;
const IN_DESCRIPTION: f64 = 1.0;
/// The weight of a synonym.
const NEARLY: f64 = 0.5;
/// Words of a description that count.
const MOST_WORDS: usize = 400;
/// Words of a query that count.
const MOST_QUERY_WORDS: usize = 100;

/// Words that do not describe a tool's function.
const EMPTY: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "need",
    "of", "on", "one", "or", "our", "out", "please", "so", "some", "that", "the", "their", "them", "then",
    "there", "these", "this", "to", "tool", "up", "us", "use", "want", "was", "we", "what", "when", "which",
    "who", "will", "with", "would", "you", "your",
];

/// Groups of synonyms.
const ALIKE: &[&[&str]] = &[
    &[
        "create", "add", "make", "new", "open", "insert", "register", "set",
    ],
    &[
        "delete", "remove", "drop", "erase", "destroy", "clear", "cancel", "rid",
    ],
    &[
        "update", "change", "edit", "modify", "rename", "alter", "adjust", "set", "move",
    ],
    &[
        "list", "show", "get", "fetch", "read", "see", "view", "retrieve", "display", "look", "tell",
    ],
    &["search", "find", "query", "lookup", "locate", "where"],
    &["send", "post", "write", "deliver", "notify", "tell", "publish"],
    &["run", "execute", "start", "launch", "trigger"],
    &["stop", "end", "close", "finish", "kill", "shut"],
    &["email", "mail", "message", "letter", "inbox"],
    &["picture", "image", "photo", "screenshot"],
    &["file", "document", "text"],
    &["folder", "directory"],
    &["meeting", "event", "appointment", "calendar", "slot"],
    &["ticket", "issue", "bug", "problem", "defect"],
    &["pull", "merge", "pr"],
    &["repository", "repo", "project"],
    &["pay", "payment", "charge", "invoice", "bill", "money"],
    &[
        "customer", "client", "user", "person", "contact", "member", "people", "who",
    ],
    &["database", "table", "sql", "row", "record"],
    &["shell", "command", "terminal", "script"],
    &[
        "website", "page", "web", "url", "browser", "link", "site", "address",
    ],
    &["weather", "forecast", "temperature", "rain", "umbrella"],
    &["map", "route", "direction", "location", "place", "drive", "way"],
    &["price", "cost", "quote", "rate"],
    &["deploy", "release", "ship", "rollout"],
    &["log", "error", "crash", "exception", "trace", "failure"],
    &["task", "todo", "reminder", "remind"],
    &["chat", "channel", "conversation"],
    &["song", "music", "track", "playlist"],
    &["trip", "travel", "journey", "flight", "train"],
    &["comment", "reply", "answer", "respond"],
    &["review", "approve", "accept"],
    &["upload", "store", "save", "put"],
    &["convert", "transform", "turn", "exchange", "translate"],
    &[
        "summary",
        "summarize",
        "overview",
        "report",
        "statistic",
        "metric",
    ],
];

/// A tool as weighted stems.
struct ToolWords {
    weights: BTreeMap<String, f64>,
    length: f64,
}

/// The tools that match the query, the best first. Equal ones keep their order.
pub(crate) fn rank<'a>(tools: Vec<&'a ToolSpec>, query: &str) -> Vec<&'a ToolSpec> {
    let documents: Vec<ToolWords> = tools.iter().map(|tool| ToolWords::of(tool)).collect();
    let rarity = rarity(&documents);
    let total: f64 = documents.iter().map(|document| document.length).sum();
    let average = (total / count(documents.len())).max(1.0);
    let mut seen = BTreeSet::new();
    let wanted = stems(query).into_iter().filter(|word| seen.insert(word.clone()));
    let wanted: Vec<Vec<(String, f64)>> = wanted.take(MOST_QUERY_WORDS).map(with_alike).collect();
    let score = |document: &ToolWords| -> f64 {
        let of_word = |words: &Vec<(String, f64)>| {
            let scores = words
                .iter()
                .map(|(word, weight)| weight * document.score(word, &rarity, average));
            scores.fold(0.0, f64::max)
        };
        wanted.iter().map(of_word).sum()
    };
    let asked = query.trim();
    let mut scored: Vec<(f64, &ToolSpec)> = tools
        .into_iter()
        .zip(&documents)
        .map(|(tool, document)| {
            let is_asked = tool.name == asked;
            (if is_asked { f64::MAX } else { score(document) }, tool)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().map(|(_, tool)| tool).collect()
}

impl ToolWords {
    fn of(tool: &ToolSpec) -> Self {
        let mut weights = BTreeMap::new();
        let mut add = |text: &str, weight: f64| {
            for stem in stems(text).into_iter().take(MOST_WORDS) {
                *weights.entry(stem).or_insert(0.0) += weight;
            }
        };
        add(&tool.name, IN_NAME);
        add(&tool.description, IN_DESCRIPTION);
        let parameters = tool.input_schema.get("properties").and_then(Value::as_object);
        for (name, about) in parameters.into_iter().flatten() {
            add(name, IN_PARAMETER);
            let about = about.get("description").and_then(Value::as_str);
            add(about.unwrap_or_default(), IN_PARAMETER / 2.0);
        }
        Self {
            length: weights.values().sum(),
            weights,
        }
    }

    /// Returns the score of one word for this tool.
    fn score(&self, word: &str, rarity: &BTreeMap<String, f64>, average: f64) -> f64 {
        let (Some(weight), Some(rarity)) = (self.weights.get(word), rarity.get(word)) else {
            return 0.0;
        };
        let length = 1.0 - LENGTH + LENGTH * self.length / average;
        rarity * weight * (SATURATION + 1.0) / (weight + SATURATION * length)
    }
}

/// Returns the rarity of each word: the weight by which it distinguishes tools.
fn rarity(documents: &[ToolWords]) -> BTreeMap<String, f64> {
    let mut with_it: BTreeMap<String, usize> = BTreeMap::new();
    for word in documents.iter().flat_map(|document| document.weights.keys()) {
        *with_it.entry(word.clone()).or_default() += 1;
    }
    let all = count(documents.len());
    let of = |with_it: usize| (1.0 + (all - count(with_it) + 0.5) / (count(with_it) + 0.5)).ln();
    with_it.into_iter().map(|(word, n)| (word, of(n))).collect()
}

/// A number of tools or words; there are never so many that one is lost.
fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A stem with its weight, and its synonyms.
fn with_alike(word: String) -> Vec<(String, f64)> {
    let mut words = vec![(word.clone(), 1.0)];
    for group in ALIKE {
        let stems = group.iter().map(|other| stem(other));
        let stems: Vec<String> = stems.collect();
        if stems.contains(&word) {
            let others = stems.into_iter().filter(|other| *other != word);
            words.extend(others.map(|other| (other, NEARLY)));
        }
    }
    words
}

/// The stems of the words of a text: a word ends at any character other than a letter or digit, and before a
/// capital letter in `camelCase`. In scripts without spaces, each pair of neighbouring characters is a word.
fn stems(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let begins = c.is_uppercase() && before.is_lowercase();
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_unspaced(c) {
            if is_unspaced(before) {
                words.push([before, c].iter().collect());
            }
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.push(word);
    let told = words
        .iter()
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()));
    told.map(|word| stem(word)).collect()
}

/// Han, Hiragana, Katakana, Thai.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

/// The stem of an English word in lower case, roughly: `creating`, `created`, `creates` and `create` have
/// one.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    let singular = singular(word);
    let cut = ["ing", "ed", "ion", "or", "er"].iter().find_map(|end| {
        let rest = singular.strip_suffix(end)?;
        let fits = match *end {
            "ion" => rest.ends_with(['t', 's']),
            "or" | "er" => rest.ends_with('t') && rest.len() > 4,
            _ => rest.contains(['a', 'e', 'i', 'o', 'u', 'y']),
        };
        (rest.len() >= 3 && fits).then(|| rest.to_owned())
    });
    let mut stem = cut.unwrap_or(singular);
    let end = &stem.as_bytes()[stem.len().saturating_sub(2)..];
    let is_double = matches!(end, [a, b] if a == b && !b"aeiouls".contains(a));
    if is_double || (stem.len() > 3 && stem.ends_with('e')) {
        stem.pop();
    }
    stem
}

/// A word without the ending of a plural or of a verb in the third person.
fn singular(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() > 1) {
        return format!("{rest}y");
    }
    let hissing = ["ches", "shes", "xes", "zes", "sses"];
    if hissing.iter().any(|end| word.ends_with(end)) {
        return word[..word.len() - 2].to_owned();
    }
    let is_plural = word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    let end = word.len() - usize::from(is_plural);
    word[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["create", "creates", "created", "creating", "creator", "creation"][..],
            &["query", "queries"],
            &["branch", "branches"],
            &["issue", "issues"],
            &["plan", "planned", "planning"],
            &["file", "files"],
        ] {
            let stems: BTreeSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?}: {stems:?}");
        }
        assert_ne!(stem("status"), stem("stat"));
    }

    #[test]
    fn names_are_taken_apart_however_they_are_written() {
        assert_eq!(
            stems("github__createPullRequest v2"),
            ["github", "creat", "pull", "request", "v2"]
        );
        assert_eq!(stems("明天开会"), ["明天", "天开", "开会"]);
    }
}
