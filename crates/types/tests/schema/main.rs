//! The files that are generated from the types for other languages: `docs/protocol/agentx.v1.schema.json` and
//! `agentx.v1.d.ts`. They are compared with the generated text, and the golden lines are checked against the
//! schema. `UPDATE_GOLDEN=1` writes them again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test: it fails by panicking, reads files, and says what it could not run"
)]

mod typescript;
mod validator;

use std::path::PathBuf;
use std::process::Command;

use agentx_types::protocol_schema;
use serde_json::Value;
use validator::Validator;

fn at_root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Fails if a generated file is not this text.
fn is_generated(path: &str, made: &str) {
    let file = at_root(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, made).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == made,
        "{path} is not what the types make: write it again with\n  \
         UPDATE_GOLDEN=1 cargo test -p agentx-types --features schema --test schema"
    );
}

#[test]
fn the_schema_is_what_the_types_make() {
    let mut made = serde_json::to_string_pretty(&protocol_schema()).unwrap();
    made.push('\n');
    is_generated("docs/protocol/agentx.v1.schema.json", &made);
}

#[test]
fn the_typescript_types_are_what_the_schema_makes() {
    is_generated(
        "docs/protocol/agentx.v1.d.ts",
        &typescript::of(&protocol_schema()),
    );
}

fn golden(file: &str) -> Vec<Value> {
    let path = at_root("crates/types/tests/golden").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_golden_line_is_of_its_schema() {
    let schema = protocol_schema();
    let validator = Validator::of(&schema);
    for (file, definition) in [
        ("environment.jsonl", "EnvironmentEvent"),
        ("runtime.jsonl", "RuntimeEvent"),
        ("ui.jsonl", "UiEvent"),
        ("envelope.jsonl", "EnvironmentFrame"),
        ("derived_envelope.jsonl", "RuntimeFrame"),
        ("client.jsonl", "ClientFrame"),
        ("notice.jsonl", "ServerNotice"),
        ("person.jsonl", "Person"),
    ] {
        for (number, line) in golden(file).iter().enumerate() {
            let result = validator.check(definition, line);
            result.unwrap_or_else(|wrong| panic!("{file}:{} {wrong}", number + 1));
        }
    }
}

/// Sets that only answers over HTTP have; `GET /v1/openapi.json` describes them.
const OF_ANSWERS: &[&str] = &["WindowKind"];

#[test]
fn every_word_is_of_its_schema() {
    let schema = protocol_schema();
    let validator = Validator::of(&schema);
    for line in golden("words.jsonl") {
        for (set, words) in line.as_object().unwrap() {
            let is_of_answers = OF_ANSWERS.contains(&set.as_str());
            assert_eq!(schema["$defs"].get(set).is_none(), is_of_answers, "{set}");
            if is_of_answers {
                continue;
            }
            for word in words.as_array().unwrap() {
                validator.check(set, word).unwrap();
            }
            assert!(validator.check(set, &Value::from("dance")).is_err(), "{set}");
        }
    }
}

#[test]
fn what_is_left_out_or_unknown_is_of_the_schema_and_what_is_wrong_is_not() {
    let schema = protocol_schema();
    let validator = Validator::of(&schema);
    let check = |definition: &str, line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        validator.check(definition, &value).is_ok()
    };
    for (definition, line) in [
        ("ClientFrame", r#"{"type":"ping","id":"c1"}"#),
        (
            "ClientFrame",
            r#"{"type":"user_message","id":"c1","payload":{"session_id":"ses_1","content":"hi"}}"#,
        ),
        ("ClientFrame", r#"{"type":"dance","id":"c1","payload":{"to":1}}"#),
        ("UiEvent", r#"{"event":"from_tomorrow","payload":{"a":1}}"#),
        (
            "UiEvent",
            r#"{"event":"text_chunk","payload":{"chunk":"a","role":null,"new":1}}"#,
        ),
    ] {
        assert!(check(definition, line), "{definition}: {line}");
    }
    for (definition, line) in [
        ("ClientFrame", r#"{"type":"ping"}"#),
        ("ClientFrame", r#"{"type":"subscribe","id":"c1"}"#),
        ("ClientFrame", r#"{"type":"subscribe","id":"c1","payload":{}}"#),
        (
            "ClientFrame",
            r#"{"type":"user_message","id":"c1","payload":{"session_id":"ses_1","content":7}}"#,
        ),
        ("UiEvent", r#"{"event":"text_chunk","payload":{}}"#),
        ("UiEvent", r#"{"event":"text_chunk"}"#),
        ("UiFrame", r#"{"event":"text_chunk","payload":{"chunk":"a"}}"#),
        ("Rule", r#"{"effect":"allow","tool":"bash","only_on":"sunday"}"#),
    ] {
        assert!(!check(definition, line), "{definition}: {line}");
    }
}

/// If the TypeScript compiler is installed, it reads the types, and distinguishes the events of a view by
/// their tag. Without a compiler, the test is skipped.
#[test]
fn the_typescript_types_can_be_used() {
    if Command::new("tsc").arg("--version").output().is_err() {
        eprintln!("tsc is not installed: not run: the types for TypeScript");
        return;
    }
    let check = at_root("crates/types/tests/schema/client.ts");
    let done = Command::new("tsc")
        .args([
            "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext",
        ])
        .arg(&check)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}
