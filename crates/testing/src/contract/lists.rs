//! The contract of [`SessionLog`](agentx_runtime::SessionLog) about lists: the owners of their sessions, and
//! their order.

use std::collections::BTreeSet;

use agentx_runtime::{NewLog, Projection, SessionQuery};
use agentx_types::{RunStatus, SessionId, Timestamp};

use super::{CheckResult, ContractCheck, MADE, OWNER, TestedLog, batch, facts, owner, same, works};

pub(super) const PROMISES: &[(&str, ContractCheck)] = &[
    (
        "`list` has the sessions of one owner, those with the latest event first; of those that changed together, the greatest id first",
        |store| Box::pin(order(store)),
    ),
    ("`list` keeps to the query: workspace, limit, before", |store| {
        Box::pin(narrowed(store))
    }),
    (
        "`under_way` has the sessions of every owner in which a run is under way",
        |store| Box::pin(under_way(store)),
    ),
    (
        "`reminding` has the sessions of every owner that have a reminder",
        |store| Box::pin(reminding(store)),
    ),
    (
        "`resolve` has the ids of the owner's sessions that begin with the prefix, at most 10",
        |store| Box::pin(resolved(store)),
    ),
    ("`access` says whose a session is", |store| {
        Box::pin(access(store))
    }),
    ("a session that was deleted is in no list", |store| {
        Box::pin(deleted(store))
    }),
];

fn query() -> SessionQuery {
    SessionQuery {
        owner: owner(OWNER),
        workspace: None,
        limit: 100,
        before: None,
    }
}

async fn listed(store: &TestedLog, query: SessionQuery) -> Result<Vec<String>, String> {
    let found = works("list", store.0.list(query).await)?;
    Ok(found.iter().map(|info| info.session_id.to_string()).collect())
}

/// Creates four sessions of the owner, whose last events are at 1,002, 1,003, 1,003 and 1,001, and one of
/// another person.
async fn some(store: &TestedLog) -> CheckResult {
    for (id, count) in [("ses_1", 2), ("ses_2", 3), ("ses_3", 3), ("ses_4", 1)] {
        store.with_facts(id, count).await?;
    }
    let others = NewLog::new("ses_5", "own_2", MADE, "/work");
    works("create", store.0.create(others).await)
}

async fn order(store: TestedLog) -> CheckResult {
    some(&store).await?;
    let expected = ["ses_3", "ses_2", "ses_1", "ses_4"].map(str::to_owned);
    same("list", listed(&store, query()).await?, expected.to_vec())?;
    let theirs = SessionQuery {
        owner: owner("own_2"),
        ..query()
    };
    let expected = vec!["ses_5".to_owned()];
    same("list of another owner", listed(&store, theirs).await?, expected)
}

async fn narrowed(store: TestedLog) -> CheckResult {
    some(&store).await?;
    let elsewhere = NewLog::new("ses_6", OWNER, MADE, "/elsewhere");
    works("create", store.0.create(elsewhere).await)?;
    let here = SessionQuery {
        workspace: Some("/elsewhere".into()),
        ..query()
    };
    let expected = vec!["ses_6".to_owned()];
    same("list of a workspace", listed(&store, here).await?, expected)?;
    let two = SessionQuery { limit: 2, ..query() };
    let expected = ["ses_3", "ses_2"].map(str::to_owned).to_vec();
    same("list of two", listed(&store, two).await?, expected)?;
    let older = SessionQuery {
        before: Some(Timestamp(1_003)),
        workspace: Some("/work".into()),
        ..query()
    };
    let expected = ["ses_1", "ses_4"].map(str::to_owned).to_vec();
    same("list before 1,003", listed(&store, older).await?, expected)
}

async fn under_way(store: TestedLog) -> CheckResult {
    for (id, whose, status) in [
        ("ses_1", OWNER, Some(RunStatus::AwaitingTool)),
        ("ses_2", OWNER, Some(RunStatus::Completed)),
        ("ses_3", "own_2", Some(RunStatus::AwaitingApproval)),
        ("ses_4", OWNER, None),
    ] {
        let new = NewLog::new(id, whose, MADE, "/work");
        works("create", store.0.create(new).await)?;
        let writer = store.attach(id).await?;
        let changes = status.map(Projection::Status).into_iter().collect();
        let batch = batch(facts(id, 1..=1)).with_projections(changes);
        store.append(&writer, batch).await?;
    }
    let found = works("under_way", store.0.under_way().await)?;
    let found: BTreeSet<_> = found.into_iter().collect();
    let expected = BTreeSet::from([
        (SessionId::new("ses_1"), owner(OWNER)),
        (SessionId::new("ses_3"), owner("own_2")),
    ]);
    same("under_way", found, expected)
}

async fn reminding(store: TestedLog) -> CheckResult {
    let soon = Some(Timestamp(9_000));
    for (id, whose, changes) in [
        ("ses_1", OWNER, vec![soon]),
        ("ses_2", OWNER, vec![soon, None]),
        ("ses_3", "own_2", vec![None, soon]),
        ("ses_4", OWNER, vec![]),
    ] {
        let new = NewLog::new(id, whose, MADE, "/work");
        works("create", store.0.create(new).await)?;
        let writer = store.attach(id).await?;
        let changes = changes.into_iter().map(Projection::Reminder).collect();
        let batch = batch(facts(id, 1..=1)).with_projections(changes);
        store.append(&writer, batch).await?;
    }
    let found = works("reminding", store.0.reminding().await)?;
    let found: BTreeSet<_> = found.into_iter().collect();
    let expected = BTreeSet::from([
        (SessionId::new("ses_1"), owner(OWNER)),
        (SessionId::new("ses_3"), owner("own_2")),
    ]);
    same("reminding", found, expected)
}

async fn resolved(store: TestedLog) -> CheckResult {
    for number in 10..30 {
        store.create(&format!("ses_a{number}")).await?;
    }
    store.create("ses_b1").await?;
    let others = NewLog::new("ses_b2", "own_2", MADE, "/work");
    works("create", store.0.create(others).await)?;
    let one = works("resolve", store.0.resolve(&owner(OWNER), "ses_b").await)?;
    same("resolve(ses_b)", one, vec!["ses_b1".into()])?;
    let many = works("resolve", store.0.resolve(&owner(OWNER), "ses_a").await)?;
    same("how many ids resolve(ses_a) has of 20", many.len(), 10)?;
    let none = works("resolve", store.0.resolve(&owner(OWNER), "ses_c").await)?;
    same("resolve(ses_c)", none, Vec::new())
}

async fn access(store: TestedLog) -> CheckResult {
    store.create("ses_1").await?;
    let whose = works("access", store.0.access(&"ses_1".into(), &owner("own_2")).await)?;
    same("access of somebody who has no role", whose, (owner(OWNER), None))
}

async fn deleted(store: TestedLog) -> CheckResult {
    some(&store).await?;
    works("delete", store.0.delete(&"ses_2".into()).await)?;
    let expected = ["ses_3", "ses_1", "ses_4"].map(str::to_owned).to_vec();
    same("list", listed(&store, query()).await?, expected)?;
    let found = works("resolve", store.0.resolve(&owner(OWNER), "ses_2").await)?;
    same("resolve of the session that was deleted", found, Vec::new())
}
