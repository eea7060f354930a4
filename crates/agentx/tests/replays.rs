//! A recorded session as a test, by the macro that a user writes. The session is made up: a scripted model
//! asks a question, and the person at the terminal answers it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

agentx::replay_test!("tests/fixtures/question.session");

/// The message of a replay that fails.
fn failure(text: &str) -> String {
    let failed = std::panic::catch_unwind(|| agentx::support::replay_fixture("bug.session", text));
    let message = failed.expect_err("the replay fails");
    message.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_fixture_that_decides_otherwise_fails_and_says_where() {
    let text = include_str!("fixtures/question.session");
    // The person gives another answer than what was recorded behind it.
    let answer = "\"decision\":\"once\",\"note\":\"2\"";
    assert_eq!(text.matches(answer).count(), 1, "the fixture has one answer");
    let approval = text.lines().find(|line| line.contains(answer)).unwrap();
    let seq = approval
        .split("\"seq\":")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .unwrap();
    let message = failure(&text.replace(answer, "\"decision\":\"once\",\"note\":\"1\""));
    let place = format!("bug.session: the session decides otherwise at seq {seq} (approval), line 2");
    assert!(message.starts_with(&place), "{message}");
    let (recorded, now) = message.split_once("now:").unwrap();
    assert!(
        recorded.contains("answers: blue") && now.contains("answers: red"),
        "{message}"
    );
    assert!(failure("{}").starts_with("bug.session: not a fixture"));
}
