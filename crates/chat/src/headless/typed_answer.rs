//! Answers that have to fit a JSON Schema: the schema of a run from a file or a type, and the one document
//! that the run prints.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use agentx::UserInput;
use agentx::runtime::{check_answer_schema, read_json_answer};
use agentx::types::{AnswerSchema, RunStatus};
use serde_json::Value;

use super::answer_type::{meant_type, schema_of_type};
use crate::attach::file_for_model;
use crate::error::ChatError;
use crate::named_file::open_named;
use crate::render::clean::visible;
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
            "give one: agentx run --schema string[] \"list the files here\"",
        ));
    }
    Ok(prompt.map(|prompt| prompt.answer_schema(schema.map(Arc::new))))
}

/// Reads the schema of a run's answer: a type, a schema in JSON, or the name of a file with one. The content
/// of a file goes to the model, so in a `workspace` of a stranger a link leads to no file outside of it, and
/// no guarded file is read.
///
/// # Errors
/// Returns an error if it begins as a type and is none, if the file may not be sent or cannot be read, is not
/// a regular file or is larger than 1 MiB, or if it is not a JSON Schema within the bounds of
/// [`check_answer_schema`].
pub fn read_schema(
    file_or_type: &Path,
    workspace: &Path,
    is_guarded: impl Fn(&Path) -> bool,
) -> Result<AnswerSchema, ChatError> {
    let shown = visible(&file_or_type.to_string_lossy());
    let wrong = |what: String| {
        // An error about a file names the file itself.
        let message = match what.strip_prefix(&shown) {
            Some(rest) if rest.starts_with([':', ' ']) && !shown.is_empty() => format!("--schema {what}"),
            _ => format!("--schema {}: {what}", file_or_type.display()),
        };
        let meant = file_or_type.to_str().filter(|_| !file_or_type.exists());
        let hint = match meant.and_then(meant_type) {
            Some(meant) => format!("did you mean the type `{}`?", visible(&meant)),
            None => {
                "give a file with one JSON Schema, or a type, for example string[] or \"{name: string, age: integer}\""
                    .to_owned()
            }
        };
        ChatError::usage(&message, hint)
    };
    let schema = match file_or_type.to_str().and_then(written_out) {
        Some(schema) => schema,
        None => text_of(file_or_type, workspace, is_guarded).and_then(|text| from_json(&text)),
    };
    let schema = AnswerSchema::new(schema.map_err(wrong)?);
    check_answer_schema(&schema)
        .map_err(|what| wrong(format!("not a JSON Schema that can be used: {what}")))?;
    Ok(schema)
}

/// The schema that a text is, in JSON or as a type; `None` if it names a file.
fn written_out(text: &str) -> Option<Result<Value, String>> {
    let inside = text.trim_start().strip_prefix('{').map(str::trim_start);
    if inside.is_some_and(|inside| inside.starts_with(['"', '}'])) {
        return Some(from_json(text));
    }
    schema_of_type(text)
}

fn from_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
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
        // A type is not a file, whatever files there are; a path with a directory is one.
        std::fs::write(place.join("integer"), r#"{"type": "nonsense"}"#).unwrap();
        for (text, schema) in [
            ("integer", serde_json::json!({"type": "integer"})),
            (r#" {"type": "string"}"#, serde_json::json!({"type": "string"})),
        ] {
            let read = read_schema(Path::new(text), &place, is_guarded).unwrap();
            assert_eq!(read.schema, schema, "{text}");
        }
        assert!(read("integer").contains("not a JSON Schema that can be used"));
        for (text, words) in [
            ("integer[", "not a type"),
            (r#"{"type""#, "not JSON"),
            ("integr", "No such file"),
        ] {
            let said = read_schema(Path::new(text), &place, is_guarded).unwrap_err();
            assert!(said.to_string().contains(words), "{said}");
        }
        let missing = read_schema(Path::new("integr"), &place, is_guarded).unwrap_err();
        assert_eq!(missing.to_string().matches("integr").count(), 1, "{missing}");
        for (slip, meant) in [("integr", "`integer`"), ("strng[]", "`string[]`")] {
            let hint = read_schema(Path::new(slip), &place, is_guarded)
                .unwrap_err()
                .hint();
            assert!(hint.is_some_and(|hint| hint.contains(meant)), "{slip}");
        }
        for file in ["schema.json", "string[", "./strng"] {
            let hint = read_schema(Path::new(file), &place, is_guarded)
                .unwrap_err()
                .hint();
            assert!(hint.is_some_and(|hint| !hint.contains("did you mean")), "{file}");
        }
        let device = read_schema(Path::new("/dev/zero"), &place, is_guarded).unwrap_err();
        assert!(device.to_string().contains("is not a regular file"), "{device}");
    }
}
