//! Files of the server's disk: what somebody who decides is shown of them, how they go back, and that nobody
//! learns or changes more than the agent could. And inputs that wait.

use agentx_runtime::{Delivery, View};
use agentx_types::{RuntimeEvent, SessionId};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::Desk;

/// Says something, and waits until a person is asked about a call; which one.
async fn asked(desk: &Desk, token: &str, session: &str, content: &str) -> String {
    let path = format!("/v1/sessions/{session}/messages");
    let said = desk.post(&path, &json!({"content": content})).by(token);
    let seq = said.send().await.ok().json()["seq"].as_u64().unwrap();
    let open = desk.state.open(&SessionId::new(session)).await.unwrap();
    let mut events = open.subscribe(seq - 1, View::Runtime).await.unwrap();
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::ApprovalRequested(asked) = &event.event
        {
            return asked.tool_call_id.to_string();
        }
    }
    panic!("the session ended first");
}

/// Says something, and the operator allows what it leads to; the input's event.
async fn done(desk: &Desk, token: &str, session: &str, content: &str) -> u64 {
    let call = asked(desk, token, session, content).await;
    let path = format!("/v1/sessions/{session}/approvals");
    let yes = json!({"tool_call_id": call, "decision": "once"});
    let yes = desk.post(&path, &yes).by(&desk.operator);
    let seq = yes.send().await.ok().json()["seq"].as_u64();
    desk.until_finished(session, seq.unwrap()).await;
    let open = desk.state.open(&SessionId::new(session)).await.unwrap();
    let run = open.state().await.unwrap().run.unwrap().run_id.to_string();
    run["run_".len()..].parse().unwrap()
}

async fn file(desk: &Desk, token: &str, session: &str, call: &str) -> Value {
    let path = format!("/v1/sessions/{session}/file?tool_call_id={call}");
    desk.get(&path).by(token).send().await.ok().json()
}

#[tokio::test]
async fn who_decides_sees_what_would_change() {
    let desk = Desk::new().await;
    std::fs::write(desk.ann_dir().join("notes.txt"), "one\nhello\n").unwrap();
    let session = desk.session(&desk.ann).await;
    let call = asked(&desk, &desk.ann, &session, "replace hello with bye in notes.txt").await;
    let shown = file(&desk, &desk.ann, &session, &call).await;
    assert_eq!(shown, json!({"path": "notes.txt", "text": "one\nhello\n"}));
    let path = format!("/v1/sessions/{session}/file?tool_call_id=");
    let other = desk.get(&format!("{path}call_other")).by(&desk.ann).send().await;
    assert_eq!(
        (other.status, other.code().as_str()),
        (StatusCode::CONFLICT, "refused")
    );
    let path = format!("{path}{call}");
    assert_eq!(desk.get(&path).by(&desk.bob).send().await.code(), "no_session");
    for (role, status) in [("watch", StatusCode::FORBIDDEN), ("approve", StatusCode::OK)] {
        desk.share(&desk.ann, &session, &desk.bob_id, json!(role)).await;
        let answer = desk.get(&path).by(&desk.bob).send().await;
        assert_eq!(answer.status, status, "{role}");
    }
}

#[tokio::test]
async fn a_question_shows_nothing_that_the_agent_could_not_simply_read() {
    let desk = Desk::new().await;
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    std::fs::write(&secret, "the key\n").unwrap();
    let inside = desk.ann_dir();
    std::os::unix::fs::symlink(&secret, inside.join("link.txt")).unwrap();
    std::fs::write(inside.join("private.txt"), "mine\n").unwrap();
    let mut config = desk.agent().await;
    config["rules"] = json!([{"effect": "deny", "tool": "read", "path": "private.txt"}]);
    for path in [secret.to_str().unwrap(), "link.txt", "private.txt"] {
        let made = desk.post("/v1/sessions", &json!({"config": config}));
        let made = made.by(&desk.ann).send().await.ok().json();
        let session = made["session_id"].as_str().unwrap();
        let call = asked(&desk, &desk.ann, session, &format!("write words to {path}")).await;
        let shown = file(&desk, &desk.ann, session, &call).await;
        assert!(
            shown["text"].is_null() && shown["withheld"].is_string(),
            "{path}: {shown}"
        );
        assert!(!shown.to_string().contains("the key"), "{shown}");
    }
    let session = desk.session(&desk.operator).await;
    let wish = format!("write words to {}", secret.display());
    let call = asked(&desk, &desk.operator, &session, &wish).await;
    let shown = file(&desk, &desk.operator, &session, &call).await;
    assert_eq!(
        shown["text"], "the key\n",
        "whoever runs the server sees its files"
    );
}

