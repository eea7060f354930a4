//! Sessions that earlier versions of the program recorded: their derived events stay the same to the byte,
//! and the program can continue them. `recorded/README.md` describes how they were made.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_history::portable::{from_json, hash_of, import, to_json};
use agentx_runtime::{
    Batch, BoxFuture, Delivery, DerivedDigest, Effector, EventSink, NewLog, OpenRequest, Session,
    SessionExport, SessionFold, SessionLog as _, UserInput, View,
};
use agentx_testing::{FaultyLog, MemoryWorld, ModelScript};
use agentx_types::{
    AccessChanged, Action, ActionBody, ActionKind, ContentPart, Envelope, EnvironmentEvent, OwnerId,
    RULES_VERSION, RunId, RunStatus, RuntimeEvent, SessionId, SessionRole, Source, Timestamp, ToolResult,
    ToolStatus,
};
use tokio_util::sync::CancellationToken;

/// Folders of sessions, with the `rules_version` of the program that wrote them.
const FOLDERS: [(&str, u32); 5] = [("v4", 4), ("v6", 6), ("v7", 7), ("v8", 8), ("v9", 9)];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recorded")
        .join(name)
}

/// The sessions of a folder by their names, sorted.
fn sessions(name: &str) -> BTreeMap<String, SessionExport> {
    let files = std::fs::read_dir(folder(name)).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let documents = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let read = documents.map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let session = from_json(&text).unwrap_or_else(|why| panic!("{path:?}: {why}"));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), session)
    });
    read.collect()
}

/// The first characters of the digests of the derived events, one for each writer, with the rules of that
/// version.
fn digests(session: &SessionExport, rules_version: u32) -> String {
    let mut fold = SessionFold::new(session.session_id.clone());
    let mut digest = DerivedDigest::default();
    let mut line = String::new();
    let mut add = |digest: &DerivedDigest| {
        let value = digest.value();
        line.push(' ');
        value[..8]
            .iter()
            .for_each(|byte| write!(line, "{byte:02x}").unwrap());
    };
    for fact in &session.events {
        let mut fact = fact.clone();
        match &mut fact.event {
            EnvironmentEvent::SessionOpened(opened) => opened.config.rules_version = rules_version,
            EnvironmentEvent::WriterAttached(_) | EnvironmentEvent::SessionForked(_) => add(&digest),
            _ => {}
        }
        let derived = fold.apply(&fact);
        digest.add(&fact, &derived);
    }
    add(&digest);
    line
}

#[test]
fn recorded_sessions_derive_what_they_did() {
    for (name, written_by) in FOLDERS {
        let path = folder(name).join("digests.txt");
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<String> = known.lines().map(str::to_owned).collect();
        for (session, recorded) in sessions(name) {
            for version in 0..=written_by {
                let begins = format!("{session} {version}");
                let now = begins.clone() + &digests(&recorded, version);
                match lines.iter().find(|line| line.starts_with(&format!("{begins} "))) {
                    Some(line) => assert_eq!(now, *line, "{name}/{session}.json derives something else now"),
                    None => lines.push(now),
                }
            }
        }
        let all = lines.join("\n") + "\n";
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &all).unwrap();
        } else {
            assert_eq!(known, all, "{name}: sessions without a digest, see README.md");
        }
    }
}

/// The two ways to fold give the same state after each fact, and from it the same derived events of the next
/// one.
#[test]
fn both_ways_to_fold_agree_after_each_fact_of_a_recorded_session() {
    for (name, _) in FOLDERS {
        for (session, recorded) in sessions(name) {
            let mut whole = SessionFold::new(recorded.session_id.clone());
            let mut state = whole.clone();
            for fact in &recorded.events {
                let at = format!("{name}/{session}.json, event {}", fact.seq);
                assert_eq!(state.clone().apply(fact), whole.apply(fact), "{at}");
                state.advance(fact);
                assert_eq!(state, whole, "after {at}");
            }
        }
    }
}

