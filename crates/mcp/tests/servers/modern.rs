//! Features that version 2026-07-28 has in another form: tasks, streams about changed tools, and log messages
//! that are asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::MemoryLog;
use agentx_types::ToolStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{TestServer, call, context, text};

/// The longest wait for something that another process does.
const BOUND: Duration = Duration::from_secs(60);

/// Waits until the server has written something so many times at least.
async fn written(server: &TestServer, what: &str, times: usize) {
    let until = Instant::now() + BOUND;
    while server.ledger().matches(what).count() < times {
        assert!(Instant::now() < until, "{what}: {}", server.ledger());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn log_messages_are_asked_for_where_none_come_without() {
    for (how, is_asked) in [("modern", true), ("plain", false)] {
        let server = TestServer::new(how);
        let environment = server.environment();
        environment.connect().await.unwrap();
        call(&environment, "x").await;
        let asks = server
            .ledger()
            .contains(r#""io.modelcontextprotocol/logLevel":"info""#);
        assert_eq!(asks, is_asked, "{}", server.ledger());
    }
}

#[tokio::test]
async fn a_call_that_becomes_a_task_is_followed_to_its_end() {
    let server = TestServer::new("modern");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let outcome = call(&environment, "task asks").await;
    assert_eq!(
        (outcome.status, text(&outcome)),
        (ToolStatus::Success, "the task is done")
    );
    let ledger = server.ledger();
    assert!(
        ledger.contains(r#""inputResponses":{"where":{"roots":[{"uri":"file:///"}]}}"#),
        "{ledger}"
    );
    assert!(
        ledger.contains(r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#),
        "{ledger}"
    );
    assert_eq!(ledger.matches("updated").count(), 1, "{ledger}");
    let outcome = call(&environment, "task fails").await;
    assert_eq!(outcome.status, ToolStatus::Failed);
    assert!(text(&outcome).contains("the task broke"), "{outcome:?}");
}

#[tokio::test]
async fn a_cancelled_call_and_one_that_takes_too_long_cancel_their_task() {
    let mut server = TestServer::new("modern");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let (log, cancel) = (Arc::new(MemoryLog::new()), CancellationToken::new());
    let tool = environment.tools().into_iter().next().unwrap();
    let calling = tool.call(json!({"text": "task works"}), context(&log, &cancel));
    let cancelling = async {
        written(&server, "got {", 1).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    assert_eq!(outcome.status, ToolStatus::Unknown, "{outcome:?}");
    written(&server, "ends {", 1).await;
    environment.close().await;
    server.limits.call = Duration::from_millis(300);
    let environment = server.environment();
    environment.connect().await.unwrap();
    let outcome = call(&environment, "task works").await;
    assert_eq!(outcome.status, ToolStatus::Unknown, "{outcome:?}");
    written(&server, "ends {", 2).await;
}

#[tokio::test]
async fn a_server_that_reports_changed_tools_is_listened_to_and_they_are_listed_again() {
    let server = TestServer::new("listens");
    let environment = server.environment();
    environment.connect().await.unwrap();
    written(&server, "listens {", 1).await;
    let until = Instant::now() + BOUND;
    assert_eq!(text(&call(&environment, "announce").await), "changed");
    // The report comes on another stream than the result. The list is read again before a call.
    while environment.known().tools[0].description != "Sends it away." {
        assert!(Instant::now() < until, "{:?}", environment.known().tools);
        call(&environment, "x").await;
    }
    let silent = TestServer::new("modern");
    let environment = silent.environment();
    environment.connect().await.unwrap();
    call(&environment, "x").await;
    assert!(!silent.ledger().contains("listens {"), "{}", silent.ledger());
}