/// Made up, in a published form.
const TOKEN: &str = "ghp_aaaabbbbccccddddeeeeffffgggghhhhiiii";

#[tokio::test]
async fn secrets_in_files_are_shown_to_the_operator_alone() {
    let desk = Desk::new().await;
    let notes = desk.ann_dir().join("notes.txt");
    let session = desk.session(&desk.ann).await;
    let wish = "replace hello with bye in notes.txt";
    std::fs::write(&notes, format!("hello {TOKEN}\n")).unwrap();
    let call = asked(&desk, &desk.ann, &session, wish).await;
    let shown = file(&desk, &desk.ann, &session, &call).await;
    assert_eq!(shown["text"], "hello [secret github-token]\n");
    let path = format!("/v1/sessions/{session}/approvals");
    let no = json!({"tool_call_id": call, "decision": "deny"});
    let seq = desk.post(&path, &no).by(&desk.ann).send().await.ok().json()["seq"].as_u64();
    desk.until_finished(&session, seq.unwrap()).await;

    let (read, failed) = super::mcp::called(&desk, &desk.ann, "read", json!({"path": "notes.txt"})).await;
    assert!(!failed && read.contains("hello [secret github-token]"), "{read}");

    std::fs::write(&notes, "hello\n").unwrap();
    let first = done(&desk, &desk.ann, &session, wish).await;
    std::fs::write(&notes, format!("later {TOKEN}\n")).unwrap();
    let plan = format!("/v1/sessions/{session}/restore?to_seq={first}");
    let plan = desk.get(&plan).by(&desk.ann).send().await.ok().json();
    let diff = plan["files"][0]["diff"].as_str().unwrap();
    assert!(
        diff.contains("-later [secret github-token]") && !diff.contains(TOKEN),
        "{plan}"
    );
}

#[tokio::test]
async fn files_go_back_over_http() {
    let desk = Desk::new().await;
    let notes = desk.ann_dir().join("notes.txt");
    std::fs::write(&notes, "one\nhello\n").unwrap();
    let session = desk.session(&desk.ann).await;
    let at = format!("/v1/sessions/{session}");
    let first = done(&desk, &desk.ann, &session, "replace hello with bye in notes.txt").await;
    let plan = desk.seen(&format!("{at}/restore?to_seq={first}")).await;
    let planned = &plan["files"][0];
    assert_eq!(
        (&planned["shown"], &planned["happens"]),
        (&json!("notes.txt"), &json!("changed"))
    );
    let wish = |to_seq: &Value, file: &Value| {
        let file = json!({"path": file["path"], "seen": file["seen"]});
        json!({"wish": {"to_seq": to_seq, "files": [file]}})
    };
    let restore = async |token: &str, body: &Value| {
        let ask = desk.post(&format!("{at}/restore"), body).by(token);
        ask.send().await
    };
    let body = wish(&json!(first), planned);
    desk.share(&desk.ann, &session, &desk.bob_id, json!("approve"))
        .await;
    assert_eq!(restore(&desk.bob, &body).await.status, StatusCode::FORBIDDEN);
    // Something runs: a question is open.
    let call = asked(&desk, &desk.ann, &session, "run echo hi").await;
    assert_eq!(restore(&desk.ann, &body).await.code(), "refused");
    let no = json!({"tool_call_id": call, "decision": "deny"});
    let seq = desk
        .post(&format!("{at}/approvals"), &no)
        .by(&desk.ann)
        .send()
        .await;
    desk.until_finished(&session, seq.ok().json()["seq"].as_u64().unwrap())
        .await;
    let with_key = async || {
        let ask = desk.post(&format!("{at}/restore"), &body).by(&desk.ann);
        ask.header("idempotency-key", "made up").send().await
    };
    let (report, twin) = tokio::join!(with_key(), with_key());
    let report = report.ok().json();
    assert_eq!(twin.ok().json(), report, "two equal requests at once are one");
    assert_eq!(
        (&report["failed"], report["restored"].as_array().unwrap().len()),
        (&json!([]), 1),
        "{report}"
    );
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nhello\n");
    // The answer was lost: asked again, it says what became of the files.
    assert_eq!(with_key().await.ok().json(), report);
    // As it was seen before: it is something else now.
    let stale = restore(&desk.ann, &body).await.ok().json();
    assert_eq!(stale["failed"].as_array().unwrap().len(), 1, "{stale}");
    let plan = desk.seen(&format!("{at}/restore?to_seq={}", report["seq"])).await;
    let undone = restore(&desk.ann, &wish(&report["seq"], &plan["files"][0])).await;
    assert_eq!(undone.ok().json()["failed"], json!([]));
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nbye\n");
}

