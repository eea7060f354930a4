//! Tools that are not the program's own: if an input names one, it is called, with the arguments that can be
//! read from plain words. This lets people try a custom agent without a model.
//!
//! Arguments are taken from the first of these that gives any:
//!
//! 1. a JSON object anywhere after the name: `weather {"city": "Rome"}`;
//! 2. assignments: `weather city=Rome days=3`, or with quotes `city="New York"`;
//! 3. plain words for the required arguments, in the order of the schema: a choice that is named, the first
//!    number, `true` for a boolean, and the remaining text for the first text argument: `weather for Rome`.
//!
//! Other arguments are left out. The tool then answers that they are missing, as it would to a model.

use agentx_types::ToolSpec;
use serde_json::{Map, Value};

use super::phrase::{unquoted, without_end, without_prefixes};

/// The program's own tools have their own phrases, and are not called by name.
const OWN: &[&str] = &[
    "bash", "job", "read", "write", "edit", "glob", "grep", "todo", "finish", "agents",
];

/// Words between a tool's name and its arguments.
const BETWEEN: &[&str] = &[
    "in", "for", "of", "to", "about", "on", "at", "with", "from", "is", "the", "like",
];

/// The calls in `text`: several if every piece between "and" names a tool.
pub(super) fn calls(text: &str, tools: &[ToolSpec]) -> Vec<(String, Value)> {
    let pieces: Option<Vec<_>> = text.split(" and ").map(|piece| call(piece, tools)).collect();
    pieces
        .or_else(|| Some(vec![call(text, tools)?]))
        .unwrap_or_default()
}

/// The call in one piece. The tool that is named first is called; of two names that begin at the same place,
/// the longer one counts.
fn call(text: &str, tools: &[ToolSpec]) -> Option<(String, Value)> {
    let known = tools.iter().filter(|tool| !OWN.contains(&tool.name.as_str()));
    let found = known.filter_map(|tool| Some((tool, after_name(text, &tool.name)?)));
    // If two names begin at one place, the longer one counts.
    let (tool, rest) =
        found.min_by_key(|(tool, rest)| (usize::MAX - rest.len(), usize::MAX - tool.name.len()))?;
    Some((tool.name.clone(), Value::Object(arguments(rest, tool))))
}

/// Returns the text after a tool's name, if the name is in it as separate words. A space may replace `_` and
/// `-`.
fn after_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let lower = text.to_ascii_lowercase();
    let name = name.to_ascii_lowercase();
    let spoken = name.replace(['_', '-'], " ");
    [name, spoken].iter().find_map(|name| {
        lower.match_indices(name.as_str()).find_map(|(at, _)| {
            let (before, after) = (text.get(..at)?, text.get(at + name.len()..)?);
            let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            (!is_word(before.chars().next_back()) && !is_word(after.chars().next())).then_some(after)
        })
    })
}

/// Arguments as JSON, if there are any; otherwise values from the words for the required ones.
fn arguments(rest: &str, tool: &ToolSpec) -> Map<String, Value> {
    // Words may follow the object.
    let json = rest.find('{').and_then(|at| {
        let mut values = serde_json::Deserializer::from_str(rest.get(at..)?).into_iter::<Value>();
        values.next()?.ok()
    });
    if let Some(Value::Object(arguments)) = json {
        return arguments;
    }
    let written = assignments(rest, tool);
    if !written.is_empty() {
        return written;
    }
    let schema = &tool.input_schema;
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut words = RemainingWords { rest, taken: false };
    let required = required.filter_map(Value::as_str);
    required
        .filter_map(|name| {
            let property = schema.get("properties").and_then(|all| all.get(name))?;
            Some((name.to_owned(), words.value(name, property)?))
        })
        .collect()
}

/// Arguments of the tool that are written as `name=value`, a word each or in quotes.
fn assignments(rest: &str, tool: &ToolSpec) -> Map<String, Value> {
    let mut found = Map::new();
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let assigned = after_name(rest, name).and_then(|after| after.strip_prefix('='));
        let Some(assigned) = assigned else { continue };
        let quote = assigned.chars().next().filter(|sign| ['"', '\''].contains(sign));
        let word = match quote {
            Some(quote) => assigned[1..].split(quote).next(),
            None => assigned.split([' ', ',', '\n']).next(),
        };
        let word = word.unwrap_or_default();
        let is_text = property
            .get("type")
            .and_then(Value::as_str)
            .is_none_or(|kind| kind == "string");
        let read = || serde_json::from_str(word).unwrap_or_else(|_| Value::from(word));
        found.insert(name.clone(), if is_text { Value::from(word) } else { read() });
    }
    found
}

