//! JSON that a model writes: found in its answer, and checked against a schema.

use agentx_luau_tools::{EffectError, Outcome};
use agentx_runtime::{SchemaValidator, read_json_answer};
use serde_json::Value;

/// Returns the instructions for a model that is to answer with JSON.
pub(crate) fn instructions(schema: Option<&Value>) -> String {
    let what = "Answer with one JSON value and nothing else: no words around it, no code fence.";
    match schema {
        Some(schema) => format!("{what} It has to fit this JSON Schema:\n{schema}"),
        None => what.to_owned(),
    }
}

/// Compiles the schema of a script.
///
/// # Errors
/// Returns an error with the code `invalid` if it is not a schema, or exceeds the bounds of schemas from
/// outside.
pub(crate) fn compiled(schema: &Value) -> Result<SchemaValidator, EffectError> {
    SchemaValidator::new(schema)
        .map_err(|what| EffectError::new("invalid", format!("the schema is invalid: {what}")))
}

/// Returns the value in an answer. The error describes the mistake for the model.
pub(crate) fn read_answer(answer: &str, schema: Option<&SchemaValidator>) -> Outcome {
    let value = read_json_answer(answer).map_err(|what| EffectError::new("not_as_asked", what))?;
    let Some(schema) = schema else { return Ok(value) };
    let mistakes = schema.mistakes(&value);
    if mistakes.is_empty() {
        Ok(value)
    } else {
        Err(EffectError::new(
            "not_as_asked",
            format!("the JSON does not fit the schema: {}", mistakes.join("; ")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_and_checked() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = compiled(&schema).unwrap();
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
        let wrong = compiled(&json!({"type": "nonsense"})).map_err(|error| error.code);
        assert_eq!(wrong.err(), Some("invalid".to_owned()));
    }
}