#[tokio::test]
async fn a_member_puts_nothing_back_that_lies_elsewhere() {
    let desk = Desk::new().await;
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().canonicalize().unwrap().join("words.txt");
    let session = desk.session(&desk.ann).await;
    let wish = format!("write words to {}", place.display());
    let first = done(&desk, &desk.ann, &session, &wish).await;
    std::fs::write(&place, "by somebody else\n").unwrap();
    let at = format!("/v1/sessions/{session}/restore");
    let plan = desk.seen(&format!("{at}?to_seq={first}")).await;
    let planned = &plan["files"][0];
    assert!(planned["blocked"].is_string(), "{planned}");
    assert_eq!((&planned["seen"], &planned["diff"]), (&Value::Null, &json!("")));
    let body = json!({"wish": {"to_seq": first, "files": [{"path": place}]}});
    let report = desk.post(&at, &body).by(&desk.ann).send().await.ok().json();
    assert_eq!(report["failed"].as_array().unwrap().len(), 1, "{report}");
    assert!(
        report["seq"].is_null(),
        "nothing is on record where nothing was touched"
    );
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "by somebody else\n");
}

/// A guest who drives the operator's session can neither see nor restore a file with secrets, by any request;
/// the operator can do both.
#[tokio::test]
async fn who_drives_neither_sees_nor_puts_back_a_file_with_secrets() {
    let desk = Desk::new().await;
    let workspace = std::fs::canonicalize(desk.directory.path()).unwrap();
    let place = workspace.join(".env");
    let session = desk.session(&desk.operator).await;
    let first = done(&desk, &desk.operator, &session, "write words to .env").await;
    std::fs::write(&place, "TOKEN=made-up\n").unwrap();
    desk.share(&desk.operator, &session, &desk.bob_id, json!("drive"))
        .await;
    desk.release(&desk.operator, &session).await;
    let at = format!("/v1/sessions/{session}");
    let plan = async |token: &str| {
        let path = format!("{at}/restore?to_seq={first}");
        desk.get(&path).by(token).send().await.ok().json()["files"][0].clone()
    };
    let blocked = plan(&desk.bob).await;
    assert!(
        blocked["blocked"].as_str().unwrap().contains("secrets"),
        "{blocked}"
    );
    assert_eq!((&blocked["seen"], &blocked["diff"]), (&Value::Null, &json!("")));
    assert!(!blocked.to_string().contains("made-up"));
    let planned = plan(&desk.operator).await;
    assert!(planned["diff"].as_str().unwrap().contains("made-up"), "{planned}");
    let restore = async |token: &str, path: &std::path::Path, seen: &Value| {
        let file = json!({"path": path, "seen": seen});
        let body = json!({"wish": {"to_seq": first, "files": [file]}});
        let asked = desk.post(&format!("{at}/restore"), &body).by(token);
        asked.send().await.ok().json()
    };
    for path in [
        place.clone(),
        workspace.join("./.env"),
        workspace.join("members/../.env"),
        ".env".into(),
    ] {
        for seen in [&planned["seen"], &Value::Null] {
            let report = restore(&desk.bob, &path, seen).await;
            assert_eq!(report["failed"].as_array().unwrap().len(), 1, "{report}");
            assert!(
                report["seq"].is_null() && report["restored"] == json!([]),
                "{report}"
            );
        }
    }
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "TOKEN=made-up\n");
    desk.release(&desk.bob, &session).await;
    let report = restore(&desk.operator, &place, &planned["seen"]).await;
    assert_eq!(report["failed"], json!([]), "{report}");
    assert!(!place.exists(), "it was not there before");
}

