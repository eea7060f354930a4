//! The conditions that every imported session has to satisfy, and helpers that inspect a session.

use agentx_openhands::{ImportOptions, ImportedLog, Log, import};
use agentx_session::{DerivedDigest, SessionFold};
use agentx_types::{
    ContentPart, EnvironmentEvent, Message, RunStatus, RuntimeEvent, ToolStatus, Vocabulary as _,
};
use serde_json::Value;

/// Imports made-up events and checks the session.
pub(crate) fn imported(events: &Value) -> ImportedLog {
    of_log(&Log::read(&events.to_string()).unwrap())
}

/// Imports a log and checks the session.
pub(crate) fn of_log(log: &Log) -> ImportedLog {
    let imported = import(log, &ImportOptions::default()).unwrap();
    check(&imported);
    imported
}

/// Checks that the facts are dense, ordered by time and known, that both ways to fold agree, and that no call
/// stays open although its outcome follows.
fn check(imported: &ImportedLog) {
    assert!(imported.session_id.is_minted());
    let mut fold = SessionFold::new(imported.session_id.clone());
    let mut state = fold.clone();
    let mut digest = DerivedDigest::default();
    let mut last = imported.events[0].at;
    for (fact, seq) in imported.events.iter().zip(1..) {
        assert_eq!((fact.seq, &fact.session_id), (seq, &imported.session_id));
        assert!(fact.at >= last, "event {seq} is before the one before it");
        last = fact.at;
        assert!(!matches!(fact.event, EnvironmentEvent::Unknown(_)));
        if let Some(cause) = &fact.cause {
            let answers = !matches!(fact.event, EnvironmentEvent::ActionStarted(_));
            let is_of_model = matches!(
                fact.event,
                EnvironmentEvent::StreamStart(_) | EnvironmentEvent::StreamEnd(_)
            );
            assert!(
                !(answers && is_of_model) || fold.is_open(cause),
                "event {seq} answers a closed action"
            );
        }
        let derived = fold.apply(fact);
        digest.add(fact, &derived);
        state.advance(fact);
        assert_eq!(state, fold, "after event {seq}");
    }
    let again = import_again(imported);
    assert_eq!(
        again,
        digest.value(),
        "the facts that are written and read again derive the same"
    );
}

/// Returns the digest of the facts after they were written and read again.
fn import_again(imported: &ImportedLog) -> [u8; 32] {
    let mut fold = SessionFold::new(imported.session_id.clone());
    let mut digest = DerivedDigest::default();
    for fact in &imported.events {
        let line = serde_json::to_string(fact).unwrap();
        let fact = serde_json::from_str(&line).unwrap();
        let derived = fold.apply(&fact);
        digest.add(&fact, &derived);
    }
    digest.value()
}

/// Returns the state after all facts.
pub(crate) fn fold(imported: &ImportedLog) -> SessionFold {
    let mut fold = SessionFold::new(imported.session_id.clone());
    imported.events.iter().for_each(|fact| fold.advance(fact));
    fold
}

/// Returns the messages of the conversation: `role: text`, calls as `name(input)`, results as `=> text`.
pub(crate) fn conversation(imported: &ImportedLog) -> Vec<String> {
    let fold = fold(imported);
    let agent = fold.root_agent().unwrap().react().unwrap();
    agent.messages().map(|message| shown(message)).collect()
}

fn shown(message: &Message) -> String {
    let parts = message.content.iter().map(|part| match part {
        ContentPart::Text(part) => part.text.clone(),
        ContentPart::Thinking(part) => format!("<{}>", part.text),
        ContentPart::ToolCall(call) => format!("{}({})", call.name, call.input),
        ContentPart::ToolResult(result) => {
            let text: String = result.content.iter().filter_map(ContentPart::as_text).collect();
            format!("{}=> {text}", if result.is_error { "!" } else { "" })
        }
        other => format!("{other:?}"),
    });
    let role = serde_json::to_value(message.role).unwrap();
    format!(
        "{}: {}",
        role.as_str().unwrap(),
        parts.collect::<Vec<_>>().join("|")
    )
}

/// Returns the final status of each run, in order.
pub(crate) fn ends(imported: &ImportedLog) -> Vec<RunStatus> {
    let mut fold = SessionFold::new(imported.session_id.clone());
    let mut ends = Vec::new();
    for fact in &imported.events {
        for event in fold.apply(fact).events {
            if let RuntimeEvent::RunFinished(finished) = event.event {
                ends.push(finished.status);
            }
        }
    }
    ends
}

/// Returns the tags of the facts, in order.
pub(crate) fn tags(imported: &ImportedLog) -> Vec<&str> {
    imported.events.iter().map(|fact| fact.event.tag()).collect()
}

/// Returns the statuses of all results of calls, in order.
pub(crate) fn statuses(imported: &ImportedLog) -> Vec<ToolStatus> {
    let results = imported.events.iter().filter_map(|fact| match &fact.event {
        EnvironmentEvent::ToolResult(result) => Some(result.status),
        _ => None,
    });
    results.collect()
}
