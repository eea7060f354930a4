//! Converts arguments of a call from JSON to a type. The schema is checked first and all at once; errors that
//! only the type finds are reported with their place.

use agentx_runtime::arguments;
use agentx_types::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::ToolFailure;

/// Reads `input` as the arguments of the tool with this `spec`.
pub(crate) fn parse<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolFailure> {
    let problems = arguments::problems(&spec.input_schema, input);
    if !problems.is_empty() {
        return Err(failure(spec, &problems));
    }
    let empty = Value::Object(Map::new());
    let input = if input.is_null() { &empty } else { input };
    serde_path_to_error::deserialize(input).map_err(|error| {
        let problem = format!("argument \"{}\": {}", error.path(), error.inner());
        failure(spec, &[problem])
    })
}

fn failure(spec: &ToolSpec, problems: &[String]) -> ToolFailure {
    ToolFailure::invalid(arguments::error_message(spec, problems))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::Access;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Pending,
        Completed,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Item {
        status: Status,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Input {
        command: String,
        timeout_ms: Option<u64>,
        items: Option<Vec<Item>>,
    }

    #[track_caller]
    fn check(input: Value, says: &[&str]) {
        let spec =
            ToolSpec::new("bash", "", crate::schema::schema_of::<Input>(), Access::Run).with_checked(true);
        let failure = parse::<Input>(&spec, &input).unwrap_err();
        for words in says {
            assert!(
                failure.text.contains(words),
                "{words:?} is not in:\n{}",
                failure.text
            );
        }
        assert_eq!(failure.status, agentx_types::ToolStatus::Invalid);
    }

    #[test]
    fn errors_say_what_to_change() {
        check(
            json!({"cmd": "ls"}),
            &[
                r#"unknown argument "cmd": did you mean "command"?"#,
                r#"missing argument "command": string"#,
                "Arguments: command (string, required), timeout_ms (integer ≥ 0)",
            ],
        );
        check(
            json!({"command": "ls", "timeout": 5}),
            &[r#"unknown argument "timeout": did you mean "timeout_ms"?"#],
        );
        check(
            json!({"command": ["ls"]}),
            &[r#"argument "command": expected string, got array of 1"#],
        );
        check(
            json!({"command": "a", "timeout_ms": "5"}),
            &[r#"argument "timeout_ms": expected integer ≥ 0, got string "5""#],
        );
        check(
            json!({"command": "a", "timeout_ms": -5}),
            &["expected integer ≥ 0, got -5"],
        );
        check(
            json!({"command": "a", "items": [{"status": "complete"}]}),
            &[
                r#"argument "items[0].status": expected one of "pending", "completed", got string "complete"; did you mean "completed"?"#,
            ],
        );
        check(
            json!({"command": "a", "items": [{}]}),
            &[r#"missing argument "items[0].status": one of "pending", "completed""#],
        );
        check(
            json!({"command": "a", "items": [{"x": 1}]}),
            &[r#"unknown argument "items[0].x""#],
        );
        check(
            json!([1]),
            &["expected an object with the arguments, got array of 1"],
        );
        check(
            json!({"command": "a", "timeout_ms": 5.5e9}),
            &[r#"argument "timeout_ms": invalid type: floating point"#],
        );
        check(Value::Null, &[r#"missing argument "command""#]);
    }
}