/// A rule about writing or reading a file holds for who puts it back, too, and for what they are shown of it.
#[tokio::test]
async fn who_drives_puts_nothing_back_that_a_rule_denies_or_asks_about() {
    let desk = Desk::new().await;
    let workspace = std::fs::canonicalize(desk.directory.path()).unwrap();
    let place = workspace.join("plan.txt");
    let absolute = place.to_string_lossy();
    for (rule, is_kept) in [
        (
            json!({"effect": "deny", "tool": "write", "path": "plan.txt"}),
            true,
        ),
        (json!({"effect": "deny", "tool": "read", "path": absolute}), true),
        (json!({"effect": "deny", "tool": "*", "path": "*.txt"}), true),
        (json!({"effect": "ask", "tool": "edit", "path": "plan.txt"}), true),
        (
            json!({"effect": "deny", "tool": "write", "path": "other.txt"}),
            false,
        ),
        (json!({"effect": "deny", "tool": "bash"}), false),
    ] {
        let session = desk.session(&desk.operator).await;
        let first = done(&desk, &desk.operator, &session, "write words to plan.txt").await;
        let at = format!("/v1/sessions/{session}");
        let added = json!({"change": {"rule_added": rule}});
        let added = desk.post(&format!("{at}/changes"), &added).by(&desk.operator);
        added.send().await.ok();
        std::fs::write(&place, "made-up\n").unwrap();
        desk.share(&desk.operator, &session, &desk.bob_id, json!("drive"))
            .await;
        desk.release(&desk.operator, &session).await;
        let plan = async |token: &str| {
            let path = format!("{at}/restore?to_seq={first}");
            desk.get(&path).by(token).send().await.ok().json()["files"][0].clone()
        };
        let (shown, planned) = (plan(&desk.bob).await, plan(&desk.operator).await);
        assert!(planned["blocked"].is_null(), "the operator may: {rule} {planned}");
        assert_eq!(shown["blocked"].is_string(), is_kept, "{rule} {shown}");
        assert_eq!(shown.to_string().contains("made-up"), !is_kept, "{rule} {shown}");
        let file = json!({"path": place, "seen": planned["seen"]});
        let body = json!({"wish": {"to_seq": first, "files": [file]}});
        let asked = desk.post(&format!("{at}/restore"), &body).by(&desk.bob);
        let report = asked.send().await.ok().json();
        assert_eq!(report["restored"] == json!([]), is_kept, "{rule} {report}");
        assert_eq!(place.exists(), is_kept, "it was not there before: {rule}");
        std::fs::remove_file(&place).ok();
    }
}

#[tokio::test]
async fn what_waits_is_taken_back_or_heard_sooner() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let at = format!("/v1/sessions/{session}");
    asked(&desk, &desk.ann, &session, "run echo hi").await;
    for words in ["one", "two"] {
        let ask = desk.post(&format!("{at}/messages"), &json!({"content": words}));
        ask.by(&desk.ann).send().await.ok();
    }
    let queued = desk.seen(&format!("{at}/state")).await["queued"].clone();
    let revise = async |body: Value| {
        let ask = desk.post(&format!("{at}/revisions"), &body).by(&desk.ann);
        ask.send().await
    };
    revise(json!({"message_id": queued[0][0]})).await.ok();
    revise(json!({"message_id": queued[1][0], "mode": "steer"}))
        .await
        .ok();
    let state = desk.seen(&format!("{at}/state")).await;
    assert_eq!(
        (&state["queued"], &state["joining"]),
        (&json!([queued[1]]), &json!(1))
    );
    // Sent again, because its answer was lost, it counts as done; anything else comes too late.
    revise(json!({"message_id": queued[0][0]})).await.ok();
    let gone = revise(json!({"message_id": queued[0][0], "mode": "steer"})).await;
    assert_eq!(gone.code(), "refused", "it waits no more");
    let nothing = json!({"wish": {"restore": {}}});
    let nothing = desk.post(&format!("{at}/context"), &nothing).by(&desk.ann);
    assert_eq!(
        nothing.send().await.code(),
        "refused",
        "there is no condensed part"
    );
}
