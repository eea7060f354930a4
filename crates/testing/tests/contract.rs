//! The checks of a session log detect defects: each of these logs makes one mistake.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::Range;
use std::sync::Arc;

use agentx_runtime::{
    Batch, BlobStore, BoxFuture, Digest, Fact, LogError, MemoryLog, NewLog, SessionInfo, SessionLog,
    SessionQuery, Writer,
};
use agentx_testing::check_log;
use agentx_types::{BlobId, OwnerId, SessionId};

/// A mistake of a log.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// None: the trait's defaults replace the methods that it lacks.
    None,
    NumbersBlobs,
    BringsTooMany,
    TakesTwoWriters,
    ForgetsTheEpoch,
    SharesIdsWithForks,
    IgnoresProjections,
    ListsTheOldestFirst,
    ListsEverybody,
    KeepsWhatIsDeleted,
}

/// A log in memory that makes a mistake.
struct Wrong(MemoryLog, Mistake);

type Answer<'a, T> = BoxFuture<'a, Result<T, LogError>>;

impl BlobStore for Wrong {
    fn put_blob(&self, bytes: Vec<u8>) -> Answer<'_, BlobId> {
        let wrong = BlobId::new(format!("b3_{}", bytes.len()));
        let put = self.0.put_blob(bytes);
        Box::pin(async move {
            let id = put.await?;
            Ok(match self.1 {
                Mistake::NumbersBlobs => wrong,
                _ => id,
            })
        })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> Answer<'_, Vec<u8>> {
        self.0.get_blob(id, range)
    }

    fn blob_size(&self, id: &BlobId) -> Answer<'_, u64> {
        self.0.blob_size(id)
    }
}

impl SessionLog for Wrong {
    fn create(&self, new: NewLog) -> Answer<'_, ()> {
        self.0.create(new)
    }

    fn attach(&self, session: &SessionId) -> Answer<'_, Writer> {
        let attached = self.0.attach(session);
        Box::pin(async move {
            let mut writer = attached.await?;
            if matches!(self.1, Mistake::TakesTwoWriters) {
                writer.guard = Box::new(());
            }
            Ok(writer)
        })
    }

    fn append(&self, writer: &Writer, mut batch: Batch) -> Answer<'_, ()> {
        match self.1 {
            Mistake::ForgetsTheEpoch => {
                let latest = Writer::new(writer.session_id.clone(), 2, writer.last_seq, ());
                Box::pin(async move {
                    match self.0.append(&latest, batch.clone()).await {
                        Err(LogError::Fenced { .. }) => {
                            let first = Writer::new(latest.session_id.clone(), 1, latest.last_seq, ());
                            self.0.append(&first, batch).await
                        }
                        done => done,
                    }
                })
            }
            Mistake::IgnoresProjections => {
                batch.projections.clear();
                self.0.append(writer, batch)
            }
            _ => self.0.append(writer, batch),
        }
    }

    fn read(&self, session: &SessionId, after_seq: u64, limit: usize) -> Answer<'_, Vec<Fact>> {
        match self.1 {
            Mistake::BringsTooMany => self.0.read(session, after_seq, limit.saturating_add(1)),
            Mistake::SharesIdsWithForks => {
                let session = session.clone();
                Box::pin(async move {
                    let parent = self.0.info(&session).await?.parent;
                    let mut facts = self.0.read(&session, after_seq, limit).await?;
                    if let Some((parent, at_seq)) = parent {
                        let shared = facts.iter_mut().filter(|fact| fact.seq <= at_seq);
                        shared.for_each(|fact| Arc::make_mut(fact).session_id.clone_from(&parent));
                    }
                    Ok(facts)
                })
            }
            _ => self.0.read(session, after_seq, limit),
        }
    }

    fn digests(&self, session: &SessionId) -> Answer<'_, Vec<(u64, Digest)>> {
        self.0.digests(session)
    }

    fn info(&self, session: &SessionId) -> Answer<'_, SessionInfo> {
        self.0.info(session)
    }

    fn list(&self, query: SessionQuery) -> Answer<'_, Vec<SessionInfo>> {
        Box::pin(async move {
            let mut all = self.0.list(query.clone()).await?;
            match self.1 {
                Mistake::ListsTheOldestFirst => all.reverse(),
                Mistake::ListsEverybody => {
                    let others = SessionQuery {
                        owner: "own_2".into(),
                        ..query
                    };
                    all.extend(self.0.list(others).await?);
                }
                _ => {}
            }
            Ok(all)
        })
    }

    fn under_way(&self) -> Answer<'_, Vec<(SessionId, OwnerId)>> {
        self.0.under_way()
    }

    fn reminding(&self) -> Answer<'_, Vec<(SessionId, OwnerId)>> {
        self.0.reminding()
    }

    fn delete(&self, session: &SessionId) -> Answer<'_, ()> {
        match self.1 {
            Mistake::KeepsWhatIsDeleted => {
                let info = self.0.info(session);
                Box::pin(async move { info.await.map(drop) })
            }
            _ => self.0.delete(session),
        }
    }
}

/// A part of the promise that each mistake breaks, and of the message about it.
fn expected(mistake: Mistake) -> (&'static str, &'static str) {
    match mistake {
        Mistake::None => ("", ""),
        Mistake::NumbersBlobs => ("`put_blob` returns", "the id of []"),
        Mistake::BringsTooMany => ("`read` brings at most", "read(0, 3) brings 4 facts"),
        Mistake::TakesTwoWriters => ("one writer at a time", "does not fail"),
        Mistake::ForgetsTheEpoch => ("an earlier writer is refused", "should fail with Fenced"),
        Mistake::SharesIdsWithForks => ("under the id of the fork", "the fork is"),
        Mistake::IgnoresProjections => (
            "gives a session its title",
            r#"is "", and should be "Fix the tests""#,
        ),
        Mistake::ListsTheOldestFirst => ("latest event first", r#"list is ["ses_4""#),
        Mistake::ListsEverybody => ("the sessions of one owner", "ses_5"),
        Mistake::KeepsWhatIsDeleted => ("in no list", "ses_2"),
    }
}

#[tokio::test]
async fn each_mistake_is_found_and_named() {
    for mistake in [
        Mistake::NumbersBlobs,
        Mistake::BringsTooMany,
        Mistake::TakesTwoWriters,
        Mistake::ForgetsTheEpoch,
        Mistake::SharesIdsWithForks,
        Mistake::IgnoresProjections,
        Mistake::ListsTheOldestFirst,
        Mistake::ListsEverybody,
        Mistake::KeepsWhatIsDeleted,
    ] {
        let make = async || Arc::new(Wrong(MemoryLog::new(), mistake)) as Arc<dyn SessionLog>;
        let broken = check_log(make).await.unwrap_err();
        let (promise, what) = expected(mistake);
        let is_it =
            |one: &agentx_testing::BrokenPromise| one.promise.contains(promise) && one.what.contains(what);
        assert!(broken.all().iter().any(is_it), "{mistake:?}: {broken}");
        assert!(broken.to_string().starts_with(&format!(
            "the log breaks {} of its promises\n- ",
            broken.all().len()
        )));
    }
}

#[tokio::test]
async fn the_logs_in_memory_and_the_defaults_of_the_trait_keep_every_promise() {
    check_log(async || Arc::new(Wrong(MemoryLog::new(), Mistake::None)) as _)
        .await
        .unwrap();
    check_log(async || Arc::new(MemoryLog::new()) as _).await.unwrap();
    check_log(async || Arc::new(agentx_testing::FaultyLog::new()) as _)
        .await
        .unwrap();
}
