//! The contract of [`SessionLog`](agentx_runtime::SessionLog) about whole sessions: creating, forking,
//! deleting, and a single writer.

use agentx_runtime::{LogError, NewLog, Writer};
use agentx_types::SessionId;

use super::{CheckResult, ContractCheck, MADE, OWNER, TestedLog, batch, digest, facts, fails, same, works};

pub(super) const PROMISES: &[(&str, ContractCheck)] = &[
    ("`create` makes an empty log", |store| Box::pin(empty(store))),
    (
        "`create` refuses an id that exists with `LogError::Exists`",
        |store| Box::pin(taken(store)),
    ),
    (
        "a session, or a parent, that is not there is `LogError::NotFound`",
        |store| Box::pin(missing(store)),
    ),
    (
        "a fork begins with the events of its parent, read under the id of the fork",
        |store| Box::pin(fork(store)),
    ),
    (
        "what a fork writes is its own, and so is what its parent writes",
        |store| Box::pin(appended_apart(store)),
    ),
    (
        "`attach` gives the session to one writer at a time, and another one `LogError::Busy`",
        |store| Box::pin(one_writer(store)),
    ),
    (
        "`attach` counts up the epoch, and an earlier writer is refused with `LogError::Fenced` and keeps nothing",
        |store| Box::pin(fenced(store)),
    ),
    (
        "`delete` removes a session, unless it is written, and leaves its forks what they share",
        |store| Box::pin(deleted(store)),
    ),
];

fn is_missing(error: &LogError) -> bool {
    matches!(error, LogError::NotFound(_))
}

async fn empty(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    same("read of a new session", store.facts("ses_1").await?, Vec::new())?;
    let id = SessionId::new("ses_1");
    let digests = works("digests", store.0.digests(&id).await)?;
    same("digests of a new session", digests, Vec::new())?;
    let info = works("info", store.0.info(&id).await)?;
    same("info.session_id", info.session_id.as_str(), "ses_1")?;
    same("info.owner", info.owner.as_str(), OWNER)?;
    same("info.workspace", &*info.workspace, "/work")?;
    same("info.created_at", info.created_at, MADE)?;
    same("info.last_seq", info.last_seq, 0)?;
    same("info.title", &*info.title, "")?;
    same("info.status", info.status, None)?;
    same("info.messages", info.messages, 0)?;
    same("info.parent", info.parent, None)?;
    same("info.writer", info.writer, None)
}

async fn taken(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 2).await?;
    let again = store.0.create(NewLog::new("ses_1", OWNER, MADE, "/work")).await;
    let is_it = |error: &LogError| matches!(error, LogError::Exists(id) if id.as_str() == "ses_1");
    fails("create of a session that exists", again, "Exists", is_it)?;
    same(
        "the session after that",
        store.facts("ses_1").await?,
        facts("ses_1", 1..=2),
    )
}

async fn missing(store: TestedLog) -> CheckResult {
    let (log, id) = (&store.0, SessionId::new("ses_none"));
    let named = "NotFound";
    fails("read", log.read(&id, 0, 1).await, named, is_missing)?;
    fails("digests", log.digests(&id).await, named, is_missing)?;
    fails("info", log.info(&id).await, named, is_missing)?;
    fails("attach", log.attach(&id).await, named, is_missing)?;
    fails("delete", log.delete(&id).await, named, is_missing)?;
    let fork = NewLog::new("ses_2", OWNER, MADE, "/work").with_parent(id, 1);
    let what = "create with a parent that is not there";
    fails(what, log.create(fork).await, named, is_missing)?;
    fails(
        "info of the fork that was refused",
        log.info(&"ses_2".into()).await,
        named,
        is_missing,
    )
}

