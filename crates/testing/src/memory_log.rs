//! A session log in memory: the shortest thing that keeps the promises of `SessionLog`, for tests that are about what stands
//! above a log. It can be told to be full, and two handles on one log fence each other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::{
    Adoption, Batch, BlobStore, BoxFuture, Digest, Fact, LogError, LogRows, NewLog, Projection, SearchHit,
    SessionInfo, SessionLog, SessionQuery, VerifyReport, Writer,
};
use agentx_types::{BlobId, Envelope, OwnerId, SessionId, SessionRole, Vocabulary as _};

/// A session log in memory. Clones are the same log.
#[derive(Clone, Default)]
pub struct MemoryLog {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    sessions: BTreeMap<SessionId, Stored>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    full: bool,
}

struct Stored {
    info: SessionInfo,
    own: Vec<Fact>,
    digests: Vec<(u64, Digest)>,
    projections: Vec<Projection>,
    epoch: u64,
    busy: Arc<()>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, LogError>>;

fn ready<'a, T: Send + 'a>(value: Result<T, LogError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(value))
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// From here on every append fails as on a full disk, or no longer does.
    pub fn set_full(&self, full: bool) {
        self.lock().full = full;
    }

    /// What another process finds after this one has died: the same sessions, and nobody writes them. What the old one still
    /// writes goes into its own log, not into this.
    #[must_use]
    pub fn crashed(&self) -> Self {
        let shared = self.lock();
        let sessions = shared.sessions.iter().map(|(id, stored)| {
            let stored = Stored {
                info: stored.info.clone(),
                own: stored.own.clone(),
                digests: stored.digests.clone(),
                projections: stored.projections.clone(),
                epoch: stored.epoch,
                busy: Arc::default(),
            };
            (id.clone(), stored)
        });
        let shared = Shared {
            sessions: sessions.collect(),
            blobs: shared.blobs.clone(),
            full: false,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// All facts of a session, those of its parents first.
    pub fn facts(&self, session: &SessionId) -> Vec<Fact> {
        facts(&self.lock(), session)
    }

    /// All changes of the read models, in order.
    pub fn projections(&self, session: &SessionId) -> Vec<Projection> {
        self.lock()
            .sessions
            .get(session)
            .map(|stored| stored.projections.clone())
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        session: &SessionId,
        then: impl FnOnce(&mut Stored) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut shared = self.lock();
        let stored = shared
            .sessions
            .get_mut(session)
            .ok_or_else(|| LogError::NotFound(session.to_string()))?;
        then(stored)
    }
}

fn role_in(stored: &Stored, person: &OwnerId) -> Option<SessionRole> {
    let role = |projection: &Projection| match projection {
        Projection::Role { person: who, role } if who == person => Some(*role),
        Projection::Unshared => Some(None),
        _ => None,
    };
    stored.projections.iter().rev().find_map(role).flatten()
}

fn facts(shared: &Shared, session: &SessionId) -> Vec<Fact> {
    let Some(stored) = shared.sessions.get(session) else {
        return Vec::new();
    };
    let mut all = match &stored.info.parent {
        Some((parent, at_seq)) => facts(shared, parent)
            .into_iter()
            .filter(|fact| fact.seq <= *at_seq)
            .map(|fact| {
                Arc::new(Envelope {
                    session_id: session.clone(),
                    ..Envelope::clone(&fact)
                })
            })
            .collect(),
        None => Vec::new(),
    };
    all.extend(stored.own.iter().cloned());
    all
}

impl BlobStore for MemoryLog {
    fn put_blob(&self, bytes: Vec<u8>) -> Answer<'_, BlobId> {
        let mut shared = self.lock();
        let known = shared
            .blobs
            .iter()
            .find(|(_, kept)| **kept == bytes)
            .map(|(id, _)| id.clone());
        let id = known.unwrap_or_else(|| BlobId::with_suffix(format_args!("{:064x}", shared.blobs.len())));
        shared.blobs.insert(id.clone(), bytes);
        ready(Ok(id))
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> Answer<'_, Vec<u8>> {
        let shared = self.lock();
        let cut = |bytes: &Vec<u8>| {
            let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            bytes[at(range.start)..at(range.end).max(at(range.start))].to_vec()
        };
        ready(
            shared
                .blobs
                .get(id)
                .map(cut)
                .ok_or_else(|| LogError::NoBlob(id.clone())),
        )
    }

    fn blob_size(&self, id: &BlobId) -> Answer<'_, u64> {
        ready(
            self.lock()
                .blobs
                .get(id)
                .map(|bytes| bytes.len() as u64)
                .ok_or_else(|| LogError::NoBlob(id.clone())),
        )
    }
}

