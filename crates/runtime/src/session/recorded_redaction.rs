//! Takes secrets out of a recorded session: out of its facts, its blobs, and the sessions that share events
//! with it. A mirror uses the second half, with facts of its server.
//!
//! No session is opened: the locks of all of them are held, so that no other process writes to them. A
//! process that dies before the log has replaced the facts has changed nothing, and one that dies afterwards
//! leaves only remains in free space. In both cases the same call completes the work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentx_secrets::Redactor;
use agentx_session::{DerivedDigest, Fact, Projection, SessionFold};
use agentx_types::{BlobId, EnvironmentEvent, EventDraft, Role, SessionId, SessionRedacted, Source};

use crate::api::{RedactionReport, RuntimeError};
use crate::clock::Clock;
use crate::log::SessionLog;
use crate::log::blobs::{blobs_of, exact_blobs_of};
use crate::log::folding::check_version;
use crate::log::redacting::{RedactedSession, Redaction, RedactionPlan};
use crate::log::titles::{is_own_command, title_from};
use crate::log::writing::{Batch, Writer};
use crate::log_error::LogError;
use crate::redaction::{ReplacedFacts, check_copied, is_replacement, replaced_facts};

/// Number of facts in a page.
const PAGE: usize = 4096;

/// Takes the secrets that `redactor` knows out of a session that nobody has open. Sessions that share the
/// events get the same facts.
///
/// # Errors
/// Returns an error if the session does not exist or is damaged, another process writes it or a session that
/// shares the events, or the log cannot replace facts. Nothing was changed then.
pub async fn redact_session(
    log: &dyn SessionLog,
    session: &SessionId,
    redactor: &Redactor,
    clock: &dyn Clock,
) -> Result<RedactionReport, RuntimeError> {
    let writer = log.attach(session).await?;
    let facts = all_facts(log, session).await?;
    let blobs = BlobsWithout::find(log, &facts, redactor).await?;
    let replaced = replaced_facts(redactor, &facts, &blobs.renamed);
    let mut report = RedactionReport {
        session_id: session.clone(),
        events: replaced.facts.len() as u64,
        blobs: (blobs.renamed.len() + blobs.dropped.len()) as u64,
        names: blobs.names.union(&replaced.names).cloned().collect(),
        unreplaced: replaced.unreplaced.clone(),
        shared_with: Vec::new(),
        erased: false,
    };
    let title = log.info(session).await?.title;
    let dropped: Vec<BlobId> = blobs.dropped.into_iter().collect();
    if report.events + report.blobs > 0 || redactor.may_find_in(&title) {
        let work = RecordedRedaction {
            log,
            redactor,
            clock,
            facts: &facts,
            replaced: &replaced,
            dropped: &dropped,
            names: &report.names,
        };
        report.shared_with = work.carry_out(writer).await?;
    } else {
        drop(writer);
    }
    report.erased = log.erase_remains().await?;
    Ok(report)
}

/// All facts of a session.
async fn all_facts(log: &dyn SessionLog, session: &SessionId) -> Result<Vec<Fact>, LogError> {
    let mut facts: Vec<Fact> = Vec::new();
    loop {
        let after = facts.last().map_or(0, |fact| fact.seq);
        let mut page = log.read(session, after, PAGE).await?;
        if page.is_empty() {
            return Ok(facts);
        }
        facts.append(&mut page);
    }
}

/// The blobs of a session that have a secret.
#[derive(Default)]
struct BlobsWithout {
    /// Texts, with the blobs that replace them.
    renamed: BTreeMap<BlobId, BlobId>,
    /// Contents that are of use only unchanged: nothing replaces them.
    dropped: BTreeSet<BlobId>,
    names: BTreeSet<String>,
}

impl BlobsWithout {
    /// Finds them, and stores the texts without the secrets.
    async fn find(log: &dyn SessionLog, facts: &[Fact], redactor: &Redactor) -> Result<Self, LogError> {
        let mut found = Self::default();
        let exact: BTreeSet<BlobId> = facts
            .iter()
            .flat_map(|fact| exact_blobs_of(&fact.event))
            .collect();
        let all: BTreeSet<BlobId> = facts.iter().flat_map(|fact| blobs_of(&fact.event)).collect();
        for blob in all {
            let bytes = match log.get_blob(&blob, 0..u64::MAX).await {
                Ok(bytes) => bytes,
                Err(LogError::NoBlob(_)) => continue,
                Err(error) => return Err(error),
            };
            let places = redactor.find(&String::from_utf8_lossy(&bytes));
            if places.is_empty() {
                continue;
            }
            found.names.extend(places.into_iter().map(|place| place.name));
            let text = String::from_utf8(bytes).ok().filter(|_| !exact.contains(&blob));
            match text {
                Some(text) => {
                    let without = redactor.redact(&text).into_owned();
                    let other = log.put_blob(without.into_bytes()).await?;
                    found.renamed.insert(blob, other);
                }
                None => {
                    found.dropped.insert(blob);
                }
            }
        }
        Ok(found)
    }
}

