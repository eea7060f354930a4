//! Answers that have to fit a JSON Schema: the value in an answer, and what about it does not fit.
//!
//! The driver checks an answer here when an agent wants it checked (`CheckAnswer`); front ends read the value
//! of an answer that passed with the same function, so that both mean the same value. Nothing is fetched: a
//! `$ref` leads to a place in the schema itself.

use agentx_types::{AnswerChecked, CheckAnswer};
#[cfg(feature = "answers")]
use jsonschema::Validator;
use serde_json::Value;

/// The number of mistakes that are reported.
#[cfg(feature = "answers")]
const MAX_MISTAKES: usize = 5;
/// The longest word about a mistake, in characters: validators repeat the value.
const MAX_WORD: usize = 400;

/// Returns the JSON value in an answer: the whole of it, what is in its code fence, or what is between its
/// outermost brackets.
///
/// ```
/// use agentx_runtime::read_json_answer;
/// assert_eq!(read_json_answer("```json\n[1]\n```"), Ok(serde_json::json!([1])));
/// assert!(read_json_answer("I do not know").is_err());
/// ```
///
/// # Errors
/// Returns an error, in words for the model, if there is none.
pub fn read_json_answer(answer: &str) -> Result<Value, String> {
    let whole = answer.trim();
    let fenced = whole.split_once("```").and_then(|(_, rest)| {
        let (inside, _) = rest.split_once("```")?;
        let inside = inside.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        Some(inside.trim())
    });
    let between = |open: char, close: char| whole.get(whole.find(open)?..=whole.rfind(close)?);
    let tries = [fenced, between('{', '}'), between('[', ']')];
    let first = match serde_json::from_str::<Value>(whole) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let found = tries.into_iter().flatten();
    found
        .filter_map(|text| serde_json::from_str(text).ok())
        .next()
        .ok_or_else(|| format!("the answer is not JSON: {first}"))
}

/// Checks that a schema is one that answers can be held against.
///
/// # Errors
/// Returns an error that says what is wrong, and where.
pub fn check_answer_schema(schema: &Value) -> Result<(), String> {
    mistakes_of(schema, None).map(drop)
}

/// Returns the mistakes of a value, or what is wrong with the schema itself.
#[cfg(feature = "answers")]
fn mistakes_of(schema: &Value, value: Option<&Value>) -> Result<Vec<String>, String> {
    let validator = validator(schema)?;
    let mistakes = value.map(|value| schema_mistakes(&validator, value));
    Ok(mistakes.unwrap_or_default())
}

/// Refuses every schema: there is nothing to validate with.
#[cfg(not(feature = "answers"))]
fn mistakes_of(_: &Value, _: Option<&Value>) -> Result<Vec<String>, String> {
    Err("this program was built without the feature `answers` of agentx-runtime".to_owned())
}

/// Returns the first mistakes of a value, each with its place; none if it fits.
#[cfg(feature = "answers")]
pub fn schema_mistakes(validator: &Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value).take(MAX_MISTAKES);
    let told = errors.map(|error| match error.instance_path().to_string() {
        path if path.is_empty() => short(&error.to_string()),
        path => format!("at {}: {}", short(&path), short(&error.to_string())),
    });
    told.collect()
}

/// The verdict about an answer.
pub(crate) fn check(check: &CheckAnswer) -> AnswerChecked {
    let problems = match read_json_answer(&check.text) {
        Err(what) => vec![short(&what)],
        Ok(value) => mistakes_of(&check.answer_schema.schema, Some(&value))
            .unwrap_or_else(|what| vec![format!("the schema is invalid: {what}")]),
    };
    AnswerChecked {
        attempt: check.attempt,
        problems,
    }
}

#[cfg(feature = "answers")]
fn validator(schema: &Value) -> Result<Validator, String> {
    let error = match jsonschema::validator_for(schema) {
        Ok(validator) => return Ok(validator),
        Err(error) => error,
    };
    let words = match error.to_string() {
        words if words.contains("not present in a registry") => {
            "a `$ref` may only lead to a place in this schema, such as `#/$defs/city`".to_owned()
        }
        words => short(&words),
    };
    Err(match error.instance_path().to_string() {
        path if path.is_empty() => words,
        path => format!("at {path}: {words}"),
    })
}

fn short(words: &str) -> String {
    match words.char_indices().nth(MAX_WORD) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

#[cfg(all(test, feature = "answers"))]
mod tests {
    use std::sync::Arc;

    use agentx_types::AnswerSchema;
    use serde_json::json;

    use super::*;

    fn problems(schema: Value, text: &str) -> Vec<String> {
        let answer_schema = Arc::new(AnswerSchema::new(schema));
        let (text, attempt) = (text.to_owned(), 1);
        check(&CheckAnswer {
            text,
            answer_schema,
            attempt,
        })
        .problems
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert_eq!(problems(schema.clone(), r#"{"n": 1}"#), Vec::<String>::new());
        assert_eq!(
            problems(schema.clone(), "Here: {\"n\": 3}."),
            Vec::<String>::new()
        );
        assert_eq!(
            problems(schema.clone(), r#"{"n": "x"}"#),
            [r#"at /n: "x" is not of type "integer""#]
        );
        assert_eq!(problems(schema.clone(), "{}"), [r#""n" is a required property"#]);
        assert!(problems(schema, "no")[0].starts_with("the answer is not JSON"));
        assert!(problems(json!({"type": "nonsense"}), "1")[0].starts_with("the schema is invalid"));
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let told = problems(json!({"type": "integer"}), &json!("é".repeat(5_000)).to_string());
        assert!(told[0].chars().count() <= MAX_WORD + 1, "{told:?}");
    }

    #[test]
    fn nothing_is_fetched_for_a_schema() {
        let there = json!({"$ref": "https://example.com/schema.json"});
        assert!(check_answer_schema(&there).is_err());
        assert_eq!(
            check_answer_schema(&json!({"$ref": "#/$defs/a", "$defs": {"a": {}}})),
            Ok(())
        );
    }
}