#[test]
fn recorded_sessions_are_read_with_all_that_they_have() {
    for (name, written_by) in FOLDERS {
        for (session, recorded) in sessions(name) {
            for fact in &recorded.events {
                let unknown = matches!(fact.event, EnvironmentEvent::Unknown(_));
                assert!(!unknown, "{name}/{session}.json: event {} is unknown", fact.seq);
            }
            let again = from_json(&to_json(&recorded).unwrap()).unwrap();
            assert_eq!(again, recorded, "{name}/{session}.json");
            let EnvironmentEvent::SessionOpened(opened) = &recorded.events[0].event else {
                panic!("{name}/{session}.json does not begin")
            };
            assert_eq!(opened.config.rules_version, written_by, "{name}/{session}.json");
            assert!(written_by <= RULES_VERSION);
        }
    }
}

/// Answers every call of a tool.
struct Done;

impl Effector for Done {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let said = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result: vec![ContentPart::text("done")],
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            };
            events.emit(said).await;
        })
    }
}

/// Puts a session into a log, as the program that recorded it left it.
async fn store(log: &FaultyLog, recorded: SessionExport) {
    let (id, at) = (recorded.session_id, recorded.created_at);
    let new = NewLog::new(id.clone(), "own_test", at, recorded.workspace);
    log.create(new).await.unwrap();
    let writer = log.attach(&id).await.unwrap();
    let facts = recorded.events.into_iter().map(Arc::new).collect();
    log.append(&writer, Batch::new(facts, [0; 32])).await.unwrap();
}

/// Opens a session in a log that has it, with a model that answers every request.
async fn resumed(log: &FaultyLog, id: &SessionId) -> Arc<dyn Session> {
    let answers = (0..20).map(|_| ModelScript::text("Going on."));
    let mut world = MemoryWorld::on(log.clone(), answers).with_effector(ActionKind::CallTool, Arc::new(Done));
    world.session_id = id.clone();
    let request = OpenRequest::Resume(id.clone(), Vec::new());
    world.open(request).await.unwrap()
}

#[tokio::test]
async fn recorded_sessions_go_on() {
    for (name, _) in FOLDERS {
        for (file, recorded) in sessions(name) {
            let (log, id) = (FaultyLog::new(), recorded.session_id.clone());
            store(&log, recorded).await;
            let session = resumed(&log, &id).await;
            let said = UserInput::text("Go on.");
            let seq = session.send(said).await.unwrap();
            let mut events = session.subscribe(seq, View::Runtime).await.unwrap();
            let finished = loop {
                match events.next().await {
                    Some(Delivery::Runtime(event)) => {
                        if let RuntimeEvent::RunFinished(finished) = &event.event {
                            break finished.status;
                        }
                    }
                    Some(_) => {}
                    None => panic!("{name}/{file}.json: the session ended first"),
                }
            };
            assert_eq!(finished, RunStatus::Completed, "{name}/{file}.json");
        }
    }
}

/// Returns the first `count` events of a session as a document, as another program may write it.
fn cut(recorded: &SessionExport, count: usize) -> SessionExport {
    let mut cut = recorded.clone();
    cut.events.truncate(count);
    // A log in memory has other ids for blobs; no code reads them here.
    cut.blobs.clear();
    cut.hash = hash_of(&cut.events);
    cut
}

/// Checks that an imported session calls no model and no tool before `asked`, an input of a person here, and
/// none for a run of before, whatever the document says that somebody allowed.
fn check_waits(facts: &[Arc<Envelope<EnvironmentEvent>>], imported: u64, asked: u64) {
    let (before, after): (Vec<_>, Vec<_>) = facts.iter().partition(|fact| fact.seq <= imported);
    let begun: BTreeSet<_> = before.iter().filter_map(|fact| fact.run_id.clone()).collect();
    for fact in after {
        let EnvironmentEvent::ActionStarted(started) = &fact.event else {
            continue;
        };
        let acts = [ActionKind::CallModel, ActionKind::CallTool, ActionKind::Condense];
        let is_asked = fact.seq > asked && fact.run_id.as_ref().is_some_and(|run| !begun.contains(run));
        assert!(
            is_asked || !acts.contains(&started.kind),
            "{fact:?} after {} events",
            imported - 1
        );
    }
}

