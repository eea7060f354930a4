//! A mirror follows a redaction of its server only as far as it can compare what changed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    Batch, BlobStore as _, Fact, MemoryLog, NewLog, RuntimeError, SessionLog as _, Writer,
    replace_copied_facts,
};
use agentx_types::{
    BlobId, Envelope, EnvironmentEvent, OwnerId, SessionId, Source, Timestamp, Vocabulary as _,
};
use serde_json::json;

fn session() -> SessionId {
    SessionId::new("ses_1")
}

/// The result of a tool whose details name a blob.
fn result_with(blob: &BlobId) -> Fact {
    let payload = json!({
        "tool_call_id": "call_1",
        "result": [{"type": "text", "text": "it is stored"}],
        "is_error": false,
        "status": "success",
        "details": {"blob": blob},
    });
    Arc::new(Envelope {
        seq: 1,
        index: None,
        at: Timestamp(0),
        source: Source::Environment,
        session_id: session(),
        agent_state_id: None,
        run_id: None,
        cause: None,
        event: EnvironmentEvent::from_json("tool_result", &payload.to_string()).unwrap(),
        newer: None,
    })
}

/// A copy with one fact, whose details name this blob.
async fn copy_of(log: &MemoryLog, blob: &BlobId) -> Writer {
    let new = NewLog::new(session(), OwnerId::new("own_local"), Timestamp(0), "/");
    log.create(new).await.unwrap();
    let writer = log.attach(&session()).await.unwrap();
    let batch = Batch::new(vec![result_with(blob)], [0; 32]);
    log.append(&writer, batch).await.unwrap();
    writer
}

/// A log in memory replaces no facts, so a change that passes the check fails with another error than
/// [`RuntimeError::Refused`].
#[tokio::test]
async fn a_stored_content_gets_another_name_only_if_both_are_here_to_compare() {
    let log = MemoryLog::new();
    let stored = |text: &str| log.put_blob(text.as_bytes().to_vec());
    let was = stored("pay 8204175936 to Ada").await.unwrap();
    let redacted = stored("pay [secret PIN] to Ada").await.unwrap();
    let other = stored("pay [secret PIN] to Eve").await.unwrap();
    let missing = BlobId::new("b3_00ff");
    let writer = copy_of(&log, &was).await;
    for (blob, reason) in [
        (&redacted, None),
        (&other, Some("has other words")),
        (&missing, Some("cannot be compared because it is missing")),
    ] {
        let error = replace_copied_facts(&log, &writer, vec![result_with(blob)], Vec::new()).await;
        let error = error.unwrap_err();
        let is_refused = matches!(error, RuntimeError::Refused(_));
        assert_eq!(is_refused, reason.is_some(), "{error}");
        assert!(error.to_string().contains(reason.unwrap_or_default()), "{error}");
    }
    // The second step of a swap: a name without a content gets one.
    let log = MemoryLog::new();
    let forged = log.put_blob(b"pay 900 to Eve".to_vec()).await.unwrap();
    let writer = copy_of(&log, &missing).await;
    let error = replace_copied_facts(&log, &writer, vec![result_with(&forged)], Vec::new()).await;
    assert!(matches!(error, Err(RuntimeError::Refused(_))), "{error:?}");
}
