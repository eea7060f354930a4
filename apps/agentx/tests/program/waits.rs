//! Runs that wait for a time, and prompts that are run at set times: each goes on once, whatever dies, and
//! however many processes look for what is due.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// The number of processes that race.
const RACERS: usize = 4;

/// A model that waits for so many seconds, and then says that it is done.
async fn model_that_waits(seconds: u64) -> StrictServer {
    let answer = move |body: &Value| {
        if body.to_string().contains("The wait is over") {
            return ModelAnswer::text("done");
        }
        ModelAnswer::default().then(AnswerPart::Call {
            id: "call_1".into(),
            name: "wait".into(),
            input: json!({ "seconds": seconds, "reason": "the build" }),
        })
    };
    StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), answer).await
}

fn sandbox_of(server: &StrictServer) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodels:\n  m: {{provider: mine}}\nmodel: m\ntools: {{optional: [wait]}}\n",
        server.url()
    ));
    sandbox
}

/// The waits of all sessions.
fn waits(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run(&["waits", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    serde_json::from_str(&listed.stdout).unwrap()
}

/// Starts processes that race, and waits for all of them; returns what they printed on standard error.
fn race(sandbox: &Sandbox, args: &[&str]) -> String {
    let racers: Vec<Child> = (0..RACERS)
        .map(|_| sandbox.command(args).spawn().unwrap())
        .collect();
    let ends = racers.into_iter().map(|racer| racer.wait_with_output().unwrap());
    let told = ends.map(|end| {
        let told = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(end.status.success(), "{told}");
        told
    });
    told.collect()
}

/// The only session as a front end sees it.
fn facts(sandbox: &Sandbox) -> String {
    let id = crate::rewind::id_of(sandbox, 0);
    let shown = sandbox.run(&["sessions", "show", "--json", &id]);
    assert_eq!(shown.code, Some(0), "{shown}");
    shown.stdout
}

/// Checks that the only wait of the only session has ended once, and the run after it.
fn has_ended_once(sandbox: &Sandbox) {
    let facts = facts(sandbox);
    for event in ["tool_executing", "tool_result", "tool_completed"] {
        let written = format!("\"event\":\"{event}\"");
        assert_eq!(facts.matches(&written).count(), 1, "{event}: {facts}");
    }
    assert!(facts.contains("done"), "{facts}");
    assert_eq!(waits(sandbox), Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_long_is_left_and_says_how_to_continue() {
    let server = model_that_waits(7_200).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let ran = sandbox.run(&["run", "--output-format", "json", "go"]);
        assert_eq!(ran.code, Some(11), "{ran}");
        let result = ran.result();
        let error = &result["error"];
        assert_eq!(error["kind"], "waits", "{ran}");
        assert!(
            error["message"].to_string().contains("agentx run --session"),
            "{ran}"
        );
        let listed = waits(&sandbox);
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (&listed[0]["kind"], &listed[0]["reason"]),
            (&json!("call"), &json!("the build"))
        );
        let ran = sandbox.run(&["waits", "run"]);
        assert_eq!(ran.code, Some(0), "nothing is due: {ran}");
        assert_eq!(waits(&sandbox).len(), 1);
        let shown = sandbox.run(&["waits"]);
        assert!(shown.stdout.contains("the build"), "{shown}");
        let shown = sandbox.run(&["sessions", "list"]);
        assert!(shown.stdout.contains("waits, 1h 5"), "{shown}");
        assert!(!shown.stdout.contains("interrupted"), "{shown}");
        let id = crate::rewind::id_of(&sandbox, 0);
        let ran = sandbox.run(&["run", "--session", &id, "and the docs?"]);
        assert_eq!(ran.code, Some(11), "{ran}");
        assert!(ran.stderr.contains("your message is in the queue"), "{ran}");
        assert_eq!(waits(&sandbox).len(), 1);
    });
}

/// Each run ends in the same words, because its agent waits again.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_several_sessions_names_the_session_of_each_line() {
    let answer = |body: &Value| {
        let is_over = body.to_string().contains("The wait is over");
        let (id, seconds) = if is_over { ("call_2", 7_200) } else { ("call_1", 4) };
        ModelAnswer::default().then(AnswerPart::Call {
            id: id.into(),
            name: "wait".into(),
            input: json!({ "seconds": seconds, "reason": "the build" }),
        })
    };
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), answer).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server).env("AGENTX_MODLE", "opus");
        for _ in 0..2 {
            let ran = sandbox.run(&["run", "--timeout", "2s", "go"]);
            assert_eq!(ran.code, Some(11), "{ran}");
        }
        let ran = sandbox
            .command(&["waits", "run", "--for", "8s"])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{shown}");
        for index in 0..2 {
            let id = crate::rewind::id_of(&sandbox, index);
            assert!(
                shown.contains(&format!("· {id}: the agent waits until")),
                "{id}: {shown}"
            );
        }
        let notes = shown.matches("warning: AGENTX_MODLE").count();
        assert_eq!(notes, 1, "both runs have the same note: {shown}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn of_four_processes_that_watch_exactly_one_ends_a_wait() {
    let server = model_that_waits(4).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let ran = sandbox.run(&["run", "--timeout", "2s", "go"]);
        assert_eq!(ran.code, Some(11), "{ran}");
        race(&sandbox, &["waits", "run", "--until-empty", "--for", "1m"]);
        has_ended_once(&sandbox);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_once_although_its_program_was_killed() {
    let server = model_that_waits(3).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let mut child = sandbox
            .command(&["run", "--output-format", "stream-json", "go"])
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"tool_executing\"") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it waited");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waits(&sandbox).len(), 1);
        race(&sandbox, &["waits", "run", "--until-empty", "--for", "1m"]);
        has_ended_once(&sandbox);
    });
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_left_keeps_the_wait() {
    let server = model_that_waits(7_200).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let mut chat = crate::pty::Pty::start(&sandbox, &[], 100, 40);
        chat.wait_for_last("›");
        chat.keys("go\r");
        let begun = (0..1_000).any(|_| !waits(&sandbox).is_empty());
        assert!(begun, "{:#?}", chat.lines());
        chat.keys("\u{4}");
        chat.wait_for("the agent waits for a time; press Ctrl-D again to leave");
        chat.keys("\u{4}");
        assert_eq!(chat.end(), Some(0));
        assert!(
            chat.lines().iter().any(|line| line.contains("it waits until")),
            "{:#?}",
            chat.lines()
        );
        assert_eq!(waits(&sandbox).len(), 1);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_wait_is_waited_for_in_place() {
    let server = model_that_waits(1).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let ran = sandbox.run(&["run", "go"]);
        assert_eq!(ran.code, Some(0), "{ran}");
        has_ended_once(&sandbox);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_waits_only_if_the_settings_turn_that_on() {
    let server = model_that_waits(1).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_of(&server);
        let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
        sandbox.config(&config.replace("tools: {optional: [wait]}", "limits: {max_iterations: 1}"));
        let ran = sandbox.run(&["run", "go"]);
        assert_eq!(ran.code, Some(6), "{ran}");
        assert!(facts(&sandbox).contains("There is no tool"), "{ran}");
    });
}