#[tokio::test]
async fn nobody_inherits_a_role_in_an_imported_session() {
    let mut recorded = sessions("v9").remove("ruled").unwrap();
    let (id, guest) = (recorded.session_id.clone(), OwnerId::new("own_guest"));
    let mut shared = recorded.events.last().unwrap().clone();
    shared.seq += 1;
    shared.source = Source::System;
    (shared.agent_state_id, shared.run_id, shared.cause) = (None, None, None);
    shared.event = AccessChanged {
        person: guest.clone(),
        role: Some(SessionRole::Own),
        by: None,
    }
    .into();
    recorded.events.push(shared);
    let log = FaultyLog::new();
    let document = cut(&recorded, recorded.events.len());
    import(&log, &OwnerId::new("own_test"), document, Timestamp(1))
        .await
        .unwrap();
    let (owner, role) = log.access(&id, &guest).await.unwrap();
    assert_eq!((owner.as_str(), role), ("own_test", None));
}

#[tokio::test]
async fn an_imported_session_waits_for_a_person_wherever_it_was_cut_off() {
    const CUT: [&str; 6] = [
        "asked",
        "background",
        "condensed_and_taken_back",
        "killed_in_a_tool",
        "ruled",
        "script",
    ];
    let (mut open, mut all) = (0, sessions("v9"));
    for name in CUT {
        let recorded = all.remove(name).unwrap();
        for count in 1..=recorded.events.len() {
            let (log, id) = (FaultyLog::new(), recorded.session_id.clone());
            let (document, owner) = (cut(&recorded, count), OwnerId::new("own_test"));
            import(&log, &owner, document, Timestamp(1)).await.unwrap();
            let imported = log.facts(&id).len() as u64;
            assert_eq!(imported, count as u64 + 1);
            let session = resumed(&log, &id).await;
            let state = session.state().await.unwrap();
            assert_eq!(state.pending_approvals, [], "{name}, {count}");
            open += u32::from(state.run.is_some());
            let asked = session.send(UserInput::text("Go on.")).await.unwrap();
            let mut events = session.subscribe(asked, View::Runtime).await.unwrap();
            let run = RunId::of_input(asked);
            while let Some(delivery) = events.next().await {
                if matches!(delivery, Delivery::Runtime(event) if matches!(&event.event, RuntimeEvent::RunFinished(done) if done.run_id == run))
                {
                    break;
                }
            }
            session.close().await;
            check_waits(&log.facts(&id), imported, asked);
        }
    }
    assert!(open > 0);
}

#[tokio::test]
async fn a_document_whose_id_is_none_of_a_session_is_refused() {
    let (_, recorded) = sessions("v9").pop_first().unwrap();
    let long = format!("ses_{}", "a".repeat(5_000));
    for id in [
        "",
        "ses_",
        "ses_1",
        "../../ses_k3v8qm2w7c4t",
        "ses_K3V8QM2W7C4T",
        "ses_k3v8qm2w7c4\u{202e}",
        &long,
    ] {
        let mut document = cut(&recorded, 3);
        document.session_id = SessionId::new(id);
        for event in &mut document.events {
            event.session_id = SessionId::new(id);
        }
        let log = FaultyLog::new();
        let refused = import(&log, &OwnerId::new("own_test"), document, Timestamp(1)).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("is not a session id") && why.len() < 300, "{why}");
        assert!(!why.contains('\u{202e}'), "{why}");
    }
}