impl SessionLog for MemoryLog {
    fn create(&self, new: NewLog) -> Answer<'_, ()> {
        let mut shared = self.lock();
        if shared.sessions.contains_key(&new.session_id) {
            return ready(Err(LogError::Exists(new.session_id)));
        }
        let info = SessionInfo {
            session_id: new.session_id.clone(),
            owner: new.owner,
            title: String::new(),
            workspace: new.workspace,
            model: String::new(),
            status: None,
            created_at: new.at,
            updated_at: new.at,
            last_seq: new.parent.as_ref().map_or(0, |(_, at_seq)| *at_seq),
            messages: 0,
            usage: Default::default(),
            cost: Default::default(),
            parent: new.parent,
            writer: None,
        };
        let stored = Stored {
            info,
            own: Vec::new(),
            digests: Vec::new(),
            projections: Vec::new(),
            epoch: 0,
            busy: Arc::new(()),
        };
        shared.sessions.insert(new.session_id, stored);
        ready(Ok(()))
    }

    fn attach(&self, session: &SessionId) -> Answer<'_, Writer> {
        ready(self.with(session, |stored| {
            if Arc::strong_count(&stored.busy) > 1 {
                return Err(LogError::Busy {
                    session: session.clone(),
                    process: std::process::id(),
                });
            }
            stored.epoch += 1;
            Ok(Writer {
                session_id: session.clone(),
                epoch: stored.epoch,
                last_seq: stored.info.last_seq,
                guard: Box::new(stored.busy.clone()),
            })
        }))
    }

    fn append(&self, writer: &Writer, batch: Batch) -> Answer<'_, ()> {
        if self.lock().full {
            return ready(Err(LogError::Full {
                path: "memory".into(),
            }));
        }
        ready(self.with(&writer.session_id, |stored| {
            if writer.epoch != stored.epoch {
                return Err(LogError::Fenced {
                    session: writer.session_id.clone(),
                    epoch: writer.epoch,
                });
            }
            for fact in batch.facts {
                assert_eq!(fact.seq, stored.info.last_seq + 1, "seq is dense");
                stored.info.last_seq = fact.seq;
                stored.own.push(fact);
            }
            stored.digests.push((stored.info.last_seq, batch.derived));
            stored.projections.extend(batch.projections);
            Ok(())
        }))
    }

    fn read(&self, session: &SessionId, after_seq: u64, limit: usize) -> Answer<'_, Vec<Fact>> {
        let all = facts(&self.lock(), session);
        ready(Ok(all
            .into_iter()
            .filter(|fact| fact.seq > after_seq)
            .take(limit)
            .collect()))
    }

    fn digests(&self, session: &SessionId) -> Answer<'_, Vec<(u64, Digest)>> {
        ready(self.with(session, |stored| Ok(stored.digests.clone())))
    }

    fn rows(&self, _: &SessionId, _: u64, _: usize) -> Answer<'_, LogRows> {
        ready(Err(no_rows()))
    }

    fn adopt(&self, _: &Writer, _: Arc<Adoption>) -> Answer<'_, u64> {
        ready(Err(no_rows()))
    }

    fn info(&self, session: &SessionId) -> Answer<'_, SessionInfo> {
        ready(self.with(session, |stored| Ok(stored.info.clone())))
    }

    fn list(&self, query: SessionQuery) -> Answer<'_, Vec<SessionInfo>> {
        let shared = self.lock();
        let infos = shared.sessions.values().map(|stored| stored.info.clone());
        ready(Ok(infos
            .filter(|info| info.owner == query.owner)
            .take(query.limit)
            .collect()))
    }

    fn shared(&self, query: SessionQuery) -> Answer<'_, Vec<SessionInfo>> {
        let shared = self.lock();
        let others = shared
            .sessions
            .values()
            .filter(|stored| stored.info.owner != query.owner);
        let found = others.filter(|stored| role_in(stored, &query.owner).is_some());
        ready(Ok(found
            .map(|stored| stored.info.clone())
            .take(query.limit)
            .collect()))
    }

    fn access(&self, session: &SessionId, person: &OwnerId) -> Answer<'_, (OwnerId, Option<SessionRole>)> {
        ready(self.with(session, |stored| {
            Ok((stored.info.owner.clone(), role_in(stored, person)))
        }))
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> Answer<'_, Option<u64>> {
        let facts = facts(&self.lock(), session);
        let names = |fact: &&Fact| {
            let payload = fact.event.payload_json();
            payload
                .windows(blob.as_str().len())
                .any(|part| part == blob.as_str().as_bytes())
        };
        ready(Ok(facts.iter().find(names).map(|fact| fact.seq)))
    }

    fn under_way(&self) -> Answer<'_, Vec<(SessionId, OwnerId)>> {
        let shared = self.lock();
        let open = shared.sessions.values().filter(|stored| {
            let status = |projection: &Projection| match projection {
                Projection::Status(status) => Some(!status.is_final()),
                _ => None,
            };
            let last = stored.projections.iter().rev().find_map(status);
            last.unwrap_or_default()
        });
        ready(Ok(open
            .map(|stored| (stored.info.session_id.clone(), stored.info.owner.clone()))
            .collect()))
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> Answer<'_, Vec<SessionId>> {
        let shared = self.lock();
        let fits =
            |info: &&Stored| info.info.owner == *owner && info.info.session_id.as_str().starts_with(prefix);
        ready(Ok(shared
            .sessions
            .values()
            .filter(fits)
            .map(|stored| stored.info.session_id.clone())
            .collect()))
    }

    fn delete(&self, session: &SessionId) -> Answer<'_, ()> {
        let removed = self.lock().sessions.remove(session);
        ready(
            removed
                .map(drop)
                .ok_or_else(|| LogError::NotFound(session.to_string())),
        )
    }

    fn verify(&self, session: &SessionId) -> Answer<'_, VerifyReport> {
        ready(self.with(session, |stored| {
            Ok(VerifyReport {
                session_id: session.clone(),
                good_events: stored.info.last_seq,
                last_seq: stored.info.last_seq,
                head: String::new(),
                problems: Vec::new(),
            })
        }))
    }

    fn search(&self, _: &OwnerId, _: &str, _: usize) -> Answer<'_, Vec<SearchHit>> {
        ready(Ok(Vec::new()))
    }

    fn collect_garbage(&self) -> Answer<'_, u64> {
        ready(Ok(0))
    }
}

fn no_rows() -> LogError {
    LogError::Store {
        path: "memory".into(),
        what: "this log has no rows".into(),
    }
}
