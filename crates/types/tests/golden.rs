//! The wire forms, frozen. Each file in `golden/` has one line per variant with every field set, then the
//! smallest form of those that have optional fields. Each line is checked both ways. `UPDATE_GOLDEN=1` writes
//! the files again; that changes the format in which every stored session and every client is read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

#[path = "golden/condensing.rs"]
mod condensing;
#[path = "golden/environment.rs"]
mod environment;
#[path = "golden/inside.rs"]
mod inside;
#[path = "golden/parts.rs"]
mod parts;
#[path = "golden/runtime.rs"]
mod runtime;
#[path = "golden/ui.rs"]
mod ui;
#[path = "golden/values.rs"]
mod values;
#[path = "golden/wire.rs"]
mod wire;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;

use agentx_types::wire::*;
use agentx_types::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Compares each sample with its line, and each line with its sample. Returns the lines.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(file: &str, samples: &[T]) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let written: Vec<String> = samples
        .iter()
        .map(|sample| serde_json::to_string(sample).unwrap())
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, written.join("\n") + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let golden: Vec<&str> = text.lines().collect();
    assert_eq!(golden.len(), samples.len(), "{file}: lines and samples");
    for (number, ((line, sample), written)) in golden.iter().zip(samples).zip(&written).enumerate() {
        assert_eq!(written, line, "{file}:{} as written", number + 1);
        let read: T =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}:{} {error}", number + 1));
        assert_eq!(read, *sample, "{file}:{} as read", number + 1);
    }
    written
}

/// Every name has a line, and every line is of one of the names.
fn covers(file: &str, names: &[&str], of: impl Fn(&Value) -> String, lines: &[String]) {
    let expected: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let found: BTreeSet<String> = lines
        .iter()
        .map(|line| of(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(found, expected, "{file}: the variants that have a line");
}

fn tag(value: &Value) -> String {
    value["event"].as_str().unwrap().to_owned()
}

/// The name of an externally tagged variant.
fn key(value: &Value) -> String {
    value
        .as_object()
        .and_then(|object| object.keys().next().cloned())
        .unwrap()
}

#[test]
fn every_tag_has_a_golden_line() {
    let lines = check("environment.jsonl", &environment::samples());
    covers("environment.jsonl", EnvironmentEvent::TAGS, tag, &lines);
    let lines = check("runtime.jsonl", &runtime::samples());
    covers("runtime.jsonl", RuntimeEvent::TAGS, tag, &lines);
    let lines = check("ui.jsonl", &ui::samples());
    covers("ui.jsonl", UiEvent::TAGS, tag, &lines);
}

#[test]
fn every_frame_of_a_connection_has_a_golden_line() {
    let lines = check("client.jsonl", &wire::client_frames());
    let kind = |value: &Value| value["type"].as_str().unwrap().to_owned();
    covers("client.jsonl", ClientRequest::TAGS, kind, &lines);
    let lines = check("notice.jsonl", &wire::notices());
    covers("notice.jsonl", ServerNotice::TAGS, tag, &lines);
    check("person.jsonl", &wire::people());
}

fn client_frame(text: &str) -> Result<ClientFrame, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn a_frame_of_a_newer_client_is_told_from_one_that_makes_no_sense() {
    let newer = r#"{"type":"dance","id":"c1","payload":{ "to":[1.50, "é"]}}"#;
    let read = client_frame(newer).unwrap();
    assert!(
        matches!(&read.request, ClientRequest::Unknown(event) if event.tag == "dance"),
        "{read:?}"
    );
    assert_eq!(serde_json::to_string(&read).unwrap(), newer);
    for wrong in [
        r#"{"type":"subscribe","id":"c1","payload":{}}"#,
        r#"{"type":"subscribe","id":"c1"}"#,
        r#"{"type":"subscribe","id":7,"payload":{"session_id":"ses_1"}}"#,
        r#"{"type":"subscribe","id":"c1","payload":{"session_id":"ses_1","after_seq":-1}}"#,
        r#"{"type":"subscribe","id":"c1","payload":{"session_id":"ses_1","view":"all"}}"#,
        r#"{"type":"wheel","id":"c1","payload":{"session_id":"ses_1","wish":"steal"}}"#,
        r#"{"id":"c1","payload":{}}"#,
        r#"{"type":"subscribe","id":"c1","payload":["ses_1",0,"ui"]}"#,
        r#"{"type":"ping","id":"c1","payload":[]}"#,
        r#"["ping"]"#,
        "null",
    ] {
        assert!(client_frame(wrong).is_err(), "{wrong}");
    }
    let notice = r#"{"event":"from_tomorrow","payload":{ "a" :[1.50]}}"#;
    let read: ServerNotice = serde_json::from_str(notice).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), notice);
}

