//! Answers that have to fit a JSON Schema: the schema of a run from a file, and the one document that the run
//! prints.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use agentx::UserInput;
use agentx::runtime::{check_answer_schema, read_json_answer};
use agentx::types::{AnswerSchema, RunStatus};

use crate::attach::file_for_model;
use crate::error::ChatError;
use crate::named_file::open_named;
use crate::run_result::RunResult;
use crate::terminal::console::Console;

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

/// Reads the schema of a run's answer from a JSON file. Its content goes to the model, so in a `workspace` of
/// a stranger a link leads to no file outside of it, and no guarded file is read.
///
/// # Errors
/// Returns an error if the file may not be sent or cannot be read, is not a regular file, is larger than 1
/// MiB, or is not a JSON Schema within the bounds of [`check_answer_schema`].
pub fn read_schema(
    file: &Path,
    workspace: &Path,
    is_guarded: impl Fn(&Path) -> bool,
) -> Result<AnswerSchema, ChatError> {
    let wrong = |what: String| {
        let message = format!("--schema {}: {what}", file.display());
        ChatError::usage(
            &message,
            "give a file with one JSON Schema, for example {\"type\": \"object\"}",
        )
    };
    let text = match file.to_str().filter(|words| words.trim_start().starts_with('{')) {
        Some(inline) => inline.to_owned(),
        None => text_of(file, workspace, is_guarded).map_err(wrong)?,
    };
    let schema = serde_json::from_str(&text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let schema = AnswerSchema::new(schema);
    check_answer_schema(&schema)
        .map_err(|what| wrong(format!("not a JSON Schema that can be used: {what}")))?;
    Ok(schema)
}

fn text_of(file: &Path, workspace: &Path, is_guarded: impl Fn(&Path) -> bool) -> Result<String, String> {
    let file = file_for_model(file, workspace, is_guarded)?;
    let open = open_named(&file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = open.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err("the file is larger than 1 MiB".into());
    }
    Ok(text)
}

/// Fills in the value of an answer that was validated.
pub(super) fn fill(result: &mut RunResult) {
    if result.status == Some(RunStatus::Completed) {
        result.answer = read_json_answer(&result.text).ok();
    }
}

/// Prints the value of the answer as one line of JSON, and nothing if there is none: an answer that does not
/// fit is not an output.
pub(super) fn print(result: &RunResult, console: &mut Console) -> Result<(), ChatError> {
    match &result.answer {
        Some(value) => console.out(&format!("{value}\n")),
        None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_schema_is_read_from_a_plain_file_that_its_name_says() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("folder");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(home.path().join("config.json"), r#"{"auths": {}}"#).unwrap();
        std::fs::write(place.join("own.json"), r#"{"type": "object"}"#).unwrap();
        std::fs::write(place.join("guarded.json"), r#"{"type": "object"}"#).unwrap();
        std::fs::write(place.join("nonsense.json"), r#"{"type": "nonsense"}"#).unwrap();
        symlink(home.path().join("config.json"), place.join("away.json")).unwrap();
        symlink("own.json", place.join("near.json")).unwrap();
        symlink("guarded.json", place.join("hidden.json")).unwrap();
        symlink("/dev/zero", place.join("zero.json")).unwrap();
        let is_guarded = |path: &Path| path.ends_with("guarded.json");
        let read = |name: &str| {
            let read = read_schema(&place.join(name), &place, is_guarded);
            read.map(drop)
                .map_err(|error| error.to_string())
                .err()
                .unwrap_or_default()
        };
        assert_eq!([read("own.json"), read("near.json")], ["", ""]);
        for (name, words) in [
            ("away.json", "is a symbolic link to"),
            ("hidden.json", "is a symbolic link to"),
            ("zero.json", "is a symbolic link to"),
            ("guarded.json", "may hold secrets"),
            (".", "is not a regular file"),
            ("nonsense.json", "not a JSON Schema that can be used"),
        ] {
            let said = read(name);
            assert!(said.contains(words), "{name}: {said}");
        }
        let device = read_schema(Path::new("/dev/zero"), &place, is_guarded).unwrap_err();
        assert!(device.to_string().contains("is not a regular file"), "{device}");
    }
}
