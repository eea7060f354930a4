//! Answers of a newer server over HTTP. Each golden answer is read with a new word at each place that has a
//! word, as a client reads it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use agentx_runtime::{
    AgentInfo, ContextView, ModelInfo, ReactorInfo, RestorePlan, RestoreReport, SearchHit, SessionInfo,
    SessionState, UsageRow,
};
use agentx_types::wire::Person;
use agentx_types::{ToolSpec, from_newer_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// The placeholder of a word that no version knows.
const NEW: &str = "zzz";

/// The two ways to read an answer of one type; both return it as it is written again.
struct AnswerReader {
    /// Refuses unknown words.
    strict: fn(Value) -> Result<Value, Error>,
    /// The way of a client.
    client: fn(&[u8]) -> Result<Value, Error>,
}

fn reader<T: Serialize + DeserializeOwned>() -> AnswerReader {
    AnswerReader {
        strict: |value| written(serde_json::from_value::<T>(value)),
        client: |text| written(from_newer_json::<T>(text)),
    }
}

fn written<T: Serialize>(read: Result<T, Error>) -> Result<Value, Error> {
    read.and_then(serde_json::to_value)
}

/// The reader of the answer type with this name.
fn reader_of(answer: &str) -> AnswerReader {
    match answer {
        "AgentInfo" => reader::<AgentInfo>(),
        "ContextView" => reader::<ContextView>(),
        "ModelInfo" => reader::<ModelInfo>(),
        "Person" => reader::<Person>(),
        "ReactorInfo" => reader::<ReactorInfo>(),
        "RestorePlan" => reader::<RestorePlan>(),
        "RestoreReport" => reader::<RestoreReport>(),
        "SearchHit" => reader::<SearchHit>(),
        "SessionInfo" => reader::<SessionInfo>(),
        "SessionState" => reader::<SessionState>(),
        "ToolSpec" => reader::<ToolSpec>(),
        "UsageRow" => reader::<UsageRow>(),
        other => panic!("no type reads the answer {other}"),
    }
}

/// Collects the places of all texts, and of all objects with one field, which may be a word with fields.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{place}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            if fields.len() == 1 {
                found.push(place.to_owned());
            }
            for (name, field) in fields {
                places(field, &format!("{place}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// The answer with a new word at this place.
fn with_new_word(answer: &Value, place: &str) -> Value {
    let mut answer = answer.clone();
    let old = answer.pointer_mut(place).unwrap();
    let new = match old.as_object() {
        Some(fields) => {
            let renamed = fields.values().map(|field| (NEW.to_owned(), field.clone()));
            Value::Object(renamed.collect())
        }
        None => Value::from(NEW),
    };
    *old = new;
    answer
}

/// Reads a golden answer with a new word at each place where the strict reader misses a known one. Returns
/// those places, each with the word that was read.
fn words_read(name: &str, answer: &Value) -> Vec<String> {
    let reader = reader_of(name);
    assert_eq!((reader.strict)(answer.clone()).unwrap(), *answer, "{name}");
    let mut found = Vec::new();
    places(answer, "", &mut found);
    let mut words = Vec::new();
    for place in found {
        let newer = with_new_word(answer, &place);
        let strict = (reader.strict)(newer.clone());
        let is_word = strict.is_err_and(|error| error.to_string().contains("unknown variant"));
        if !is_word {
            continue;
        }
        let read = (reader.client)(newer.to_string().as_bytes());
        let read = read.unwrap_or_else(|error| panic!("{name} {place}: {error}"));
        let word = read.pointer(&place).and_then(Value::as_str).unwrap_or_default();
        words.push(format!("{name} {place} {word}"));
    }
    words
}

#[test]
fn an_answer_with_a_new_word_is_read() {
    let lines = include_str!("golden/answers.jsonl").lines();
    let mut words = BTreeSet::new();
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        words.extend(words_read(line["answer"].as_str().unwrap(), &line["value"]));
    }
    for expected in [
        "AgentInfo /kind unknown",
        "AgentInfo /origin workspace",
        "ContextView /api unknown",
        "ContextView /fill/shares/0/kind unknown",
        "ModelInfo /spec/input/0 file",
        "ReactorInfo /state unknown",
        "RestorePlan /files/0/doubt not_known",
        "RestorePlan /files/0/happens changed",
        "RestorePlan /files/1/doubt not_known",
        "SearchHit /role assistant",
        "SessionInfo /status failed",
        "SessionState /config/approval deny",
        "SessionState /pending_approvals/0/answers/0 deny",
        "SessionState /pending_approvals/0/suggested/effect deny",
        "SessionState /run/status failed",
        "SessionState /sharing/roles/own_2 watch",
        "SessionState /waits/0/kind unknown",
        "ToolSpec /access run",
    ] {
        assert!(words.contains(expected), "{expected} is not among {words:#?}");
    }
}
