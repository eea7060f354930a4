//! Events of a newer version are read, and passed on unchanged; requests of a client are not guessed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

#[path = "golden/newer_words.rs"]
mod newer_words;
#[path = "golden/word_sets.rs"]
mod word_sets;

use std::collections::BTreeSet;

use agentx_types::wire::{ClientFrame, ServerNotice};
use agentx_types::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use newer_words::{golden, newer};
use word_sets::WordSets;

/// An event of the golden files as a frame.
fn frame(event: &Value) -> String {
    let (tag, payload) = (&event["event"], &event["payload"]);
    format!(r#"{{"seq":7,"at":1,"source":"system","session_id":"ses_1","event":{tag},"payload":{payload}}}"#)
}

fn read(event: &Value) -> Envelope<EnvironmentEvent> {
    let text = frame(event);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_fact_with_a_new_word_is_read_and_passed_on_to_the_byte() {
    let word_sets = WordSets::read();
    let lines = golden("environment.jsonl");
    let mut sets = BTreeSet::new();
    for new in newer("environment.jsonl") {
        let fact = read(&new.event);
        assert_eq!(
            serde_json::to_string(&fact).unwrap(),
            frame(&new.event),
            "{}",
            new.place
        );
        assert_eq!(fact.payload_json(), new.event["payload"].to_string().as_bytes());
        let mut known = word_sets.of("EnvironmentEvent", &lines[new.line]);
        let set = known.remove(&new.place).unwrap_or_default();
        // The field `type` of a variable has a word; that of a content part is a tag.
        let is_type = new.place.ends_with("/type") && !set.is_empty();
        if new.is_word || is_type {
            let is_unknown = matches!(fact.event, EnvironmentEvent::Unknown(_));
            assert!(!is_unknown, "{} {}", new.event, new.place);
            assert_eq!(fact.event.tag(), new.event["event"]);
            sets.extend(set);
        }
    }
    let missing: Vec<String> = word_sets
        .reachable("EnvironmentEvent")
        .difference(&sets)
        .cloned()
        .collect();
    assert!(
        sets.len() > 15 && missing.is_empty(),
        "no golden fact has a word of {missing:?}, only of {sets:?}"
    );
}

#[test]
fn a_fact_with_more_that_is_new_than_a_word_is_kept_whole() {
    let mut kept = BTreeSet::new();
    for new in newer("environment.jsonl").into_iter().filter(|new| !new.is_word) {
        if let EnvironmentEvent::Unknown(event) = read(&new.event).event {
            assert_eq!(event.tag, new.event["event"].as_str().unwrap());
            kept.insert(new.was);
        }
    }
    for variant in [
        "model",
        "params",
        "limits",
        "approval",
        "rule_added",
        "rules",
        "tools",
        "guard",
        "server_rules",
        "done",
        "failed",
    ] {
        assert!(kept.contains(variant), "{variant}");
    }
    let rule = json!({"effect": "allow", "tool": "bash", "only_on": "sunday"});
    let event = json!({"event": "config_changed", "payload": {"change": {"rule_added": rule}}});
    assert!(matches!(read(&event).event, EnvironmentEvent::Unknown(_)));
}

#[test]
fn a_new_content_part_stands_where_it_stood_for_no_provider() {
    let part = json!({"type": "hologram", "source": {"blob": "b3_0a"}});
    let medium = json!({"type": "image", "media_type": "image/png", "source": {"ipfs": "Qm"}});
    let text = json!({"type": "text", "text": "hi"});
    let result = json!({"type": "tool_result", "tool_call_id": "call_1", "name": "x", "content": [part], "is_error": false});
    let content = json!([text, part, medium, result]);
    let event = json!({"event": "user_message", "payload": {"message_id": "msg_1", "content": content}});
    let fact = read(&event);
    assert_eq!(serde_json::to_string(&fact).unwrap(), frame(&event));
    let EnvironmentEvent::UserMessage(message) = fact.event else {
        panic!("{:?}", fact.event);
    };
    let opaque = |data: &Value| {
        ContentPart::Opaque(OpaquePart {
            provider: ProviderData {
                api: "newer-agentx".into(),
                model: None,
                data: data.clone(),
            },
        })
    };
    assert_eq!(
        message.content[..3],
        [ContentPart::text("hi"), opaque(&part), opaque(&medium)]
    );
    let ContentPart::ToolResult(result) = &message.content[3] else {
        panic!("{:?}", message.content);
    };
    assert_eq!(result.content, [opaque(&part)]);
}

/// A permission for a known word is not a permission for an unknown one.
#[test]
fn a_new_word_allows_nothing() {
    let opened = golden("environment.jsonl")
        .into_iter()
        .find(|line| line["event"] == "session_opened");
    let with = |place: &str| {
        let mut event = opened.clone().unwrap();
        *event.pointer_mut(place).unwrap() = "zzz".into();
        match read(&event).event {
            EnvironmentEvent::SessionOpened(opened) => *opened.config,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with("/payload/config/approval").approval, ApprovalMode::Deny);
    assert_eq!(
        with("/payload/config/rules/0/effect").rules[0].effect,
        RuleEffect::Deny
    );
    assert_eq!(
        with("/payload/config/tools/0/access").tools[0].access,
        Access::Run
    );
    assert_eq!(with("/payload/config/model/api").model.api, Api::Unknown);
    assert_eq!(with("/payload/config/kind").kind, AgentKind::Unknown);
    let approval = json!({"event": "approval", "payload": {"tool_call_id": "call_1", "decision": "zzz"}});
    let EnvironmentEvent::Approval(approval) = read(&approval).event else {
        panic!("another event");
    };
    assert_eq!(approval.decision, ApprovalDecision::Deny);
}

#[test]
fn a_frame_from_a_new_source_is_of_the_system() {
    let text = r#"{"seq":1,"at":1,"source":"zzz","session_id":"ses_1","event":"part_end","payload":{}}"#;
    let fact: Envelope<EnvironmentEvent> = serde_json::from_str(text).unwrap();
    assert_eq!(fact.source, Source::System);
}

#[test]
fn what_a_newer_server_says_is_read() {
    fn all<T: DeserializeOwned>(file: &str) {
        for new in newer(file).into_iter().filter(|new| new.is_word) {
            let text = new.event.to_string();
            let read: Result<T, _> = serde_json::from_str(&text);
            assert!(read.is_ok(), "{:?}: {text}", read.err());
        }
    }
    all::<RuntimeEvent>("runtime.jsonl");
    all::<UiEvent>("ui.jsonl");
    all::<ServerNotice>("notice.jsonl");
}

#[test]
fn what_a_newer_server_answers_is_read() {
    let read = |text: &str| from_newer_json::<(RunStatus, SessionRole)>(text.as_bytes());
    assert_eq!(
        read(r#"["zzz","zzz"]"#).unwrap(),
        (RunStatus::Failed, SessionRole::Watch)
    );
    assert_eq!(
        read(r#"["completed","own"]"#).unwrap(),
        (RunStatus::Completed, SessionRole::Own)
    );
    assert!(read(r#"["zzz",7]"#).is_err());
}

#[test]
fn what_a_client_asks_is_not_guessed() {
    let words = ["mode", "decision", "view", "effect"];
    let mut seen = BTreeSet::new();
    for new in newer("client.jsonl") {
        let name = new.place.rsplit('/').next().unwrap();
        if let Some(word) = words.iter().find(|word| **word == name) {
            seen.insert(*word);
            let text = new.event.to_string();
            assert!(serde_json::from_str::<ClientFrame>(&text).is_err(), "{text}");
        }
    }
    assert_eq!(seen.len(), words.len(), "{seen:?}");
}

/// A damaged event is not mistaken for an event of a newer version.
#[test]
fn another_shape_is_refused_whatever_else_is_new() {
    for payload in [
        json!({"tool_call_id": 7, "decision": "zzz"}),
        json!({"decision": "zzz"}),
        json!({"tool_call_id": "call_1", "decision": 7}),
        json!([]),
        json!("zzz"),
        json!(null),
    ] {
        let text = frame(&json!({"event": "approval", "payload": payload}));
        assert!(
            serde_json::from_str::<Envelope<EnvironmentEvent>>(&text).is_err(),
            "{text}"
        );
    }
}