/// A redaction whose facts are known.
struct RecordedRedaction<'a> {
    log: &'a dyn SessionLog,
    redactor: &'a Redactor,
    clock: &'a dyn Clock,
    /// The facts of the session.
    facts: &'a [Fact],
    replaced: &'a ReplacedFacts,
    /// The blobs that go although facts name them.
    dropped: &'a [BlobId],
    names: &'a [String],
}

impl RecordedRedaction<'_> {
    /// Replaces the facts in all sessions that have them. Returns the other sessions.
    async fn carry_out(&self, writer: Writer) -> Result<Vec<SessionId>, RuntimeError> {
        let session = writer.session_id.clone();
        let mut writers = vec![writer];
        let mut plan = self.plan(&session).await?;
        for other in plan.sessions.iter().filter(|other| **other != session) {
            writers.push(self.log.attach(other).await?);
        }
        // Taking a lock packs the last rows.
        plan = self.plan(&session).await?;
        if plan
            .sessions
            .iter()
            .any(|id| writers.iter().all(|writer| writer.session_id != *id))
        {
            let what = format!("session {session} was forked meanwhile; nothing was redacted: try again");
            return Err(RuntimeError::Refused(what));
        }
        let mut sessions = Vec::new();
        for writer in &writers {
            sessions.push(self.change(writer, &plan).await?);
        }
        let redaction = Redaction {
            session_id: session,
            facts: self.replaced.facts.clone(),
            dropped: self.dropped.to_vec(),
            sessions,
        };
        self.log.redact(redaction).await?;
        let others = writers.iter().skip(1);
        Ok(others.map(|writer| writer.session_id.clone()).collect())
    }

    async fn plan(&self, session: &SessionId) -> Result<RedactionPlan, LogError> {
        self.log
            .plan_redaction(session, self.replaced.facts.clone())
            .await
    }

    /// Returns the changes in a session: its messages, its title, and the record.
    async fn change(&self, writer: &Writer, plan: &RedactionPlan) -> Result<RedactedSession, RuntimeError> {
        let id = &writer.session_id;
        let before = all_facts(self.log, id).await?;
        let after = with_replaced(&before, self.facts, &self.replaced.facts);
        let mut folded = FoldedFacts::of(id, &after);
        check_version(&folded.fold)?;
        let record = SessionRedacted {
            names: self.names.to_vec(),
            segments: plan.segments.clone(),
            dropped: SessionRedacted::hashes_of(self.dropped),
        };
        let draft = EventDraft::<EnvironmentEvent>::new(Source::User, None, record);
        let fact = Arc::new(folded.fold.mint(draft, self.clock.now()));
        folded.add(&fact);
        let title = self.log.info(id).await?.title;
        let old = FoldedFacts::of(id, &before);
        // A title that was cut may end in the middle of a secret.
        let follows = title_of(&old.projections).is_some_and(|old| old == title);
        let present = title_of(&folded.projections).filter(|_| follows);
        let present = present.unwrap_or_else(|| self.redactor.redact(&title).into_owned());
        Ok(RedactedSession {
            session_id: id.clone(),
            epoch: writer.epoch,
            record: Some(Batch::new(vec![fact], folded.digest.value())),
            messages: changed_messages(&old, &folded),
            title: Some(present).filter(|present| *present != title),
        })
    }
}

/// Replaces facts of a mirror's copy by those of its server, and removes the contents of files that the
/// server removed (`dropped`), before the record of the redaction comes. Contents that no fact of the copy
/// names stay, and so do those that other sessions here name.
///
/// # Errors
/// Returns [`RuntimeError::Refused`] if they differ in more than texts that `[secret NAME]` replaces, and an
/// error if the log cannot be read or replaces no facts. Nothing was changed then.
pub async fn replace_copied_facts(
    log: &dyn SessionLog,
    writer: &Writer,
    facts: Vec<Fact>,
    mut dropped: Vec<BlobId>,
) -> Result<(), RuntimeError> {
    let id = &writer.session_id;
    let before = all_facts(log, id).await?;
    let last = before.last().map_or(0, |fact| fact.seq);
    let facts: Vec<Fact> = facts.into_iter().filter(|fact| fact.seq <= last).collect();
    let after = with_replaced(&before, &before, &facts);
    let named: BTreeSet<BlobId> = before.iter().flat_map(|fact| blobs_of(&fact.event)).collect();
    dropped.retain(|blob| named.contains(blob));
    check_changes(log, id, &before, &after).await?;
    let (old, new) = (FoldedFacts::of(id, &before), FoldedFacts::of(id, &after));
    let plan = log.plan_redaction(id, facts.clone()).await?;
    if plan.sessions.iter().any(|other| other != id) {
        let error = LogError::Store {
            path: "the session log".into(),
            what: format!(
                "a fork of {id} was made here and shares the redacted events; delete it, and the copy, to copy the session again"
            ),
        };
        return Err(error.into());
    }
    let changed = RedactedSession {
        session_id: id.clone(),
        epoch: writer.epoch,
        record: None,
        messages: changed_messages(&old, &new),
        title: title_of(&new.projections)
            .filter(|_| title_of(&old.projections) != title_of(&new.projections)),
    };
    let redaction = Redaction {
        session_id: id.clone(),
        facts,
        dropped,
        sessions: vec![changed],
    };
    log.redact(redaction).await?;
    log.erase_remains().await?;
    Ok(())
}

