//! Servers that behave, and servers that do not: what becomes of calls, of processes and of what is known.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

mod bad;
mod modern;
mod of_folder;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Bus, BusDelivery, Filter, Queue, Reactors, Restart, TopicPattern};
use agentx_config::{McpServerSettings, McpTarget, McpValue, Secret};
use agentx_mcp::{KnownServers, McpEnvironment, McpFailure, McpLaunchContext, McpLimits, McpServerState};
use agentx_runtime::{
    ActionDispatcher, DriverParts, MemoryLog, SystemBus, SystemClock, SystemEvent, ToolContext, ToolOutcome,
    TransportChange,
};
use agentx_testing::fixture;
use agentx_tools::ProgramEnvironment;
use agentx_types::{Access, ContentPart, ToolStatus};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A server with a folder of its own.
struct TestServer {
    folder: tempfile::TempDir,
    settings: McpServerSettings,
    limits: McpLimits,
}

impl TestServer {
    fn new(how: &str) -> Self {
        Self::of("server.sh", how)
    }

    fn of(script: &str, how: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/servers")
            .join(script);
        let ledger = folder.path().join("ledger");
        let arguments = [script.to_str().unwrap(), how, ledger.to_str().unwrap()];
        Self {
            settings: McpServerSettings::program("made-up", "sh", arguments, folder.path()),
            limits: McpLimits::default(),
            folder,
        }
    }

    fn environment(&self) -> McpEnvironment {
        let surroundings = McpLaunchContext {
            known: KnownServers::in_directory(self.folder.path().join("known")),
            environment: ProgramEnvironment::default(),
            limits: self.limits,
        };
        McpEnvironment::new(self.settings.clone(), surroundings, [])
    }

    fn ledger(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("ledger")).unwrap_or_default()
    }

    fn started(&self) -> usize {
        self.ledger().matches("started").count()
    }
}

fn context(log: &Arc<MemoryLog>, cancel: &CancellationToken) -> ToolContext {
    ToolContext {
        blobs: log.clone(),
        cancel: cancel.clone(),
        ..fixture::tool_context("/")
    }
}

/// The outcome of a call of the server's first tool with this text.
async fn call(environment: &McpEnvironment, text: &str) -> ToolOutcome {
    let log = Arc::new(MemoryLog::new());
    let tool = environment.tools().into_iter().next().unwrap();
    tool.call(json!({ "text": text }), context(&log, &CancellationToken::new()))
        .await
}

fn text(outcome: &ToolOutcome) -> &str {
    outcome
        .content
        .iter()
        .find_map(ContentPart::as_text)
        .unwrap_or_default()
}