/// A model that sets a reminder in so many seconds, and tells it when it is due.
async fn model_that_reminds(seconds: u64) -> StrictServer {
    let answer = move |body: &Value| {
        let body = body.to_string();
        if body.contains("reminders that you set in this session are due") {
            return ModelAnswer::text("Call Bob!");
        }
        if body.contains("You get a message then") {
            return ModelAnswer::text("I will remind you.");
        }
        ModelAnswer::default().then(AnswerPart::Call {
            id: "call_1".into(),
            name: "remind_me".into(),
            input: json!({ "text": "call Bob", "seconds": seconds }),
        })
    };
    StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), answer).await
}

/// A sandbox whose model is this one, and has the tool `remind_me`.
fn sandbox_with_reminders(server: &StrictServer) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodels:\n  m: {{provider: mine}}\nmodel: m\n\
         tools: {{optional: [remind_me]}}\n",
        server.url()
    ));
    sandbox
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_left_names_the_next_reminder() {
    let server = model_that_reminds(7_200).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_with_reminders(&server);
        let mut chat = crate::pty::Pty::start(&sandbox, &[], 120, 40);
        chat.wait_for_last("›");
        chat.keys("remind me to call Bob\r");
        chat.wait_for("I will remind you.");
        chat.wait_for_last("›");
        chat.keys("\u{4}");
        assert_eq!(chat.end(), Some(0));
        assert!(
            chat.lines()
                .iter()
                .any(|line| line.contains("a reminder is due at")),
            "{:#?}",
            chat.lines()
        );
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_of_a_session_that_is_over_is_told_once() {
    let server = model_that_reminds(3).await;
    tokio::task::block_in_place(|| {
        let sandbox = sandbox_with_reminders(&server);
        let ran = sandbox.run(&["run", "remind me to call Bob"]);
        assert_eq!(ran.code, Some(0), "the run does not wait: {ran}");
        assert!(ran.stdout.contains("I will remind you."), "{ran}");
        let listed = waits(&sandbox);
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(
            (&listed[0]["kind"], &listed[0]["reason"]),
            (&json!("reminder"), &json!("call Bob"))
        );
        race(&sandbox, &["waits", "run", "--until-empty", "--for", "1m"]);
        let facts = facts(&sandbox);
        assert_eq!(facts.matches("\"event\":\"run_finished\"").count(), 2, "{facts}");
        assert!(facts.contains("Call Bob!"), "{facts}");
        assert_eq!(waits(&sandbox), Vec::<Value>::new());
    });
}

/// Adds a schedule that has been due since the first of January, as if it had been made two years ago.
fn due_schedule(sandbox: &Sandbox) {
    let added: Ran = sandbox.run(&[
        "schedule",
        "add",
        "0 0 1 1 *",
        "hello",
        "--name",
        "greeting",
        "--zone",
        "UTC",
    ]);
    assert_eq!(added.code, Some(0), "{added}");
    let path = sandbox.path("home/.local/share/agentx/schedules.json");
    let mut kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let created = kept["schedules"][0]["created_at"].as_i64().unwrap();
    kept["schedules"][0]["created_at"] = json!(created - 2 * 366 * 86_400 * 1_000_000);
    std::fs::write(&path, kept.to_string()).unwrap();
}

fn titles(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run(&["sessions", "list", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    listed
        .into_iter()
        .map(|session| session["title"].clone())
        .collect()
}

#[test]
fn of_four_processes_exactly_one_runs_a_schedule_and_missed_times_are_caught_up_once() {
    let sandbox = Sandbox::new();
    due_schedule(&sandbox);
    let told = race(&sandbox, &["waits", "run"]);
    assert_eq!(told.matches("greeting has been due since").count(), 1, "{told}");
    assert!(told.contains("missed, and"), "{told}");
    assert_eq!(titles(&sandbox), [json!("greeting")]);
    let again = sandbox.run(&["waits", "run"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(titles(&sandbox).len(), 1);
    let listed = sandbox.run(&["schedule", "list", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["is_running"], false, "{listed:?}");
    assert!(listed[0]["last_session"].is_string(), "{listed:?}");
}

#[test]
fn a_schedule_whose_program_died_before_its_prompt_is_run_once() {
    let sandbox = Sandbox::new();
    due_schedule(&sandbox);
    let path = sandbox.path("home/.local/share/agentx/schedules.json");
    let mut kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    // As if a process had begun the time and died before it opened a session.
    let created = kept["schedules"][0]["created_at"].clone();
    kept["schedules"][0]["begun"] = json!({ "due_at": created, "begun_at": created });
    kept["schedules"][0]["last_due"] = json!(i64::MAX);
    std::fs::write(&path, kept.to_string()).unwrap();
    let told = race(&sandbox, &["waits", "run"]);
    assert_eq!(
        told.matches("started by a program that died").count(),
        1,
        "{told}"
    );
    assert_eq!(titles(&sandbox), [json!("greeting")]);
}

#[test]
fn a_run_that_a_kill_ended_is_found_although_the_clock_was_set_back_meanwhile() {
    let sandbox = Sandbox::new();
    due_schedule(&sandbox);
    let ran = sandbox.run(&["run", "--quiet", "--title", "greeting", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let session = sandbox.latest_id([]);
    let path = sandbox.path("home/.local/share/agentx/schedules.json");
    let read = || -> Value { serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap() };
    let mut kept = read();
    // A process began the time by a clock that was a day ahead, and was killed when its run had ended.
    let now = kept["schedules"][0]["created_at"].as_i64().unwrap() + 2 * 366 * 86_400 * 1_000_000;
    kept["schedules"][0]["begun"] = json!({ "due_at": now, "begun_at": now + 86_400 * 1_000_000 });
    kept["schedules"][0]["begun_session"] = json!(session);
    kept["schedules"][0]["last_due"] = json!(now);
    std::fs::write(&path, kept.to_string()).unwrap();
    let again = sandbox.run(&["waits", "run"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(titles(&sandbox), [json!("greeting")]);
    let kept = read();
    assert_eq!(kept["schedules"][0]["last_session"], json!(session));
    assert!(kept["schedules"][0]["begun"].is_null(), "{kept}");
    assert!(kept["schedules"][0]["begun_session"].is_null(), "{kept}");
}

#[test]
fn a_clock_that_was_ahead_silences_no_schedule() {
    let sandbox = Sandbox::new();
    due_schedule(&sandbox);
    let path = sandbox.path("home/.local/share/agentx/schedules.json");
    let read = || -> Value { serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap() };
    let mut kept = read();
    let ahead = kept["schedules"][0]["created_at"].as_i64().unwrap() + 10 * 366 * 86_400 * 1_000_000;
    kept["schedules"][0]["last_due"] = json!(ahead);
    // A run that the same clock began, and a kill ended.
    kept["schedules"][0]["begun"] = json!({ "due_at": ahead, "begun_at": ahead });
    std::fs::write(&path, kept.to_string()).unwrap();
    let first = sandbox.run(&["waits", "run"]).to_string();
    assert!(first.contains("lies ahead of the clock"), "{first}");
    assert!(first.contains("started by a program that died"), "{first}");
    assert_eq!(titles(&sandbox), [json!("greeting")]);
    assert!(read()["schedules"][0]["last_due"].as_i64().unwrap() < ahead);
    let second = sandbox.run(&["waits", "run"]).to_string();
    assert!(!second.contains("ahead"), "{second}");
}

#[test]
fn a_schedule_is_kept_listed_and_removed_and_a_wrong_one_is_refused() {
    let sandbox = Sandbox::new();
    let added = sandbox.run(&[
        "schedule",
        "add",
        "0 8 * * 1-5",
        "what",
        "is",
        "new?",
        "--zone",
        "Europe/Berlin",
    ]);
    assert_eq!(added.code, Some(0), "{added}");
    let listed = sandbox.run(&["schedule"]);
    assert!(listed.stdout.contains("0 8 * * 1-5 Europe/Berlin"), "{listed}");
    assert!(listed.stdout.contains("what is new?"), "{listed}");
    for (args, words) in [
        (
            &["schedule", "add", "every day", "x"][..],
            "is not a cron pattern",
        ),
        (
            &["schedule", "add", "@daily", "x", "--zone", "Mars"],
            "no time zone",
        ),
        (
            &["schedule", "add", "@daily", "x", "--name", "schedule"],
            "there is a schedule",
        ),
        (&["schedule", "remove", "none"], "there is no schedule"),
    ] {
        let refused = sandbox.run(args);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(words), "{refused}");
    }
    assert_eq!(sandbox.run(&["schedule", "remove", "schedule"]).code, Some(0));
    assert!(sandbox.run(&["schedule", "list"]).stdout.is_empty());
}

#[test]
fn a_schedule_names_only_what_exists_and_keeps_no_secret() {
    let sandbox = Sandbox::new().env("MADE_UP_TOKEN", "q7Zr2mW9xK4vT1nB8sLd");
    sandbox.write("ws/notes.txt", "notes");
    for (args, words) in [
        (&["hello", "--agent", "nobody"][..], "nobody"),
        (
            &["hello", "--model", "sonet"],
            "unknown model `sonet` (flag --model)",
        ),
        (&["read @missing.txt"], "missing.txt"),
        (&["/missing now"], "there is no command /missing"),
        (
            &["say q7Zr2mW9xK4vT1nB8sLd"],
            "the prompt contains a secret (MADE_UP_TOKEN)",
        ),
    ] {
        let added = sandbox.run(&[&["schedule", "add", "@daily"][..], args].concat());
        assert_eq!(added.code, Some(2), "{added}");
        assert!(added.stderr.contains(words), "{added}");
    }
    let kept = sandbox.path("home/.local/share/agentx/schedules.json");
    assert!(!kept.exists());
    for name in ["schedule", "schedule-2"] {
        let added = sandbox.run(&["schedule", "add", "@daily", "read @notes.txt", "--model", "demo"]);
        assert_eq!(added.code, Some(0), "{added}");
        assert!(added.stdout.contains(&format!("added {name}:")), "{added}");
    }
}
