//! A mirror that keeps a server's session: a local log gets the exact bytes of the server's log, where they
//! can be checked, searched and derived again without the server. Unrelated sessions there are untouched.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;

use agentx::node::scripted::ScriptedEnvironment;
use agentx::node::{NodeParts, NodeRuntime};
use agentx::remote::keep;
use agentx::runtime::{
    Batch, BlobStore as _, Fact, LogError, NewLog, OpenRequest, RedactedSession, Redaction, Redactor,
    Runtime as _, RuntimeError, SecretSet, SessionLog as _, SharingFact, SystemClock, UserInput, View,
    blob_id,
};
use agentx::secrets::Origin;
use agentx::sqlite_log::SqliteLog;
use agentx::tools::{ToolOptions, Toolbox};
use agentx::types::{
    AccessChanged, ApprovalMode, ContentPart, Envelope, EnvironmentEvent, MediaPart, MediaSource, OwnerId,
    RedactedSegment, SessionId, SessionRedacted, SessionRole, TextChunk,
};
use agentx_testing::{LogBuilder, ModelScript, ScriptedModel, fixture};
use agentx_tests::proxy::{Cut, Proxy};
use agentx_tests::remote::mirror;
use serde_json::json;

use crate::place::{Place, Talk, all, soon};

/// A place of one's own, without any model.
fn elsewhere() -> (Arc<SqliteLog>, NodeRuntime) {
    let log = SqliteLog::open_in_memory().unwrap();
    let runtime = NodeRuntime::new(NodeParts {
        log: log.clone(),
        owner: OwnerId::new("own_local"),
        models: vec![],
        wire_options: Arc::new(|_| Default::default()),
        network: Arc::new(ScriptedModel::new([])),
        scripted: ScriptedEnvironment::instant(),
        tools: Toolbox::builtin(ToolOptions::default()),
        clock: Arc::new(SystemClock),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
        program: "test".into(),
        data_dir: std::path::PathBuf::from("/nowhere"),
    });
    (log, runtime)
}

fn text(facts: &[Fact]) -> Vec<String> {
    facts
        .iter()
        .map(|fact| serde_json::to_string(&**fact).unwrap())
        .collect()
}

async fn kept(log: &SqliteLog, session: &SessionId) -> Vec<String> {
    text(&log.read(session, 0, usize::MAX).await.unwrap())
}

/// The copy has the rows of the server's log, and so its head.
async fn is_the_servers(log: &SqliteLog, place: &Place, session: &SessionId) {
    assert_eq!(
        mirror::rows_of(log, session).await,
        mirror::rows_of(place.log.as_ref(), session).await
    );
    let (here, there) = (
        log.verify(session).await.unwrap(),
        place.log.verify(session).await.unwrap(),
    );
    assert_eq!(here, there);
    assert_eq!(here.problems, Vec::<String>::new());
}

/// Keeps what is there now.
async fn keep_now(place: &Place, session: &SessionId, log: &Arc<SqliteLog>) -> Result<u64, RuntimeError> {
    let remote = place.remote.as_ref().unwrap();
    let mut keeping = soon(keep(remote, session, log.clone(), false)).await?;
    Ok(soon(keeping.ended()).await?.seq)
}