/// The rest of an input, from which arguments are taken.
struct RemainingWords<'a> {
    rest: &'a str,
    /// Whether the whole of it was given to an argument.
    taken: bool,
}

impl RemainingWords<'_> {
    /// The value for one argument by its schema. A schema without a type, or with a list of them, gets none.
    fn value(&mut self, name: &str, property: &Value) -> Option<Value> {
        if let Some(choices) = property.get("enum").and_then(Value::as_array) {
            return self.choice(choices);
        }
        match property.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => number(self.rest),
            Some("boolean") => Some(Value::Bool(true)),
            Some("string") => self.words(name).map(Value::from),
            _ => None,
        }
    }

    /// The first of the choices that occurs; the text after it remains.
    fn choice(&mut self, choices: &[Value]) -> Option<Value> {
        let said = choices.iter().filter_map(Value::as_str);
        let (choice, rest) = said
            .filter_map(|choice| Some((choice, after_name(self.rest, choice)?)))
            .next()?;
        self.rest = rest;
        Some(Value::from(choice))
    }

    /// Returns the text after the argument's name, else the whole rest.
    fn words(&mut self, name: &str) -> Option<String> {
        let named = after_name(self.rest, name).map(|after| after.trim_start_matches([' ', ':', '=']));
        let words = match named.filter(|words| !words.is_empty()) {
            Some(words) => words,
            None if self.taken => return None,
            None => {
                self.taken = true;
                without_prefixes(self.rest.trim_start_matches([' ', ':', ',', '=']), BETWEEN)
            }
        };
        let words = unquoted(without_end(words).trim_end_matches('.'));
        (!words.is_empty()).then(|| words.to_owned())
    }
}

/// The first number in the text.
fn number(text: &str) -> Option<Value> {
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    digits
        .map(|digits| digits.trim_matches('.'))
        .filter(|digits| !digits.is_empty())
        .find_map(|digits| serde_json::from_str::<serde_json::Number>(digits).ok())
        .map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::Access;
    use serde_json::json;

    fn tool(name: &str, arguments: &[(&str, Value)]) -> ToolSpec {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
            .collect();
        let required: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
        ToolSpec::new(
            name,
            "",
            json!({"type": "object", "properties": properties, "required": required}),
            Access::Internal,
        )
    }

    fn tools() -> Vec<ToolSpec> {
        let text = json!({"type": "string"});
        vec![
            tool("bash", &[("command", text.clone())]),
            tool("weather", &[("city", text.clone())]),
            tool("get_time", &[("zone", text.clone())]),
            tool(
                "transfer",
                &[("amount", json!({"type": "integer"})), ("to", text.clone())],
            ),
            tool(
                "delegate",
                &[
                    ("agent", json!({"type": "string", "enum": ["scout", "clerk"]})),
                    ("input", text),
                ],
            ),
        ]
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Value)]) {
        let expected: Vec<(String, Value)> = expected
            .iter()
            .map(|(name, input)| ((*name).to_owned(), input.clone()))
            .collect();
        assert_eq!(calls(text, &tools()), expected, "{text}");
    }

    #[test]
    fn a_tool_that_is_named_is_asked_for() {
        check(
            "What is the weather in Paris?",
            &[("weather", json!({"city": "Paris"}))],
        );
        check(
            "weather {\"city\": \"北京\", \"days\": 2}",
            &[("weather", json!({"city": "北京", "days": 2}))],
        );
        check(
            "call weather with {\"city\": \"Rome\"}, please",
            &[("weather", json!({"city": "Rome"}))],
        );
        check(
            "transfer amount=7 to='Ada Lovelace'",
            &[("transfer", json!({"amount": 7, "to": "Ada Lovelace"}))],
        );
        check(
            "Weather: \"New York\".",
            &[("weather", json!({"city": "New York"}))],
        );
        check("get time for UTC", &[("get_time", json!({"zone": "UTC"}))]);
        check(
            "transfer 100 to ada",
            &[("transfer", json!({"amount": 100, "to": "ada"}))],
        );
        check(
            "delegate to clerk: weather in Rome",
            &[("delegate", json!({"agent": "clerk", "input": "weather in Rome"}))],
        );
        check(
            "weather in Paris and weather in Rome",
            &[
                ("weather", json!({"city": "Paris"})),
                ("weather", json!({"city": "Rome"})),
            ],
        );
        check("weather", &[("weather", json!({}))]);
    }

    #[test]
    fn what_names_none_is_none() {
        for text in [
            "",
            "how are you",
            "the weatherman",
            "bash ls",
            "why is weathered wood grey",
        ] {
            check(text, &[]);
        }
    }
}
