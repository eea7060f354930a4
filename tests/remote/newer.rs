//! A session that a newer version wrote: it is listed, shown, watched, replayed, exported, imported and
//! mirrored byte for byte, and nobody adds to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx::history::transcript::{markdown, transcript};
use agentx::history::{export, import, portable};
use agentx::remote::keep;
use agentx::runtime::{
    Batch, Fact, NewLog, OpenRequest, Runtime, RuntimeError, SessionLog as _, SessionQuery, View,
};
use agentx::sqlite_log::SqliteLog;
use agentx::types::{OwnerId, SessionId, Timestamp};
use agentx_testing::{LogBuilder, fixture};
use agentx_tests::remote::mirror;
use serde_json::{Value, json};

use crate::newer_words::{NEW, newer};
use crate::place::{Place, all, input, soon};

/// The owner of the session.
const OWNER: &str = "own_local";

/// A conversation with an agent of a kind that is not known here, and then every golden fact once for each
/// thing in it that is new.
fn frames(id: &SessionId) -> Vec<String> {
    let told = LogBuilder::opened(fixture::config())
        .user("hi")
        .answer("hello")
        .build();
    let mut facts: Vec<Value> = told.iter().map(|fact| json!(**fact)).collect();
    facts[0]["payload"]["config"]["kind"] = NEW.into();
    let agent = facts[0]["agent_state_id"].clone();
    facts.extend(newer("environment.jsonl").into_iter().map(|new| {
        json!({"seq": 0, "at": 1, "source": "environment", "session_id": "", "agent_state_id": agent, "event": new.event["event"], "payload": new.event["payload"]})
    }));
    for (fact, seq) in facts.iter_mut().zip(1..) {
        fact["seq"] = json!(seq);
        fact["session_id"] = json!(id);
    }
    facts.iter().map(Value::to_string).collect()
}

/// Puts the session into the log.
async fn put(log: &SqliteLog, id: &SessionId, frames: &[String]) {
    let facts: Vec<Fact> = frames
        .iter()
        .map(|frame| Arc::new(serde_json::from_str(frame).unwrap()))
        .collect();
    let new = NewLog::new(id.clone(), OwnerId::new(OWNER), facts[0].at, "/ws");
    log.create(new).await.unwrap();
    let writer = log.attach(id).await.unwrap();
    let batch = Batch::new(facts, [0; 32]);
    log.append(&writer, batch).await.unwrap();
}

fn text(facts: &[Fact]) -> Vec<String> {
    facts
        .iter()
        .map(|fact| serde_json::to_string(&**fact).unwrap())
        .collect()
}

async fn kept(log: &SqliteLog, id: &SessionId) -> Vec<String> {
    text(&log.read(id, 0, usize::MAX).await.unwrap())
}

/// The session cannot be continued, and the error says what to do.
async fn is_read_only(runtime: &dyn Runtime, id: &SessionId) {
    // A server shows it, and refuses messages.
    let said = match runtime.open(OpenRequest::Resume(id.clone(), vec![])).await {
        Ok(session) => session.send(input("more")).await.map(drop),
        Err(error) => Err(error),
    };
    let renamed = runtime.rename(id, "another".into()).await;
    for refused in [said, renamed] {
        let why = refused.unwrap_err().to_string();
        assert!(
            why.contains("a newer version") && why.contains("read-only"),
            "{why}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_a_newer_version_is_read_and_not_written() {
    let place = Place::remote().await;
    let id = SessionId::new("ses_newer0000000");
    let frames = frames(&id);
    put(&place.log, &id, &frames).await;
    for runtime in [place.node.clone() as Arc<dyn Runtime>, place.runtime.clone()] {
        assert_eq!(soon(runtime.info(&id)).await.unwrap().session_id, id);
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: None,
            limit: 10,
            before: None,
        };
        let listed = soon(runtime.sessions(query)).await.unwrap();
        assert!(listed.iter().any(|info| info.session_id == id));
        let facts = soon(runtime.watch(&id, 0, View::Environment, false))
            .await
            .unwrap();
        let mut facts = soon(all(facts)).await;
        facts.retain(|fact| fact.starts_with('{'));
        assert_eq!(facts, frames);
        let mut meaning = soon(runtime.watch(&id, 0, View::Runtime, false)).await.unwrap();
        assert!(soon(meaning.next()).await.is_some());
        is_read_only(runtime.as_ref(), &id).await;
    }
    let told = soon(transcript(place.node.as_ref(), &id)).await.unwrap();
    assert!(markdown(&told).contains("hello"));
    soon(place.node.replay(&id)).await.unwrap();
    let checked = soon(place.node.verify(&id)).await.unwrap();
    assert_eq!(checked.problems, Vec::<String>::new());
    let fork = soon(place.node.fork(&id, None)).await.unwrap();
    is_read_only(place.node.as_ref(), &fork).await;
    assert_eq!(kept(&place.log, &id).await, frames);
    soon(place.node.delete(&id)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_a_newer_version_is_passed_on_to_the_byte() {
    let place = Place::remote().await;
    let id = SessionId::new("ses_newer0000000");
    let frames = frames(&id);
    put(&place.log, &id, &frames).await;
    let mirror = SqliteLog::open_in_memory().unwrap();
    let remote = place.remote.clone().unwrap();
    let mut keeping = soon(keep(&remote, &id, mirror.clone(), false)).await.unwrap();
    soon(keeping.ended()).await.unwrap();
    assert_eq!(kept(&mirror, &id).await, frames);
    assert_eq!(
        mirror::rows_of(mirror.as_ref(), &id).await,
        mirror::rows_of(place.log.as_ref(), &id).await
    );
    let exported = soon(export(place.runtime.as_ref(), &id)).await.unwrap();
    let document = portable::to_json(&exported).unwrap();
    for frame in &frames {
        assert!(document.contains(frame), "{frame}");
    }
    let taken = SqliteLog::open_in_memory().unwrap();
    let read = portable::from_json(&document).unwrap();
    let report: Result<_, RuntimeError> =
        import(taken.as_ref(), &OwnerId::new(OWNER), read, Timestamp(1)).await;
    assert_eq!(report.unwrap().problems, Vec::<String>::new());
    // An import adds one event, which ends what was in progress.
    let mut imported = kept(&taken, &id).await;
    let last = imported.pop().unwrap_or_default();
    assert!(last.contains("session_imported"), "{last}");
    assert_eq!(imported, frames);
}
