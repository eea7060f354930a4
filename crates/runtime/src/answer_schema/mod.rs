//! Answers that have to fit a JSON Schema: finds the value in an answer, and the errors in it.
//!
//! The driver checks an answer here on request of an agent (`CheckAnswer`); front ends read the value of an
//! answer that passed with the same function, so that both mean the same value. Nothing is fetched: a `$ref`
//! leads to a place in the schema itself.

use agentx_types::{AgentConfig, AnswerChecked, AnswerSchema, CheckAnswer, MAX_ANSWER_REPAIRS};
#[cfg(feature = "answers")]
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

#[cfg(feature = "answers")]
use crate::schema_bounds;

/// The maximum number of reported errors.
#[cfg(feature = "answers")]
const MAX_MISTAKES: usize = 5;
/// Maximum size of a compiled regular expression, and of its cache, in bytes each.
#[cfg(feature = "answers")]
const PATTERN_BYTES: usize = 1 << 20;
/// The maximum length of an error description, in characters: validators repeat the value.
const MAX_WORD: usize = 400;

/// Returns the JSON value in an answer: the whole answer, the content of its code fence, or the text between
/// its outermost brackets.
///
/// ```
/// use agentx_runtime::read_json_answer;
/// assert_eq!(read_json_answer("```json\n[1]\n```"), Ok(serde_json::json!([1])));
/// assert!(read_json_answer("I do not know").is_err());
/// ```
///
/// # Errors
/// Returns an error, as text for the model, if there is none.
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

/// Checks that values can be validated with a schema: it compiles, and it is within the bounds on schemas
/// from outside.
///
/// # Errors
/// Returns a description of the error with its place.
pub fn check_json_schema(schema: &Value) -> Result<(), String> {
    mistakes_of(schema, None).map(drop)
}

/// Checks that answers can be validated with a schema: [`check_json_schema`], and at most
/// [`MAX_ANSWER_REPAIRS`] repairs.
///
/// # Errors
/// Returns a description of the error.
pub fn check_answer_schema(answer: &AnswerSchema) -> Result<(), String> {
    if answer.repairs > MAX_ANSWER_REPAIRS {
        return Err(format!(
            "`repairs` is {}, and at most {MAX_ANSWER_REPAIRS} are allowed",
            answer.repairs
        ));
    }
    check_json_schema(&answer.schema)
}

/// Checks the answer schemas of an agent, and of the agents that it may create or send inputs to.
///
/// # Errors
/// Returns a description of the error, with the agent's name.
pub fn check_answer_schemas(config: &AgentConfig) -> Result<(), String> {
    let mut waiting = vec![config];
    while let Some(agent) = waiting.pop() {
        if let Some(answer) = &agent.answer_schema {
            check_answer_schema(answer).map_err(|what| {
                format!(
                    "the schema of the answers of agent {:?} is invalid: {what}",
                    agent.name
                )
            })?;
        }
        waiting.extend(&agent.agents);
        let routed = agent.routing.iter().flat_map(|routing| {
            let routes = routing.routes.iter().map(|route| &route.agent);
            routes.chain(routing.default.as_deref())
        });
        waiting.extend(routed);
    }
    Ok(())
}

/// Returns the errors in a value, or an error about the schema itself.
#[cfg(feature = "answers")]
fn mistakes_of(schema: &Value, value: Option<&Value>) -> Result<Vec<String>, String> {
    let validator = SchemaValidator::new(schema)?;
    let mistakes = value.map(|value| validator.mistakes(value));
    Ok(mistakes.unwrap_or_default())
}

/// Refuses every schema: there is nothing to validate with.
#[cfg(not(feature = "answers"))]
fn mistakes_of(_: &Value, _: Option<&Value>) -> Result<Vec<String>, String> {
    Err("this program was built without the feature `answers` of agentx-runtime".to_owned())
}

/// Validates values with a schema from outside, with bounds on the work: schemas that can exceed a bound are
/// refused, and so are values that would. Regular expressions take linear time; look-around and
/// back-references are refused.
#[cfg(feature = "answers")]
#[derive(Debug)]
pub struct SchemaValidator {
    schema: Value,
    validator: Validator,
}

#[cfg(feature = "answers")]
impl SchemaValidator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns a description of the error in the schema, or the bound that it exceeds.
    pub fn new(schema: &Value) -> Result<Self, String> {
        schema_bounds::check_schema(schema)?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| {
            let mut words = short(&error.to_string());
            if words.ends_with("is not a \"regex\"") {
                words.push_str(
                    " that takes linear time: without look-around and references back, and not too large",
                );
            }
            match error.instance_path().to_string() {
                path if path.is_empty() => words,
                path => format!("at {path}: {words}"),
            }
        })?;
        Ok(Self {
            schema: schema.clone(),
            validator,
        })
    }

    /// Returns the first errors in a value, each with its place; none if it fits.
    pub fn mistakes(&self, value: &Value) -> Vec<String> {
        if let Err(what) = schema_bounds::check_work(&self.schema, value) {
            return vec![what];
        }
        let errors = self.validator.iter_errors(value).take(MAX_MISTAKES);
        let told = errors.map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => short(&error.to_string()),
            path => format!("at {}: {}", short(&path), short(&error.to_string())),
        });
        told.collect()
    }
}

/// The verdict about an answer.
pub(crate) fn check(check: &CheckAnswer) -> AnswerChecked {
    let (problems, invalid_schema) = match read_json_answer(&check.text) {
        Err(what) => match check_json_schema(&check.answer_schema.schema) {
            Ok(()) => (vec![short(&what)], false),
            Err(what) => (vec![what], true),
        },
        Ok(value) => match mistakes_of(&check.answer_schema.schema, Some(&value)) {
            Ok(problems) => (problems, false),
            Err(what) => (vec![what], true),
        },
    };
    AnswerChecked {
        attempt: check.attempt,
        problems,
        invalid_schema,
    }
}

fn short(words: &str) -> String {
    match words.char_indices().nth(MAX_WORD) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

#[cfg(all(test, feature = "answers"))]
mod tests;
