//! Answers that have to fit a JSON Schema: the schema of a run from a file, and the one document that the run
//! prints.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use agentx::UserInput;
use agentx::runtime::{check_answer_schema, read_json_answer};
use agentx::types::{AnswerSchema, RunStatus};

use crate::console::Console;
use crate::error::ChatError;
use crate::headless::result::RunResult;
use crate::named_file::open_named;

/// The largest file of a schema, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the prompt of a run, whose answer has to fit the schema.
///
/// # Errors
/// Returns an error if there is a schema and no prompt.
pub fn held_to(
    prompt: Option<UserInput>,
    schema: Option<AnswerSchema>,
) -> Result<Option<UserInput>, ChatError> {
    if schema.is_some() && prompt.is_none() {
        return Err(ChatError::usage(
            "--schema needs a prompt",
            "give one: agentx run --schema FILE \"list the files here\"",
        ));
    }
    Ok(prompt.map(|prompt| prompt.answer_schema(schema.map(Arc::new))))
}

/// Reads the schema of a run's answer from a JSON file.
///
/// # Errors
/// Returns an error if the file cannot be read, is larger than 1 MiB, or is no JSON Schema.
pub fn read_schema(file: &Path) -> Result<AnswerSchema, ChatError> {
    let wrong = |what: String| {
        let message = format!("--schema {}: {what}", file.display());
        ChatError::usage(
            &message,
            "give a file with one JSON Schema, for example {\"type\": \"object\"}",
        )
    };
    let open = open_named(file).map_err(|error| wrong(error.to_string()))?;
    let mut text = String::new();
    let read = open.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(wrong("the file is larger than 1 MiB".into()));
    }
    let schema = serde_json::from_str(&text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    check_answer_schema(&schema).map_err(|what| wrong(format!("not a JSON Schema: {what}")))?;
    Ok(AnswerSchema::new(schema))
}

/// Fills in the value of an answer that was validated.
pub(super) fn fill(result: &mut RunResult) {
    if result.status == Some(RunStatus::Completed) {
        result.answer = read_json_answer(&result.text).ok();
    }
}

/// Prints the value of the answer as one line of JSON, and nothing if there is none: what did not fit is not
/// an output.
pub(super) fn print(result: &RunResult, console: &mut Console) -> Result<(), ChatError> {
    match &result.answer {
        Some(value) => console.out(&format!("{value}\n")),
        None => Ok(()),
    }
}