#[test]
fn what_a_client_leaves_out_is_the_usual() {
    for short in [r#"{"type":"ping"}"#, r#"{"type":"ping","id":"","payload":null}"#] {
        let read = client_frame(short).unwrap();
        assert_eq!(read.request, Ping {}.into(), "{short}");
        assert_eq!(read.id, "", "{short}");
    }
    let subscribe = client_frame(r#"{"type":"subscribe","id":"c1","payload":{"session_id":"ses_1"}}"#);
    let all = Subscribe {
        session_id: "ses_1".into(),
        after_seq: 0,
        view: WireView::Runtime,
        agents: vec![],
        media: vec![],
    };
    assert_eq!(subscribe.unwrap().request, all.into());
    let command =
        client_frame(r#"{"type":"system_command","payload":{"session_id":"ses_1","command":"share"}}"#);
    assert!(
        matches!(command.unwrap().request, ClientRequest::CommandFrame(command) if command.args.is_null())
    );
}

#[test]
fn what_is_said_is_a_text_or_parts() {
    let said = |content: &str| {
        let payload = format!(r#"{{"session_id":"ses_1","content":{content}}}"#);
        client_frame(&format!(
            r#"{{"type":"user_message","id":"c1","payload":{payload}}}"#
        ))
    };
    let frames = [said(r#""hi""#), said(r#"[{"type":"text","text":"hi"}]"#)];
    for frame in frames {
        let ClientRequest::UserInputFrame(input) = frame.unwrap().request else {
            panic!("another type");
        };
        assert_eq!(input.content, [ContentPart::text("hi")]);
        assert_eq!(input.mode, InputMode::Queue);
    }
    for wrong in ["7", "null", "{}", r#"["hi"]"#, r#"[{"type":"dance"}]"#] {
        assert!(said(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn outputs_and_actions_are_frozen() {
    let outputs = inside::outputs();
    let lines = check("output.jsonl", &outputs);
    let layer_and_type = |value: &Value| {
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        format!("{}/{}", name(&value["layer"]), name(&value["output"]["type"]))
    };
    covers("output.jsonl", &inside::output_names(), layer_and_type, &lines);
    for (output, line) in outputs.iter().zip(&lines) {
        assert_eq!(
            layer_and_type(&serde_json::from_str(line).unwrap()),
            inside::output_name(output)
        );
    }
    let bodies = inside::bodies();
    let lines = check("action.jsonl", &bodies);
    covers("action.jsonl", inside::ACTION_NAMES, key, &lines);
    for (body, line) in bodies.iter().zip(&lines) {
        assert_eq!(
            key(&serde_json::from_str(line).unwrap()),
            inside::action_name(body)
        );
        assert_eq!(
            serde_json::to_value(body.kind()).unwrap(),
            json!(inside::action_name(body))
        );
    }
}

#[test]
fn envelopes_are_frozen() {
    let facts = environment::envelopes();
    check("envelope.jsonl", &facts);
    let derived: Vec<_> = facts
        .iter()
        .map(|fact| {
            fact.derive(
                3,
                RuntimeEvent::from(TextDelta {
                    text: "你好".into()
                }),
            )
        })
        .collect();
    check("derived_envelope.jsonl", &derived);
    check("whole_action.jsonl", &inside::whole_actions());
}

#[test]
fn single_words_are_frozen() {
    let words: Vec<Value> = values::words();
    check("words.jsonl", &words);
}

#[test]
fn a_command_and_its_result_have_topics_of_their_own() {
    let topics = |tag: &str| {
        let samples = environment::samples();
        let of_tag = samples.iter().filter(|event| event.tag() == tag);
        of_tag.map(topic::of_environment).collect::<BTreeSet<_>>()
    };
    assert_eq!(topics("system_command"), BTreeSet::from(["system.command"]));
    assert_eq!(topics("command_ran"), BTreeSet::from(["command.result"]));
}

#[test]
fn every_sample_has_a_topic_and_a_payload() {
    for event in environment::samples() {
        assert!(!topic::of_environment(&event).is_empty());
        assert!(
            serde_json::from_slice::<Value>(&event.payload_json())
                .unwrap()
                .is_object()
        );
    }
}

#[test]
fn an_unknown_tag_is_passed_on_to_the_byte() {
    let payload = r#"{ "b" : 1.50, "a":[ null ,"é"], "b2":  {"x":1e2} }"#;
    let event = format!(r#"{{"event":"from_tomorrow","payload":{payload}}}"#);
    let read: EnvironmentEvent = serde_json::from_str(&event).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), event);
    assert_eq!(
        (read.tag(), read.payload_json()),
        ("from_tomorrow", payload.as_bytes().to_vec())
    );
    let read: RuntimeEvent = serde_json::from_str(&event).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), event);

    let frame = format!(
        r#"{{"seq":7,"at":1,"source":"system","session_id":"ses_1","cause":"act_6_0","event":"from_tomorrow","payload":{payload}}}"#
    );
    let read: Envelope<EnvironmentEvent> = serde_json::from_str(&frame).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), frame);
    assert_eq!(read.clone(), read);
}

#[test]
fn fields_of_a_newer_writer_are_passed_over() {
    tolerates(&environment::samples());
    tolerates(&runtime::samples());
    tolerates(&inside::whole_actions());
    tolerates(&environment::envelopes());
    tolerates(&ui::samples());
    tolerates(&wire::client_frames());
    tolerates(&wire::people());
    // The result of an accepted frame depends on its command.
    let mut notices = wire::notices();
    notices.retain(|notice| !matches!(notice, ServerNotice::Accepted(_)));
    tolerates(&notices);
}

/// Each sample is read as the same value if every object of a known shape has one more field.
fn tolerates<T: Serialize + DeserializeOwned + PartialEq + Debug>(samples: &[T]) {
    for sample in samples {
        let mut value = serde_json::to_value(sample).unwrap();
        add_a_field(&mut value, "");
        let read: T =
            serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
        assert_eq!(read, *sample, "{value}");
    }
}

/// Free-form values stay unchanged; the only key of an object that represents a variant is the variant's
/// name.
fn add_a_field(value: &mut Value, key: &str) {
    const FREE: &[&str] = &[
        "input",
        "input_schema",
        "form",
        "schema",
        "data",
        "args",
        "details",
        "done",
    ];
    const VARIANTS: &[&str] = &[
        "change", "source", "body", "report", "wish", "outcome", "steps", "decision",
    ];
    // A rule with a condition that this version does not know would allow more than its author meant: it is
    // refused instead.
    const CLOSED: &[&str] = &["rule", "rules", "suggested", "rule_added"];
    if FREE.contains(&key) || CLOSED.contains(&key) {
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| add_a_field(item, "")),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| add_a_field(value, key));
            if !VARIANTS.contains(&key) {
                fields.insert("from_tomorrow".into(), json!({"a": [1]}));
            }
        }
        _ => {}
    }
}

#[test]
fn a_rule_with_an_unknown_condition_is_refused() {
    let rule = json!({"effect": "allow", "tool": "bash", "only_on": "sunday"});
    assert!(serde_json::from_value::<Rule>(rule).is_err());
}

#[test]
fn a_known_tag_with_a_payload_of_another_shape_is_refused() {
    for wrong in [
        "null",
        "[]",
        "{}",
        r#"{"text":1}"#,
        r#"{"text":null}"#,
        "\"text\"",
    ] {
        let event = format!(r#"{{"event":"text_chunk","payload":{wrong}}}"#);
        assert!(
            serde_json::from_str::<EnvironmentEvent>(&event).is_err(),
            "{event}"
        );
    }
}

#[test]
fn details_that_are_null_stay() {
    let details = |details| ToolResult {
        tool_call_id: "call_1".into(),
        result: vec![],
        is_error: false,
        status: ToolStatus::Success,
        details,
    };
    for result in [details(Some(Value::Null)), details(None)] {
        let read: ToolResult = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
        assert_eq!(read, result);
    }
}

#[test]
fn numbers_are_read_back_as_they_were() {
    // Doubles that a quick parser gets wrong by one unit in the last place.
    for number in [
        6.934698245112694e276,
        8.383658838626809e-78,
        -7.803913958627244e173,
        0.1,
        1e308,
        5e-324,
    ] {
        let call = SystemCommand {
            command: "x".into(),
            args: json!([number]),
            by: None,
        };
        let read: SystemCommand = serde_json::from_str(&serde_json::to_string(&call).unwrap()).unwrap();
        assert_eq!(read, call);
    }
}

#[test]
fn facts_stay_small() {
    // They are moved through queues and kept in vectors by the million; large and rare data is behind a
    // pointer.
    assert!(
        size_of::<EnvironmentEvent>() <= 128,
        "{}",
        size_of::<EnvironmentEvent>()
    );
}