/// A picture is shown, a tool is run, and much is said.
async fn eventful(place: &Place) -> Talk {
    place.model.push(ModelScript::text("a dot"));
    place.model.push(ModelScript::call(
        "call_1",
        "bash",
        json!({ "command": "seq 1 3000" }),
    ));
    place
        .model
        .push(ModelScript::new().then_pieces(&["many ", "words ", "about armadillos"]));
    let mut talk = place.open(ApprovalMode::Auto).await;
    let picture = ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Base64("iVBORw0KGgo=".into()),
        name: None,
    });
    let input = UserInput::new(vec![picture]);
    talk.session.send(input).await.unwrap();
    talk.ends().await;
    talk.say("count").await;
    talk.ends().await;
    talk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_the_servers_log_to_the_byte_and_works_without_it() {
    let place = Place::remote().await;
    let talk = eventful(&place).await;
    let id = talk.session.id().clone();
    let (log, runtime) = elsewhere();
    let remote = place.remote.clone().unwrap();
    let keeping = soon(keep(&remote, &id, log.clone(), true)).await.unwrap();
    // Events from now on are kept as they come.
    place.model.push(ModelScript::text("the end"));
    let mut talk = talk;
    talk.say("and now?").await;
    talk.ends().await;
    talk.session.close().await;
    let facts = text(&place.facts(&id).await);
    let mut progress = keeping.progress();
    soon(progress.wait_for(|kept| kept.seq == facts.len() as u64 && kept.caught_up))
        .await
        .unwrap();
    let end = soon(keeping.stop()).await.unwrap();
    let last = facts.len() as u64;
    assert_eq!((end.seq, end.rows, end.missing_blobs), (last, last, 0));
    assert_eq!(kept(&log, &id).await, facts);
    is_the_servers(&log, &place, &id).await;

    soon(remote.close()).await;
    assert_eq!(runtime.verify(&id).await.unwrap().problems, Vec::<String>::new());
    let (here, there) = (
        runtime.replay(&id).await.unwrap(),
        place.node.replay(&id).await.unwrap(),
    );
    assert_eq!(here, there);
    assert_eq!(here.divergence, None);
    assert_eq!(
        runtime.search("armadillos", 5).await.unwrap(),
        place.node.search("armadillos", 5).await.unwrap()
    );
    let meaning = |runtime: &NodeRuntime| {
        let runtime = runtime.for_owner(OwnerId::new("own_local"));
        let id = id.clone();
        async move { all(runtime.watch(&id, 0, View::Runtime, false).await.unwrap()).await }
    };
    assert_eq!(meaning(&runtime).await, meaning(&place.node).await);
    let (here, there) = (
        runtime.info(&id).await.unwrap(),
        place.node.info(&id).await.unwrap(),
    );
    assert_eq!(
        (here.title, here.messages, here.cost, here.status),
        (there.title, there.messages, there.cost, there.status)
    );
    let blobs: Vec<_> = place
        .facts(&id)
        .await
        .iter()
        .flat_map(|fact| agentx::runtime::blobs_of(&fact.event))
        .collect();
    assert!(!blobs.is_empty());
    for blob in blobs {
        let size = log.blob_size(&blob).await.unwrap();
        assert_eq!(
            log.get_blob(&blob, 0..size).await.unwrap(),
            place.log.get_blob(&blob, 0..size).await.unwrap()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_inherits_a_role_in_a_kept_copy() {
    let place = Place::remote().await;
    let talk = eventful(&place).await;
    let id = talk.session.id().clone();
    let guest = OwnerId::new("own_guest");
    let shared = AccessChanged {
        person: guest.clone(),
        role: Some(SessionRole::Own),
        by: None,
    };
    talk.session
        .record_sharing(SharingFact::Access(shared))
        .await
        .unwrap();
    talk.session.close().await;
    let (log, _) = elsewhere();
    keep_now(&place, &id, &log).await.unwrap();
    assert_eq!(
        place.log.access(&id, &guest).await.unwrap().1,
        Some(SessionRole::Own)
    );
    assert_eq!(log.access(&id, &guest).await.unwrap().1, None);
    is_the_servers(&log, &place, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeping_goes_on_where_it_was() {
    let place = Place::remote().await;
    let mut talk = eventful(&place).await;
    let id = talk.session.id().clone();
    let (log, runtime) = elsewhere();
    let first = keep_now(&place, &id, &log).await.unwrap();
    assert_eq!(
        keep_now(&place, &id, &log).await.unwrap(),
        first,
        "nothing is new"
    );
    for answer in ["one", "two"] {
        place.model.push(ModelScript::text(answer));
        talk.say(answer).await;
        talk.ends().await;
        keep_now(&place, &id, &log).await.unwrap();
    }
    talk.session.close().await;
    keep_now(&place, &id, &log).await.unwrap();
    assert_eq!(kept(&log, &id).await, text(&place.facts(&id).await));
    is_the_servers(&log, &place, &id).await;
    assert_eq!(
        runtime.replay(&id).await.unwrap(),
        place.node.replay(&id).await.unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_is_kept_as_one_and_needs_nothing_else() {
    let place = Place::remote().await;
    let id = place.told(&["one", "two"]).await;
    let fork = place.runtime.fork(&id, Some(9)).await.unwrap();
    place.model.push(ModelScript::text("another"));
    let mut talk = place
        .talk(
            place
                .runtime
                .open(OpenRequest::Resume(fork.clone(), vec![]))
                .await
                .unwrap(),
        )
        .await;
    talk.say("and?").await;
    talk.until(|event| serde_json::to_string(event).unwrap().contains("another"))
        .await;
    talk.ends().await;
    talk.session.close().await;
    let (log, runtime) = elsewhere();
    keep_now(&place, &fork, &log).await.unwrap();
    assert_eq!(kept(&log, &fork).await, text(&place.facts(&fork).await));
    is_the_servers(&log, &place, &fork).await;
    assert_eq!(
        runtime.replay(&fork).await.unwrap(),
        place.node.replay(&fork).await.unwrap()
    );
    let (here, there) = (
        runtime.info(&fork).await.unwrap(),
        place.node.info(&fork).await.unwrap(),
    );
    assert_eq!(
        (here.title, here.messages, here.cost, here.usage, here.parent),
        (there.title, there.messages, there.cost, there.usage, there.parent)
    );
    let found = runtime.search("one", 5).await.unwrap();
    assert!(
        found.iter().any(|hit| hit.session_id == fork && hit.seq <= 9),
        "what it shares is found too: {found:?}"
    );
    assert!(
        matches!(log.info(&id).await, Err(LogError::NotFound(_))),
        "what it was forked from need not be here"
    );
}

/// A log that has a session of this id with these facts.
async fn with_facts(session: &SessionId, facts: Vec<Fact>) -> Arc<SqliteLog> {
    let (log, _) = elsewhere();
    let new = NewLog::new(session.clone(), OwnerId::new("own_local"), facts[0].at, "/");
    log.create(new).await.unwrap();
    let writer = log.attach(session).await.unwrap();
    let batch = Batch::new(facts, [0; 32]);
    log.append(&writer, batch).await.unwrap();
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_session_of_the_same_id_is_left_as_it_is() {
    let place = Place::remote().await;
    let id = place.told(&["one"]).await;
    let facts = place.facts(&id).await;
    let renamed = |facts: Vec<Fact>| -> Vec<Fact> {
        let rename = |fact: &Fact| Envelope {
            session_id: id.clone(),
            ..Envelope::clone(fact)
        };
        facts.iter().map(rename).map(Arc::new).collect()
    };
    let other = renamed(
        LogBuilder::opened(fixture::config())
            .user("hi")
            .answer("hello")
            .build(),
    );
    let mut longer = facts.clone();
    for fact in &other {
        let seq = longer.len() as u64 + 1;
        longer.push(Arc::new(Envelope {
            seq,
            ..Envelope::clone(fact)
        }));
    }
    let mut changed = facts[..5].to_vec();
    let mut last = Envelope::clone(&changed[4]);
    last.at.0 += 1;
    changed[4] = Arc::new(last);
    for theirs in [other, longer, changed] {
        let log = with_facts(&id, theirs.clone()).await;
        let refused = keep_now(&place, &id, &log).await.unwrap_err();
        assert!(
            matches!(&refused, RuntimeError::Refused(why) if why.contains("a different session")),
            "{refused}"
        );
        assert_eq!(kept(&log, &id).await, text(&theirs));
    }
    // One that parted in the middle is found out by its rows.
    let mut parted = facts.clone();
    let mut middle = Envelope::clone(&parted[6]);
    middle.at.0 += 1;
    parted[6] = Arc::new(middle);
    let log = with_facts(&id, parted.clone()).await;
    let refused = keep_now(&place, &id, &log).await.unwrap_err().to_string();
    assert!(
        refused.contains("event 7: it is not the event that is here"),
        "{refused}"
    );
    assert_eq!(kept(&log, &id).await, text(&parted), "nothing is lost");
    // The beginning of the same one is continued, however it was laid out.
    let log = with_facts(&id, facts[..5].to_vec()).await;
    keep_now(&place, &id, &log).await.unwrap();
    assert_eq!(kept(&log, &id).await, text(&facts));
    is_the_servers(&log, &place, &id).await;
}

/// Rows come when a run has ended, not only at the end; and what was kept without them gets them later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_follow_when_there_is_time_for_it() {
    let place = Place::remote().await;
    let mut talk = eventful(&place).await;
    let id = talk.session.id().clone();
    let (log, _) = elsewhere();
    let remote = place.remote.clone().unwrap();
    let keeping = soon(keep(&remote, &id, log.clone(), true)).await.unwrap();
    for answer in ["one", "two", "three"] {
        place.model.push(ModelScript::text(answer));
        talk.say(answer).await;
        talk.ends().await;
        let last = place.node.info(&id).await.unwrap().last_seq;
        let mut kept = keeping.progress();
        soon(kept.wait_for(|kept| kept.rows >= last)).await.unwrap();
        assert_eq!(
            log.verify(&id).await.unwrap().head,
            place.log.verify(&id).await.unwrap().head
        );
    }
    // It dies without a word, and the session continues.
    drop(keeping);
    place.model.push(ModelScript::text("four"));
    talk.say("four").await;
    talk.ends().await;
    talk.session.close().await;
    let end = loop {
        // The writer of the one before is gone in a moment.
        match soon(keep(&remote, &id, log.clone(), false)).await {
            Ok(mut keeping) => break soon(keeping.ended()).await.unwrap(),
            Err(error) => assert!(
                matches!(error, RuntimeError::Log(LogError::Busy { .. })),
                "{error}"
            ),
        }
    };
    assert_eq!(end.rows, end.seq);
    is_the_servers(&log, &place, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_keeps_at_a_time_and_only_what_is_there() {
    let place = Place::remote().await;
    let id = place.told(&["one"]).await;
    let (log, _) = elsewhere();
    let remote = place.remote.clone().unwrap();
    let nobody = soon(keep(&remote, &SessionId::new("ses_nobody"), log.clone(), true))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(nobody, RuntimeError::Log(LogError::NotFound(_))),
        "{nobody}"
    );
    let keeping = soon(keep(&remote, &id, log.clone(), true)).await.unwrap();
    let second = soon(keep(&remote, &id, log.clone(), true)).await.err().unwrap();
    assert!(
        matches!(second, RuntimeError::Log(LogError::Busy { .. })),
        "{second}"
    );
    soon(keeping.stop()).await.unwrap();
    soon(keep(&remote, &id, log, true)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_deleted_stays_where_it_was_kept() {
    let place = Place::remote().await;
    let id = place.told(&["one"]).await;
    let facts = text(&place.facts(&id).await);
    let (log, runtime) = elsewhere();
    let remote = place.remote.clone().unwrap();
    let mut keeping = soon(keep(&remote, &id, log.clone(), true)).await.unwrap();
    soon(keeping.progress().wait_for(|kept| kept.seq == facts.len() as u64))
        .await
        .unwrap();
    place.runtime.delete(&id).await.unwrap();
    assert!(soon(keeping.ended()).await.is_err());
    assert!(kept(&log, &id).await.starts_with(&facts));
    assert_eq!(runtime.verify(&id).await.unwrap().problems, Vec::<String>::new());
    let events = all(runtime.watch(&id, 0, View::Environment, false).await.unwrap()).await;
    assert!(events.len() > facts.len(), "{events:?}");
}

/// Says something in a session that was closed.
async fn goes_on(place: &Place, session: &SessionId, answers: &[&str]) {
    let request = OpenRequest::Resume(session.clone(), vec![]);
    let mut talk = place.talk(place.runtime.open(request).await.unwrap()).await;
    for answer in answers {
        place.model.push(ModelScript::text(answer));
        talk.say(&format!("say {answer}")).await;
        talk.until(|event| serde_json::to_string(event).unwrap().contains(answer))
            .await;
        talk.ends().await;
    }
    talk.session.close().await;
}

/// An old copy of the server's data is put back, and the session continues from there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_takes_nothing_of_a_history_that_is_written_anew() {
    for anew in [&[][..], &["zwei", "drei", "vier"]] {
        let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 9)), 1);
        let place = Place::remote_by(&proxy.url(), |address| proxy.point_to(address)).await;
        let id = place.told(&["one"]).await;
        let (old, address) = place.copied().await;
        goes_on(&place, &id, &["two"]).await;
        let facts = text(&place.facts(&id).await);
        let (log, runtime) = elsewhere();
        let remote = place.remote.clone().unwrap();
        let mut keeping = soon(keep(&remote, &id, log.clone(), true)).await.unwrap();
        let all_of_it = facts.len() as u64;
        soon(
            keeping
                .progress()
                .wait_for(|kept| kept.seq == all_of_it && kept.rows == all_of_it),
        )
        .await
        .unwrap();

        goes_on(&old, &id, anew).await;
        proxy.point_to(address);
        proxy.cut_all(Cut::Reset);
        let ended = soon(keeping.ended()).await.unwrap_err();
        assert!(
            matches!(&ended, RuntimeError::WentBack { session, seq } if *session == id && *seq == all_of_it),
            "{ended}"
        );
        assert_eq!(
            kept(&log, &id).await,
            facts,
            "nothing of the other history is here"
        );
        assert_eq!(runtime.verify(&id).await.unwrap().problems, Vec::<String>::new());
        // To begin again finds it out before anything is taken, and elsewhere all is kept that there is now.
        let again = keep_now(&place, &id, &log).await.unwrap_err().to_string();
        assert!(again.contains("a different session"), "{again}");
        assert_eq!(kept(&log, &id).await, facts);
        let (fresh, _) = elsewhere();
        keep_now(&place, &id, &fresh).await.unwrap();
        assert_eq!(kept(&fresh, &id).await, text(&old.facts(&id).await));
    }
}

/// A mirror of a session, and a server with a copy of the data on which nobody has that session open.
struct Mirrored {
    place: Place,
    proxy: Proxy,
    /// The second server, which answers after [`Mirrored::moves`].
    next: Place,
    address: SocketAddr,
    id: SessionId,
    log: Arc<SqliteLog>,
    runtime: NodeRuntime,
}

impl Mirrored {
    /// The session has one answer.
    async fn of(answer: &str) -> Self {
        Self::made_by(async |place: &Place| place.told(&[answer]).await).await
    }

    /// The session is made on the first server.
    async fn made_by(make: impl AsyncFnOnce(&Place) -> SessionId) -> Self {
        let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 9)), 1);
        let place = Place::remote_by(&proxy.url(), |address| proxy.point_to(address)).await;
        let id = make(&place).await;
        let (next, address) = place.copied().await;
        let (log, runtime) = elsewhere();
        keep_now(&place, &id, &log).await.unwrap();
        Self {
            place,
            proxy,
            next,
            address,
            id,
            log,
            runtime,
        }
    }

    /// The second server has the address of the first from now on.
    fn moves(&self) {
        self.proxy.point_to(self.address);
        self.proxy.cut_all(Cut::Reset);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_follows_a_redaction() {
    const KEY: &str = "walrus5f2c81d09be34a7766";
    let mirrored = Mirrored::of(KEY).await;
    let Mirrored { next, id, log, .. } = &mirrored;
    let mut set = SecretSet::default();
    assert!(set.add("WIFI", Origin::Person, KEY));
    let report = next.node.redact(id, Redactor::of_values(&set)).await.unwrap();
    assert!(
        report.events > 1,
        "what was said, and what was answered: {report:?}"
    );
    mirrored.moves();
    keep_now(&mirrored.place, id, log).await.unwrap();
    let facts = kept(log, id).await;
    assert_eq!(facts, text(&next.facts(id).await));
    assert!(facts.iter().all(|fact| !fact.contains(KEY)), "{facts:?}");
    is_the_servers(log, next, id).await;
    let title = mirrored.runtime.info(id).await.unwrap().title;
    assert_eq!(title, "say [secret WIFI]");
    let found = mirrored.runtime.search(KEY, 5).await.unwrap();
    assert!(found.is_empty(), "{found:?}");
}

/// Contents that are of use only unchanged are removed and not replaced, so no fact changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_removes_the_contents_that_a_redaction_removed() {
    const KEY: &str = "walrus5f2c81d09be34a7766";
    let bytes = [&b"\x89PNG\r\n\x1a\n"[..], KEY.as_bytes()].concat();
    let blob = blob_id(&bytes);
    let mirrored = Mirrored::made_by(async |place: &Place| {
        place.model.push(ModelScript::text("seen"));
        let mut talk = place.open(ApprovalMode::Auto).await;
        let picture = ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            // The same bytes in base64.
            source: MediaSource::Base64("iVBORw0KGgp3YWxydXM1ZjJjODFkMDliZTM0YTc3NjY=".into()),
            name: None,
        });
        talk.session.send(UserInput::new(vec![picture])).await.unwrap();
        talk.ends().await;
        talk.session.close().await;
        talk.session.id().clone()
    })
    .await;
    let Mirrored { next, id, log, .. } = &mirrored;
    assert_eq!(log.get_blob(&blob, 0..u64::MAX).await.unwrap(), bytes);
    let mut set = SecretSet::default();
    assert!(set.add("WIFI", Origin::Person, KEY));
    let report = next.node.redact(id, Redactor::of_values(&set)).await.unwrap();
    assert_eq!((report.events, report.blobs), (0, 1), "{report:?}");
    mirrored.moves();
    keep_now(&mirrored.place, id, log).await.unwrap();
    let gone = log.blob_size(&blob).await;
    assert!(matches!(gone, Err(LogError::NoBlob(_))), "{gone:?}");
    assert_eq!(kept(log, id).await, text(&next.facts(id).await));
    is_the_servers(log, next, id).await;
    // One that is made afterwards knows that the content is not there any more.
    let (fresh, _) = elsewhere();
    keep_now(&mirrored.place, id, &fresh).await.unwrap();
    is_the_servers(&fresh, next, id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_takes_no_other_words_as_a_redaction() {
    let mirrored = Mirrored::of("pay 100 to Ada").await;
    let Mirrored { next, id, log, .. } = &mirrored;
    let before = next.facts(id).await;
    let says_it = |fact: &&Fact| matches!(&fact.event, EnvironmentEvent::TextChunk(chunk) if chunk.text.contains("Ada"));
    let said = before.iter().find(says_it).unwrap();
    let forged = Arc::new(Envelope {
        event: TextChunk {
            text: "pay [secret KEY] to Eve".into(),
        }
        .into(),
        ..Envelope::clone(said)
    });
    let writer = next.log.attach(id).await.unwrap();
    let plan = next.log.plan_redaction(id, vec![forged.clone()]).await.unwrap();
    let record = SessionRedacted {
        names: vec!["KEY".into()],
        segments: plan.segments,
        dropped: vec![],
    };
    let fact = Arc::new(Envelope {
        seq: writer.last_seq + 1,
        event: record.into(),
        ..Envelope::clone(&before[before.len() - 1])
    });
    let changed = RedactedSession {
        session_id: id.clone(),
        epoch: writer.epoch,
        record: Some(Batch::new(vec![fact], [0; 32])),
        messages: vec![],
        title: None,
    };
    let redaction = Redaction {
        session_id: id.clone(),
        facts: vec![forged],
        dropped: vec![],
        sessions: vec![changed],
    };
    next.log.redact(redaction).await.unwrap();
    drop(writer);
    mirrored.moves();
    let refused = keep_now(&mirrored.place, id, log).await.unwrap_err().to_string();
    let expected = format!(
        "its event {} is not the one that is here with secrets taken out",
        said.seq
    );
    assert!(refused.contains(&expected), "{refused}");
    assert_eq!(kept(log, id).await, text(&before), "the copy is as before");
    let report = mirrored.runtime.verify(id).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_refuses_a_redaction_of_an_event_that_cannot_be() {
    let mirrored = Mirrored::of("pay 100 to Ada").await;
    let Mirrored { next, id, log, .. } = &mirrored;
    let before = next.facts(id).await;
    let writer = next.log.attach(id).await.unwrap();
    let segment = RedactedSegment {
        first_seq: 0,
        last_seq: 1,
        hash: "aa".into(),
        redacted_hash: "bb".into(),
        events: vec![0],
        forks: vec![],
    };
    let record = SessionRedacted {
        names: vec!["KEY".into()],
        segments: vec![segment],
        dropped: vec![],
    };
    let fact = Arc::new(Envelope {
        seq: writer.last_seq + 1,
        event: record.into(),
        ..Envelope::clone(&before[before.len() - 1])
    });
    let batch = Batch::new(vec![fact], [0; 32]);
    next.log.append(&writer, batch).await.unwrap();
    drop(writer);
    mirrored.moves();
    let refused = keep_now(&mirrored.place, id, log).await.unwrap_err().to_string();
    assert!(refused.contains("names event 0 of session"), "{refused}");
    assert_eq!(kept(log, id).await, text(&before), "the copy is as before");
}
