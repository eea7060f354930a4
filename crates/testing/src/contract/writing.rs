//! The contract of [`SessionLog`](agentx_runtime::SessionLog) about facts: appended facts are read back
//! unchanged, and changed projections are reported.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_runtime::{Fact, Projection};
use agentx_types::{AgentStateId, MessageId, NanoUsd, Role, RunStatus, SessionId, Usage};

use super::{CheckResult, ContractCheck, TestedLog, batch, digest, fact, facts, same, works};

pub(super) const PROMISES: &[(&str, ContractCheck)] = &[
    ("`read` brings facts as they were appended, in order", |store| {
        Box::pin(read(store))
    }),
    (
        "`read` brings at most `limit` facts after `after_seq`, and none at the end",
        |store| Box::pin(pages(store)),
    ),
    (
        "`digests` has the digest of each batch by its last `seq`",
        |store| Box::pin(digests(store)),
    ),
    (
        "the first message of a person gives a session its title, until it is given another one",
        |store| Box::pin(title(store)),
    ),
    (
        "a message whose id is known takes the place of the one before",
        |store| Box::pin(messages(store)),
    ),
    ("what was spent counts once for each `seq`", |store| {
        Box::pin(spent(store))
    }),
    ("`info` has the model, the status and the last event", |store| {
        Box::pin(standing(store))
    }),
    (
        "`scan` lends the facts after `after_seq` up to `upto`, for as long as it is wanted",
        |store| Box::pin(scan(store)),
    ),
    ("`names_blob` finds the first event that names a blob", |store| {
        Box::pin(named(store))
    }),
];

async fn read(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    store.append(&writer, batch(facts("ses_1", 1..=1))).await?;
    store.append(&writer, batch(facts("ses_1", 2..=40))).await?;
    store.append(&writer, batch(facts("ses_1", 41..=41))).await?;
    same("the log", store.facts("ses_1").await?, facts("ses_1", 1..=41))?;
    drop(writer);
    let writer = store.attach("ses_1").await?;
    same("writer.last_seq", writer.last_seq, 41)?;
    store.append(&writer, batch(facts("ses_1", 42..=42))).await?;
    same(
        "the log of the next writer",
        store.facts("ses_1").await?,
        facts("ses_1", 1..=42),
    )
}

async fn pages(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 10).await?;
    let id = SessionId::new("ses_1");
    let mut after = 0;
    while after < 10 {
        let what = format!("read({after}, 3)");
        let page = works(&what, store.0.read(&id, after, 3).await)?;
        let last = after + page.len() as u64;
        if page.is_empty() || page.len() > 3 {
            return Err(format!(
                "{what} brings {} facts, and should bring 1 to 3",
                page.len()
            ));
        }
        same(&what, page, facts("ses_1", after + 1..=last))?;
        after = last;
    }
    let end = works("read(10, 3)", store.0.read(&id, 10, 3).await)?;
    same("read at the end", end, Vec::new())?;
    let beyond = works("read(99, 3)", store.0.read(&id, 99, 3).await)?;
    same("read beyond the end", beyond, Vec::new())
}

async fn digests(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    let mut expected = Vec::new();
    for (first, last) in [(1, 1), (2, 5), (6, 6)] {
        store.append(&writer, batch(facts("ses_1", first..=last))).await?;
        expected.push((last, digest(last)));
    }
    let found = works("digests", store.0.digests(&"ses_1".into()).await)?;
    same("digests", found, expected)
}

fn message(seq: u64, id: &str, role: Role, text: &str) -> Projection {
    Projection::Message {
        seq,
        message_id: MessageId::new(id),
        agent_state_id: AgentStateId::new("agt_1"),
        role,
        text: text.to_owned(),
    }
}

/// Appends one fact with these changes, and returns the info about the session after that.
async fn project(
    store: &TestedLog,
    writer: &agentx_runtime::Writer,
    seq: u64,
    projections: Vec<Projection>,
) -> Result<agentx_runtime::SessionInfo, String> {
    let batch = batch(facts("ses_1", seq..=seq)).with_projections(projections);
    store.append(writer, batch).await?;
    works("info", store.0.info(&writer.session_id).await)
}

