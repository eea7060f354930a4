//! JSON that a model writes: found in its answer, and checked against a schema.

use agentx_luau_tools::{EffectError, Outcome};
use jsonschema::Validator;
use serde_json::Value;

/// The number of errors that are shown.
const MAX_MISTAKES: usize = 5;

/// Returns the instructions for a model that is to answer with JSON.
pub(crate) fn instructions(schema: Option<&Value>) -> String {
    let what = "Answer with one JSON value and nothing else: no words around it, no code fence.";
    match schema {
        Some(schema) => format!("{what} It has to fit this JSON Schema:\n{schema}"),
        None => what.to_owned(),
    }
}

/// Returns the value in an answer. The error tells the model what is wrong; its code is `invalid` if the
/// schema itself is.
pub(crate) fn read_answer(answer: &str, schema: Option<&Value>) -> Outcome {
    let value = find(answer)?;
    let Some(schema) = schema else { return Ok(value) };
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| EffectError::new("invalid", format!("the schema is none: {error}")))?;
    let mistakes = mistakes(&validator, &value);
    if mistakes.is_empty() {
        Ok(value)
    } else {
        Err(EffectError::new(
            "not_as_asked",
            format!("the JSON does not fit the schema: {}", mistakes.join("; ")),
        ))
    }
}

/// Returns the first mistakes of a value, each with its place; none if it is valid.
pub(crate) fn mistakes(validator: &Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value).take(MAX_MISTAKES);
    let told = errors.map(|error| match error.instance_path().to_string() {
        path if path.is_empty() => error.to_string(),
        path => format!("at {path}: {error}"),
    });
    told.collect()
}

/// Returns the whole answer, what is in its code fence, or what is between its outermost brackets.
fn find(answer: &str) -> Outcome {
    let whole = answer.trim();
    let fenced = whole.split_once("```").and_then(|(_, rest)| {
        let (inside, _) = rest.split_once("```")?;
        Some(
            inside
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .trim(),
        )
    });
    let between = |open: char, close: char| whole.get(whole.find(open)?..=whole.rfind(close)?);
    let tries = [Some(whole), fenced, between('{', '}'), between('[', ']')];
    let first = serde_json::from_str::<Value>(whole);
    for text in tries.into_iter().flatten() {
        if let Ok(value) = serde_json::from_str(text) {
            return Ok(value);
        }
    }
    let why = first.err().map(|error| error.to_string()).unwrap_or_default();
    Err(EffectError::new(
        "not_as_asked",
        format!("the answer is no JSON: {why}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_and_checked() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        for (answer, expected) in [
            (r#"{"n": 1}"#, Ok(json!({"n": 1}))),
            ("```json\n{\"n\": 2}\n```", Ok(json!({"n": 2}))),
            ("Here: {\"n\": 3}.", Ok(json!({"n": 3}))),
            ("no", Err("not_as_asked")),
            ("{\"n\": \"x\"}", Err("not_as_asked")),
        ] {
            let got = read_answer(answer, Some(&schema)).map_err(|error| error.code);
            assert_eq!(got, expected.map_err(str::to_owned), "{answer}");
        }
        let wrong = read_answer("1", Some(&json!({"type": "nonsense"}))).map_err(|error| error.code);
        assert_eq!(wrong, Err("invalid".to_owned()));
    }
}