/// Checks that the facts of a server, and the blobs that they name now, differ by a redaction alone from
/// those of the copy. A blob of which either of them has no content gets no other name: nothing could be
/// compared when the content comes later.
async fn check_changes(
    log: &dyn SessionLog,
    session: &SessionId,
    before: &[Fact],
    after: &[Fact],
) -> Result<(), RuntimeError> {
    let refused = |seq: u64, what: &str| {
        RuntimeError::Refused(format!(
            "the server redacted session {session}, but its event {seq} is not the one that is here with secrets \
             taken out: {what}. The copy is left unchanged; keep the server's session in another directory"
        ))
    };
    let renamed = check_copied(before, after).map_err(|other| refused(other.seq, other.what))?;
    for (blob, other) in &renamed {
        let what = match (text_of(log, blob).await?, text_of(log, other).await?) {
            (Some(was), Some(is)) if is_replacement(&was, &is, false) => continue,
            (Some(_), Some(_)) => "a stored content that it names has other words",
            _ => {
                "a stored content that it names has another name, and cannot be compared because it is missing"
            }
        };
        let mut facts = before.iter();
        let named = facts.find(|fact| blobs_of(&fact.event).contains(blob));
        return Err(refused(named.map_or(0, |fact| fact.seq), what));
    }
    Ok(())
}

/// The text of a blob; `None` if the log does not have it.
async fn text_of(log: &dyn SessionLog, blob: &BlobId) -> Result<Option<String>, LogError> {
    match log.get_blob(blob, 0..u64::MAX).await {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(LogError::NoBlob(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Facts with the replaced ones in their places, where they are the same: a session that shares only the
/// first events has others behind them.
fn with_replaced(facts: &[Fact], of: &[Fact], replaced: &[Fact]) -> Vec<Fact> {
    let numbers: BTreeSet<u64> = replaced.iter().map(|fact| fact.seq).collect();
    let stored = of.iter().filter(|fact| numbers.contains(&fact.seq));
    let stored: BTreeMap<u64, &Fact> = stored.map(|fact| (fact.seq, fact)).collect();
    let replaced: BTreeMap<u64, &Fact> = replaced.iter().map(|fact| (fact.seq, fact)).collect();
    let present = |fact: &Fact| {
        let is_same = stored
            .get(&fact.seq)
            .is_some_and(|known| known.at == fact.at && known.event == fact.event);
        match replaced.get(&fact.seq).filter(|_| is_same) {
            Some(other) => {
                let mut other = (***other).clone();
                other.session_id = fact.session_id.clone();
                Arc::new(other)
            }
            None => fact.clone(),
        }
    };
    facts.iter().map(present).collect()
}

/// Facts that were folded, with what the read models and a digest get from them.
struct FoldedFacts {
    fold: SessionFold,
    digest: DerivedDigest,
    projections: Vec<Projection>,
}

impl FoldedFacts {
    fn of(session: &SessionId, facts: &[Fact]) -> Self {
        let mut folded = Self {
            fold: SessionFold::new(session.clone()),
            digest: DerivedDigest::default(),
            projections: Vec::new(),
        };
        for fact in facts {
            folded.add(fact);
        }
        folded
    }

    fn add(&mut self, fact: &Fact) {
        let mut derived = self.fold.apply(fact);
        self.digest.add(fact, &derived);
        self.projections.append(&mut derived.projections);
    }

    fn messages(&self) -> Vec<&Projection> {
        let is_message = |projection: &&Projection| matches!(projection, Projection::Message { .. });
        self.projections.iter().filter(is_message).collect()
    }
}

/// The messages that have other words now.
fn changed_messages(old: &FoldedFacts, new: &FoldedFacts) -> Vec<Projection> {
    let known = old.messages();
    let mut known = known.iter();
    let now = new.messages().into_iter();
    let changed = now.filter(|message| known.next() != Some(message));
    changed.cloned().collect()
}

/// The title that follows from a session's facts.
fn title_of(projections: &[Projection]) -> Option<String> {
    let given = projections.iter().rev().find_map(|projection| match projection {
        Projection::Title(title) => Some(title.clone()),
        _ => None,
    });
    let mut inputs = projections.iter().filter_map(|projection| match projection {
        Projection::Message {
            role: Role::User,
            text,
            ..
        } => Some(text),
        _ => None,
    });
    let first = inputs.clone().next();
    let said = inputs.find(|text| !is_own_command(text)).or(first);
    given.or_else(|| said.map(|text| title_from(text)))
}
