//! The contracts of [`SessionLog`] and [`BlobStore`](agentx_runtime::BlobStore) as checks, for authors of
//! other logs.
//!
//! Each promise is checked on an empty log, so that checks are independent. Promises that need a second
//! process or a full disk are not checked: that a batch survives the death of the process, that its lock is
//! released, and `LogError::Full`.

mod blobs;
mod lists;
mod sessions;
mod writing;

use std::fmt;
use std::sync::Arc;

use agentx_runtime::{Batch, BoxFuture, Digest, Fact, LogError, NewLog, SessionLog, Writer};
use agentx_types::{AgentStateId, ErrorOccurred, EventDraft, OwnerId, SessionId, Source, Timestamp};

/// The result of a check; the error names the expected and the found value.
type CheckResult = Result<(), String>;
/// Tries one promise on an empty log.
type ContractCheck = fn(TestedLog) -> BoxFuture<'static, CheckResult>;

/// Checks every promise in the documentation of [`SessionLog`] and [`BlobStore`](agentx_runtime::BlobStore).
/// `make` returns an empty log each time that it is called.
///
/// ```
/// use std::sync::Arc;
///
/// use agentx_runtime::MemoryLog;
/// use agentx_testing::check_log;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// check_log(async || Arc::new(MemoryLog::new()) as _).await.unwrap();
/// # });
/// ```
///
/// # Errors
/// Returns [`BrokenPromises`] if the log breaks any of them: each with the expected and the found value.
pub async fn check_log(make: impl AsyncFn() -> Arc<dyn SessionLog>) -> Result<(), BrokenPromises> {
    let mut broken = Vec::new();
    let promises = [
        blobs::PROMISES,
        sessions::PROMISES,
        writing::PROMISES,
        lists::PROMISES,
    ];
    for (promise, check) in promises.into_iter().flatten() {
        if let Err(what) = check(TestedLog(make().await)).await {
            broken.push(BrokenPromise { promise, what });
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(BrokenPromises(broken))
    }
}

/// A promise that a log does not keep.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenPromise {
    /// The promise, in the words of the trait's documentation.
    pub promise: &'static str,
    /// The expected and the found result.
    pub what: String,
}

/// The promises that a log does not keep; at least one.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenPromises(Vec<BrokenPromise>);

impl BrokenPromises {
    /// Returns each broken promise, in the order of the checks.
    pub fn all(&self) -> &[BrokenPromise] {
        &self.0
    }
}

impl fmt::Display for BrokenPromises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log breaks {} of its promises", self.0.len())?;
        self.0.iter().try_for_each(|broken| write!(f, "\n- {broken}"))
    }
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.what)
    }
}

/// Formatted as text, because a test that unwraps a check prints this.
impl fmt::Debug for BrokenPromises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BrokenPromises {}

/// The default owner of the sessions.
const OWNER: &str = "own_1";
/// The time of their creation.
const MADE: Timestamp = Timestamp(1_000);

/// The log under test, with helpers for frequent operations of the checks.
#[derive(Clone)]
struct TestedLog(Arc<dyn SessionLog>);

impl TestedLog {
    /// Creates an empty session of the usual owner.
    async fn create(&self, id: &str) -> CheckResult {
        let new = NewLog::new(id, OWNER, MADE, "/work");
        works(&format!("create({id})"), self.0.create(new).await)
    }

    async fn fork(&self, id: &str, parent: &str, at_seq: u64) -> CheckResult {
        let new = NewLog::new(id, OWNER, MADE, "/work").with_parent(parent.into(), at_seq);
        works(
            &format!("create({id}) as a fork of {parent}"),
            self.0.create(new).await,
        )
    }

    async fn attach(&self, id: &str) -> Result<Writer, String> {
        works(&format!("attach({id})"), self.0.attach(&id.into()).await)
    }

    async fn append(&self, writer: &Writer, batch: Batch) -> CheckResult {
        let what = format!("append({})", writer.session_id);
        works(&what, self.0.append(writer, batch).await)
    }

    /// Creates a session with the facts 1 to `count` in one batch and without a writer.
    async fn with_facts(&self, id: &str, count: u64) -> CheckResult {
        self.create(id).await?;
        let writer = self.attach(id).await?;
        self.append(&writer, batch(facts(id, 1..=count))).await
    }

    /// Returns all facts of a session.
    async fn facts(&self, id: &str) -> Result<Vec<Fact>, String> {
        works(
            &format!("read({id})"),
            self.0.read(&id.into(), 0, usize::MAX).await,
        )
    }
}

/// Returns a fact that needs no other fact.
fn fact(session: &str, seq: u64, message: &str) -> Fact {
    let error = ErrorOccurred {
        code: "made_up".into(),
        message: message.to_owned(),
        recoverable: true,
    };
    let draft = EventDraft::new(Source::User, Some(AgentStateId::new("agt_1")), error);
    let at = Timestamp(MADE.0 + i64::try_from(seq).unwrap_or(i64::MAX / 2));
    Arc::new(draft.into_envelope(SessionId::new(session), seq, at))
}

fn facts(session: &str, seqs: std::ops::RangeInclusive<u64>) -> Vec<Fact> {
    seqs.map(|seq| fact(session, seq, &format!("event {seq}")))
        .collect()
}

/// Returns a digest that is unique to its event.
fn digest(seq: u64) -> Digest {
    let mut digest = [7; 32];
    digest[..8].copy_from_slice(&seq.to_be_bytes());
    digest
}

fn batch(facts: Vec<Fact>) -> Batch {
    let last = facts.last().map_or(0, |fact| fact.seq);
    Batch::new(facts, digest(last))
}

fn owner(id: &str) -> OwnerId {
    OwnerId::new(id)
}

fn works<T>(what: &str, result: Result<T, LogError>) -> Result<T, String> {
    result.map_err(|error| format!("{what} fails: {error}"))
}

fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> CheckResult {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what} is {found:?}, and should be {expected:?}"))
    }
}

/// Checks that something fails as required; `named` is the error for people.
fn fails<T>(
    what: &str,
    result: Result<T, LogError>,
    named: &str,
    is_it: impl FnOnce(&LogError) -> bool,
) -> CheckResult {
    match result {
        Err(error) if is_it(&error) => Ok(()),
        Err(error) => Err(format!(
            "{what} should fail with {named}, and fails with {error:?}"
        )),
        Ok(_) => Err(format!("{what} should fail with {named}, and does not fail")),
    }
}