async fn fork(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 4).await?;
    store.fork("ses_2", "ses_1", 3).await?;
    same("the fork", store.facts("ses_2").await?, facts("ses_2", 1..=3))?;
    store.fork("ses_3", "ses_2", 2).await?;
    same(
        "the fork of a fork",
        store.facts("ses_3").await?,
        facts("ses_3", 1..=2),
    )?;
    let info = works("info", store.0.info(&"ses_2".into()).await)?;
    same("info.parent of the fork", info.parent, Some(("ses_1".into(), 3)))?;
    same("info.last_seq of the fork", info.last_seq, 3)?;
    let writer = store.attach("ses_2").await?;
    same("writer.last_seq of the fork", writer.last_seq, 3)
}

async fn appended_apart(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 2).await?;
    store.fork("ses_2", "ses_1", 2).await?;
    let (one, two) = (store.attach("ses_1").await?, store.attach("ses_2").await?);
    store.append(&two, batch(facts("ses_2", 3..=5))).await?;
    store.append(&one, batch(facts("ses_1", 3..=3))).await?;
    same("the parent", store.facts("ses_1").await?, facts("ses_1", 1..=3))?;
    same("the fork", store.facts("ses_2").await?, facts("ses_2", 1..=5))?;
    let digests = works("digests", store.0.digests(&"ses_2".into()).await)?;
    same(
        "digests of the fork, which has those of its own batches alone",
        digests,
        vec![(5, digest(5))],
    )
}

async fn one_writer(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 2).await?;
    let id = SessionId::new("ses_1");
    let writer = store.attach("ses_1").await?;
    same("writer.session_id", writer.session_id.as_str(), "ses_1")?;
    same("writer.last_seq", writer.last_seq, 2)?;
    let is_it =
        |error: &LogError| matches!(error, LogError::Busy { session, .. } if session.as_str() == "ses_1");
    fails("a second attach", store.0.attach(&id).await, "Busy", is_it)?;
    let held = works("info", store.0.info(&id).await)?.writer;
    let epoch = held.map(|held| held.epoch);
    same(
        "the epoch of info.writer while it is written",
        epoch,
        Some(writer.epoch),
    )?;
    drop(writer);
    let held = works("info", store.0.info(&id).await)?.writer;
    same("info.writer when the writer is dropped", held, None)?;
    store.attach("ses_1").await.map(drop)
}

async fn fenced(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let first = store.attach("ses_1").await?;
    same("the epoch of the first writer", first.epoch, 1)?;
    let (epoch, last_seq) = (first.epoch, first.last_seq);
    // A process that does not know yet that it lost its lock.
    drop(first);
    let stale = Writer::new("ses_1", epoch, last_seq, ());
    let second = store.attach("ses_1").await?;
    same("the epoch of the second writer", second.epoch, 2)?;
    store.append(&second, batch(facts("ses_1", 1..=1))).await?;
    let late = store.0.append(&stale, batch(facts("ses_1", 2..=2))).await;
    let is_it = |error: &LogError| matches!(error, LogError::Fenced { epoch: 1, .. });
    fails("append by the earlier writer", late, "Fenced", is_it)?;
    same(
        "the log after that",
        store.facts("ses_1").await?,
        facts("ses_1", 1..=1),
    )?;
    store.append(&second, batch(facts("ses_1", 2..=2))).await
}

async fn deleted(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 3).await?;
    store.fork("ses_2", "ses_1", 2).await?;
    let id = SessionId::new("ses_1");
    let writer = store.attach("ses_1").await?;
    let is_busy = |error: &LogError| matches!(error, LogError::Busy { .. });
    fails(
        "delete while it is written",
        store.0.delete(&id).await,
        "Busy",
        is_busy,
    )?;
    drop(writer);
    works("delete", store.0.delete(&id).await)?;
    fails(
        "info after delete",
        store.0.info(&id).await,
        "NotFound",
        is_missing,
    )?;
    works("collect_garbage", store.0.collect_garbage().await)?;
    same(
        "the fork of a session that was deleted",
        store.facts("ses_2").await?,
        facts("ses_2", 1..=2),
    )
}
