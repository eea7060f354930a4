//! Servers that break the rules, one row each: what a call comes to, that no memory is lost to them, that
//! nothing is called twice, and that the next call is answered.

use std::time::Duration;

use agentx_mcp::McpFailure;
use agentx_types::{Access, ToolStatus};

use super::{TestServer, call, text};

/// Memory that a bad server may take in all, in KiB: a message of the greatest size takes a multiple of it
/// while it is decoded.
const MOST_KIB: u64 = 200 << 10;

/// The most memory that this process has had so far, in KiB; `None` if the system does not say.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A call of a bad server.
struct Row {
    /// The input of the call: see `bad_server.sh`.
    says: &'static str,
    status: ToolStatus,
    /// The text of the result.
    reason: &'static str,
    /// Whether the next call needs another process.
    is_lost: bool,
}

const fn row(says: &'static str, status: ToolStatus, reason: &'static str, is_lost: bool) -> Row {
    Row {
        says,
        status,
        reason,
        is_lost,
    }
}

const ROWS: &[Row] = {
    use ToolStatus::{Success, Unknown};
    &[
        row("die", Unknown, "ended", true),
        row("hang", Unknown, "did not answer within", true),
        row("huge", Unknown, "in one message", true),
        row("complain", Success, "echo", false),
        row("complain-and-hang", Unknown, "did not answer within", true),
        row("notify", Unknown, "since its last call", true),
        row("garbage", Success, "echo", false),
        row("only-garbage", Unknown, "Welcome to my server!", true),
        row("twice", Success, "first", false),
        row("ahead", Success, "first", false),
        row("wrong-id", Unknown, "did not answer within", true),
        row("word-id", Success, "echo", false),
        row("deep", Unknown, "did not answer within", true),
        row("many", Success, "a\n[a picture is left out", false),
    ]
};

#[tokio::test]
async fn whatever_a_server_does_in_a_call_the_call_has_one_end_and_the_next_is_answered() {
    let before = peak_kib();
    for row in ROWS {
        let mut server = TestServer::of("bad_server.sh", "plain");
        server.limits.call = Duration::from_secs(if row.reason.starts_with("did not") { 3 } else { 60 });
        let environment = server.environment();
        environment.connect().await.unwrap();
        let outcome = call(&environment, row.says).await;
        let said = text(&outcome);
        let short: String = said.chars().take(300).collect();
        assert_eq!(outcome.status, row.status, "{}: {short}", row.says);
        assert!(said.contains(row.reason), "{}: {short}", row.says);
        for _ in 0..2 {
            let next = call(&environment, "x").await;
            assert_eq!(
                text(&next),
                "echo",
                "{}: the next call has its own answer",
                row.says
            );
        }
        assert_eq!(server.started(), 1 + usize::from(row.is_lost), "{}", row.says);
        let calls = server.ledger().matches(&format!("called {}\n", row.says)).count();
        assert_eq!(calls, 1, "{} was called again", row.says);
        environment.close().await;
        let more = before.zip(peak_kib()).map(|(before, now)| now - before);
        assert!(
            more.is_none_or(|more| more < MOST_KIB),
            "{}: {more:?} KiB",
            row.says
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_read_is_not_waited_for() {
    let mut server = TestServer::of("bad_server.sh", "plain");
    server.limits.call = Duration::from_millis(500);
    let environment = server.environment();
    environment.connect().await.unwrap();
    let first = call(&environment, "deaf").await;
    assert_eq!(first.status, ToolStatus::Unknown, "{first:?}");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let long = "y".repeat(1 << 20);
    let (deaf, more) = tokio::join!(call(&environment, "deaf"), call(&environment, &long));
    for outcome in [deaf, more] {
        assert_eq!(outcome.status, ToolStatus::Unknown, "{outcome:?}");
    }
    assert_eq!(text(&call(&environment, "x").await), "echo");
}

#[tokio::test]
async fn tools_that_are_too_big_or_odd_are_left_out_with_the_reason() {
    for (how, offered, left_out) in [
        ("schema5", &["made-up__echo"][..], &["has 5000034 bytes"][..]),
        (
            "names",
            &["made-up__bash", "made-up__echo", "made-up__read"],
            &["cannot be shown", "0 bytes"],
        ),
    ] {
        let server = TestServer::of("bad_server.sh", how);
        let environment = server.environment();
        let known = environment.connect().await.unwrap();
        let names: Vec<String> = environment.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, offered, "{how}");
        assert_eq!(
            known.left_out.len(),
            left_out.len(),
            "{how}: {:?}",
            known.left_out
        );
        for why in left_out {
            let is_said = known.left_out.iter().any(|tool| tool.why.contains(why));
            assert!(is_said, "{how}: {why}: {:?}", known.left_out);
        }
        assert_eq!(text(&call(&environment, "x").await), "echo");
    }
    let server = TestServer::of("bad_server.sh", "schema9");
    let failure = server.environment().connect().await.unwrap_err();
    assert!(matches!(failure, McpFailure::Connection(_)), "{failure}");
    assert!(failure.to_string().contains("in one message"), "{failure}");
}

#[tokio::test]
async fn a_lie_about_a_tool_makes_its_call_no_freer() {
    let server = TestServer::of("bad_server.sh", "liar");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let specs = environment.specs();
    let wipe = specs.iter().find(|spec| spec.name == "made-up__wipe").unwrap();
    assert_eq!((wipe.access, wipe.idempotent), (Access::Run, false));
}

#[tokio::test]
async fn a_tool_that_changes_between_two_calls_is_not_called_as_it_was() {
    let server = TestServer::of("bad_server.sh", "plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let before = environment.tools().into_iter().next().unwrap();
    assert_eq!(text(&call(&environment, "later").await), "echo");
    let context = super::context(&Default::default(), &Default::default());
    // The note may come with the answer or long after it; a call before it is not a mistake.
    let refused = loop {
        let context = context.clone();
        let outcome = before.call(serde_json::json!({"text": "x"}), context).await;
        if outcome.status != ToolStatus::Success {
            break outcome;
        }
    };
    assert_eq!(refused.status, ToolStatus::Failed);
    assert!(text(&refused).contains("+Sends it away."), "{refused:?}");
    let changed = environment.specs()[0].reach.as_ref().unwrap().changed.clone();
    assert!(changed.is_some(), "a person is asked before its next call");
}