async fn title(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    let answer = message(1, "msg_1", Role::Assistant, "Hello!");
    let info = project(&store, &writer, 1, vec![answer]).await?;
    same("the title after a message of a model", &*info.title, "")?;
    let asked = message(2, "msg_2", Role::User, "\n  Fix the tests\nand more");
    let info = project(&store, &writer, 2, vec![asked]).await?;
    same(
        "the title after the first message of a person",
        &*info.title,
        "Fix the tests",
    )?;
    let asked = message(3, "msg_3", Role::User, "Now the docs");
    let info = project(&store, &writer, 3, vec![asked]).await?;
    same("the title after the second one", &*info.title, "Fix the tests")?;
    let info = project(&store, &writer, 4, vec![Projection::Title("Tests".into())]).await?;
    same("the title that it was given", &*info.title, "Tests")
}

async fn messages(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    let both = vec![
        message(1, "msg_1", Role::User, "one"),
        message(1, "msg_2", Role::Assistant, "two"),
    ];
    let info = project(&store, &writer, 1, both).await?;
    same("info.messages after two messages", info.messages, 2)?;
    let again = message(2, "msg_2", Role::Assistant, "two, again");
    let info = project(&store, &writer, 2, vec![again]).await?;
    same("info.messages after one of them came again", info.messages, 2)
}

async fn spent(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    let spent = |seq, tokens| Projection::Spent {
        seq,
        run_id: None,
        model: "a-model".into(),
        usage: Usage {
            input_tokens: tokens,
            output_tokens: 1,
            ..Usage::default()
        },
        cost: NanoUsd(tokens * 10),
    };
    let info = project(&store, &writer, 1, vec![spent(1, 5)]).await?;
    same("input tokens of the first call", info.usage.input_tokens, 5)?;
    let info = project(&store, &writer, 2, vec![spent(2, 7), spent(2, 7), spent(1, 5)]).await?;
    same("input tokens of two calls", info.usage.input_tokens, 12)?;
    same("output tokens of two calls", info.usage.output_tokens, 2)?;
    same("cost of two calls", info.cost, NanoUsd(120))
}

async fn standing(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let writer = store.attach("ses_1").await?;
    let changes = vec![
        Projection::Model("a-model".into()),
        Projection::Status(RunStatus::Completed),
    ];
    let info = project(&store, &writer, 1, changes).await?;
    same("info.model", &*info.model, "a-model")?;
    same("info.status", info.status, Some(RunStatus::Completed))?;
    same("info.last_seq", info.last_seq, 1)?;
    same("info.updated_at", info.updated_at, fact("ses_1", 1, "").at)
}

async fn scanned(store: &TestedLog, after: u64, upto: u64, most: usize) -> Result<Vec<Fact>, String> {
    let lent: Arc<Mutex<Vec<Fact>>> = Arc::default();
    let kept = lent.clone();
    let take = Box::new(move |fact: &mut agentx_types::Envelope<_>| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::new(fact.clone()));
        if kept.len() < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    works("scan", store.0.scan(&"ses_1".into(), after, upto, take).await)?;
    let lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(lent.clone())
}

async fn scan(store: TestedLog) -> CheckResult {
    store.with_facts("ses_1", 10).await?;
    for (after, upto, most, expected) in [
        (0, u64::MAX, usize::MAX, 1..=10),
        (3, 7, usize::MAX, 4..=7),
        (2, 9, 3, 3..=5),
    ] {
        let what = format!("scan after {after} up to {upto}, of which {most} are wanted");
        let found = scanned(&store, after, upto, most).await?;
        same(&what, found, facts("ses_1", expected))?;
    }
    same("scan at the end", scanned(&store, 10, 20, 1).await?, Vec::new())
}

async fn named(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let blob = works("put_blob", store.0.put_blob(b"abc".to_vec()).await)?;
    let other = works("put_blob", store.0.put_blob(b"abcd".to_vec()).await)?;
    let words = format!("see {blob}");
    let all = vec![
        fact("ses_1", 1, "nothing"),
        fact("ses_1", 2, &words),
        fact("ses_1", 3, &words),
    ];
    let writer = store.attach("ses_1").await?;
    store.append(&writer, batch(all)).await?;
    let id = &writer.session_id;
    let found = works("names_blob", store.0.names_blob(id, &blob).await)?;
    same("the first event that names the blob", found, Some(2))?;
    let found = works("names_blob", store.0.names_blob(id, &other).await)?;
    same("the event that names a blob which none does", found, None)?;
    works("collect_garbage", store.0.collect_garbage().await)?;
    works(
        "get_blob of a blob that an event names",
        store.0.get_blob(&blob, 0..3).await,
    )
    .map(drop)
}