#[tokio::test]
async fn both_generations_of_the_protocol_are_spoken() {
    for (how, protocol, said, starts) in [
        ("plain", "2025-11-25", "echo", 1),
        ("modern", "2026-07-28", "echo of a modern server", 1),
        ("empty", "2025-11-25", "echo", 2),
    ] {
        let server = TestServer::new(how);
        let environment = server.environment();
        assert_eq!(environment.state().await, McpServerState::Configured);
        let known = environment.connect().await.unwrap();
        assert_eq!(known.identity.unwrap().protocol, protocol);
        assert_eq!(environment.state().await, McpServerState::Running);
        let outcome = call(&environment, "x").await;
        assert_eq!((outcome.status, text(&outcome)), (ToolStatus::Success, said));
        environment.close().await;
        assert_eq!(environment.state().await, McpServerState::Known);
        let later = server.environment();
        assert_eq!(later.specs(), environment.specs(), "known without being started");
        assert_eq!(server.started(), starts);
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    for (how, why) in [
        ("dies", "exit status: 3"),
        ("dies", "no token was given"),
        ("garbage", ""),
    ] {
        let server = TestServer::new(how);
        let environment = server.environment();
        let connected = environment.connect().await;
        if how == "garbage" {
            assert!(
                connected.is_ok(),
                "lines that are not of the protocol do no harm: {connected:?}"
            );
            continue;
        }
        let said = connected.unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
        assert!(
            matches!(server.environment().state().await, McpServerState::Failed(_)),
            "it is remembered"
        );
    }
    let mut server = TestServer::new("silent");
    server.limits.start = Duration::from_millis(200);
    let failure = server.environment().connect().await.unwrap_err();
    assert!(matches!(failure, McpFailure::TimedOut { .. }), "{failure}");
    let none = McpServerSettings::program("none", "/made/up/program", [""; 0], "/");
    server.settings = none;
    let failure = server.environment().connect().await.unwrap_err();
    assert_eq!(
        failure,
        McpFailure::Start("the program /made/up/program does not exist".into())
    );
}

#[tokio::test]
async fn a_server_is_told_what_it_asks_for_or_why_not() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    for (word, reply) in [
        // Outside of a session nobody is asked.
        ("ask", r#""id":7,"result":{"action":"decline"}"#),
        ("roots", r#""id":8,"result":{"roots":[{"uri":"file:///"}]}"#),
        ("sample", "mcp.made-up.sampling"),
    ] {
        environment.connect().await.unwrap();
        assert_eq!(text(&call(&environment, word).await), "asked");
        assert!(server.ledger().contains(reply), "{word}: {}", server.ledger());
    }
    let needs = call(&environment, "need").await;
    assert_eq!((needs.status, text(&needs)), (ToolStatus::Success, "thank you"));
    let answers = r#""inputResponses":{"where":{"roots":[{"uri":"file:///"}]},"who":{"action":"decline"}}"#;
    assert!(server.ledger().contains(answers), "{}", server.ledger());
    assert!(
        server.ledger().contains(r#""requestState":"x""#),
        "{}",
        server.ledger()
    );
    let insists = call(&environment, "insist").await;
    assert_eq!(insists.status, ToolStatus::Failed);
    assert!(text(&insists).contains("again and again"), "{insists:?}");
    assert_eq!(server.ledger().matches(r#""text":"insist""#).count(), 10);
    for (word, said) in [("refuse", "no such text"), ("fail", "it failed")] {
        let outcome = call(&environment, word).await;
        assert_eq!(outcome.status, ToolStatus::Failed);
        assert!(text(&outcome).contains(said), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_unknown_and_made_once() {
    for (word, why) in [
        ("die", "ended"),
        ("hang", "did not answer within 0.5 s"),
        ("huge", "in one message"),
    ] {
        let mut server = TestServer::new("plain");
        if word == "hang" {
            server.limits.call = Duration::from_millis(500);
        }
        let environment = server.environment();
        environment.connect().await.unwrap();
        let before = server.started();
        let outcome = call(&environment, word).await;
        assert_eq!(outcome.status, ToolStatus::Unknown, "{word}: {outcome:?}");
        assert!(
            text(&outcome).contains(why) && text(&outcome).contains("was not repeated"),
            "{outcome:?}"
        );
        assert_eq!(server.ledger().matches(&format!("\"{word}\"")).count(), 1);
        let next = call(&environment, "x").await;
        assert_eq!(text(&next), "echo", "another process answers");
        assert_eq!(server.started(), before + 1);
    }
}

#[tokio::test]
async fn a_flood_ends_the_connection_and_nothing_else() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let outcome = call(&environment, "flood").await;
    assert_eq!(outcome.status, ToolStatus::Unknown, "{outcome:?}");
    assert!(text(&outcome).contains("since its last call"), "{outcome:?}");
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_server() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let (log, cancel) = (Arc::new(MemoryLog::new()), CancellationToken::new());
    let tool = environment.tools().into_iter().next().unwrap();
    let calling = tool.call(json!({"text": "hang"}), context(&log, &cancel));
    let cancelling = async {
        while !server.ledger().contains("\"hang\"") {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    assert_eq!(outcome.status, ToolStatus::Unknown, "{outcome:?}");
    assert_eq!(text(&call(&environment, "x").await), "echo");
    assert!(server.ledger().contains("cancelled"), "{}", server.ledger());
    assert_eq!(server.started(), 1, "it goes on");
}

#[tokio::test]
async fn results_are_bounded_and_pictures_are_parts() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let long = call(&environment, "long").await;
    assert!(text(&long).len() < (33 << 10) && text(&long).contains("all of it is kept: read {\"blob\""));
    let details = long.details.unwrap();
    assert_eq!(details["output_bytes"], 200_000);
    let first = details["first_line"].as_str().unwrap();
    assert!(first.chars().count() == 122 && first.ends_with(" …"), "{first}");
    let shown = call(&environment, "picture").await;
    for note in [
        "here\n[a picture is left out: it is not valid base64]",
        "[resource made://text]\nwords of it",
        "[a picture is left out: models do not take \"image/x\"]",
    ] {
        assert!(text(&shown).contains(note), "{note}: {shown:?}");
    }
    let parts: Vec<_> = shown.content[1..].iter().collect();
    assert!(
        matches!(&parts[..], [ContentPart::Image(image), ContentPart::Audio(sound), ContentPart::File(file)]
            if image.media_type == "image/png" && sound.media_type == "audio/wav" && file.name.as_deref() == Some("made://pdf")),
        "{parts:?}"
    );
    let json = call(&environment, "json").await;
    let lines = text(&json).lines().filter(|line| *line == "  \"value\",").count();
    assert!(lines > 100, "what is read in parts has lines: {lines}");
}

#[tokio::test]
async fn a_server_gets_what_it_is_given_and_shows_none_of_it() {
    let mut server = TestServer::new("plain");
    let value = |name: &str, from: &[&str], value: &str| McpValue {
        name: name.into(),
        from: from.iter().map(|name| (*name).to_owned()).collect(),
        value: Some(Secret::new(value)),
    };
    if let McpTarget::Program { variables, .. } = &mut server.settings.target {
        *variables = vec![
            value("SECRET", &["TOKEN"], "made-up-secret"),
            value("PLAIN", &[], "debug"),
        ];
    }
    server.settings.hidden = vec![Secret::new("made-up-secret")];
    let environment = server.environment();
    environment.connect().await.unwrap();
    assert_eq!(
        text(&call(&environment, "env").await),
        "[hidden] and debug and unset"
    );
}

#[tokio::test]
async fn odd_tools_are_left_out_or_renamed() {
    let server = TestServer::new("odd");
    let environment = server.environment();
    let known = environment.connect().await.unwrap();
    let names: Vec<String> = environment.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["made-up__echo", "made-up__read_it"]);
    let why: Vec<&str> = known.left_out.iter().map(|tool| tool.why.as_str()).collect();
    assert_eq!(why.len(), 3, "{why:?}");
    for said in ["cannot be shown", "has the same name", "70008 bytes"] {
        assert!(why.iter().any(|why| why.contains(said)), "{said}: {why:?}");
    }
    let endless = TestServer::new("endless");
    let known = endless.environment().connect().await.unwrap();
    assert_eq!(known.tools.len(), 1, "the list ends");
}

#[tokio::test]
async fn claims_count_only_where_a_person_believes_them() {
    let mut server = TestServer::new("claims");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let spec = &environment.specs()[0];
    assert_eq!((spec.access, spec.idempotent), (Access::Run, false));
    server.settings.trust_annotations = true;
    let spec = &server.environment().specs()[0];
    assert_eq!((spec.access, spec.idempotent), (Access::Read, true));
}

#[tokio::test]
async fn a_tool_that_changes_is_not_called_as_something_else() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let before = environment.tools().into_iter().next().unwrap();
    assert_eq!(text(&call(&environment, "change").await), "changed");
    let changed = environment.specs();
    let difference = changed[0].reach.as_ref().unwrap().changed.clone().unwrap();
    assert!(
        difference.contains("-Says it again.") && difference.contains("+Sends it away."),
        "{difference}"
    );
    let log = Arc::new(MemoryLog::new());
    let refused = before
        .call(json!({"text": "x"}), context(&log, &CancellationToken::new()))
        .await;
    assert_eq!(refused.status, ToolStatus::Failed);
    assert!(text(&refused).contains("+Sends it away."), "{refused:?}");
    assert!(!server.ledger().contains("\"x\""), "it was not called");
    assert_eq!(text(&call(&environment, "y").await), "echo");
    let accepted = server.environment().specs();
    assert_eq!(
        accepted[0].reach.as_ref().unwrap().changed,
        None,
        "who let the call run has accepted it"
    );
}

#[tokio::test]
async fn arguments_are_an_object() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let log = Arc::new(MemoryLog::new());
    for input in [Value::Null, json!([1]), json!("x")] {
        let tool = environment.tools().into_iter().next().unwrap();
        let outcome = tool.call(input, context(&log, &CancellationToken::new())).await;
        assert_eq!(outcome.status, ToolStatus::Invalid);
    }
}

#[tokio::test]
async fn what_is_attached_is_offered_and_offered_again() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    environment.connect().await.unwrap();
    let log: Arc<dyn agentx_runtime::SessionLog> = Arc::new(MemoryLog::new());
    let parts = DriverParts {
        bus: Bus::new(),
        ..DriverParts::new(log, ActionDispatcher::new(), Arc::new(SystemClock))
    };
    let mut reactors = Reactors::new(SystemBus::of(&parts), |_| {});
    let id = reactors.start(environment.clone(), Restart::Never).await.unwrap();
    let offered = |changed: bool| {
        let now = parts.tools.now();
        now.len() == 1
            && now[0].name == "made-up__echo"
            && now[0].reach.as_ref().unwrap().changed.is_some() == changed
    };
    assert!(offered(false));
    assert_eq!(text(&call(&environment, "change").await), "changed");
    while !offered(true) {
        tokio::task::yield_now().await;
    }
    assert!(reactors.stop(id, Duration::from_secs(60)).await);
    assert!(parts.tools.now().is_empty());
    assert_eq!(environment.state().await, McpServerState::Known);
}

#[tokio::test]
async fn what_is_attached_reports_its_connection_on_the_bus() {
    let server = TestServer::new("plain");
    let environment = server.environment();
    let log: Arc<dyn agentx_runtime::SessionLog> = Arc::new(MemoryLog::new());
    let parts = DriverParts::new(log, ActionDispatcher::new(), Arc::new(SystemClock));
    let transport = Filter::all().topic(TopicPattern::exact("transport"));
    let mut heard = parts.bus.subscribe("monitor", transport, Queue::lag(16)).unwrap();
    let mut reactors = Reactors::new(SystemBus::of(&parts), |_| {});
    let id = reactors.start(environment.clone(), Restart::Never).await.unwrap();
    environment.connect().await.unwrap();
    assert!(reactors.stop(id, Duration::from_secs(60)).await);
    for change in [
        TransportChange::Established,
        TransportChange::Lost { reason: None },
    ] {
        let Ok(BusDelivery::Event(event)) = heard.recv().await else {
            panic!("a report is missing");
        };
        let SystemEvent::Transport(report) = &*event else {
            panic!("{event:?}");
        };
        assert_eq!((&*report.endpoint, &report.change), ("mcp made-up", &change));
    }
}
