//! A session of a log in memory: its facts, and its data for lists.
//!
//! It keeps the promises of [`SessionLog`](crate::SessionLog) for one session; the lock is that of the whole
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentx_session::{Digest, Fact, Projection};
use agentx_types::{
    AgentStateId, BlobId, Envelope, MessageId, NanoUsd, OwnerId, Role, SessionId, SessionRole, Timestamp,
    Usage,
};

use super::named_blobs::blobs_named;
use crate::log::titles::{is_own_command, title_from};
use crate::log::writing::{Batch, NewLog, Writer};
use crate::log_error::LogError;
use crate::session_lists::{SessionInfo, VerifyReport, WriterInfo};

/// A session.
#[derive(Clone)]
pub(super) struct StoredSession {
    info: SessionInfo,
    /// The facts that it shares with its parent, under the id that they were written with. They are copies of
    /// the facts' handles: the parent may be deleted.
    shared: Arc<[Fact]>,
    own: Vec<Fact>,
    /// The digest of each batch, by the `seq` of its last fact.
    digests: Vec<(u64, Digest)>,
    messages: Vec<StoredMessage>,
    /// The model calls that were paid for, by the event that recorded the payment.
    spent: BTreeMap<u64, PaidCall>,
    roles: BTreeMap<OwnerId, SessionRole>,
    /// The time of the first reminder, if there is one.
    reminder: Option<Timestamp>,
    /// Counts the writers, from 1.
    epoch: u64,
    /// The writer holds a second reference.
    held: Arc<()>,
}

/// A message that joined a conversation.
#[derive(Clone)]
pub(super) struct StoredMessage {
    pub(super) seq: u64,
    id: MessageId,
    pub(super) agent: AgentStateId,
    pub(super) role: Role,
    pub(super) text: String,
    /// Whether it came by the events that are shared with the parent.
    shared: bool,
}

/// A model call that was paid for.
#[derive(Clone)]
pub(super) struct PaidCall {
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) cost: NanoUsd,
}

impl StoredSession {
    pub(super) fn new(new: &NewLog) -> Self {
        let info = SessionInfo::new(new.session_id.clone(), new.owner.clone(), new.at)
            .with_workspace(new.workspace.clone())
            .with_parent(new.parent.clone());
        Self {
            info,
            shared: Arc::default(),
            own: Vec::new(),
            digests: Vec::new(),
            messages: Vec::new(),
            spent: BTreeMap::new(),
            roles: BTreeMap::new(),
            reminder: None,
            epoch: 0,
            held: Arc::default(),
        }
    }

    /// Returns a session that begins with this one up to the event `at_seq`. It has the messages of those
    /// events but no roles, and the spending stays with the parent.
    ///
    /// # Errors
    /// Returns an error if this one has no such event.
    pub(super) fn fork(&self, new: &NewLog, at_seq: u64) -> Result<Self, LogError> {
        if at_seq > self.info.last_seq {
            return Err(wrong(format!(
                "session {} ends at event {}: no fork at {at_seq}",
                self.id(),
                self.info.last_seq
            )));
        }
        let mut fork = Self::new(new);
        let facts = self.shared.iter().chain(&self.own);
        fork.shared = facts.take_while(|fact| fact.seq <= at_seq).cloned().collect();
        let messages = self.messages.iter().filter(|message| message.seq <= at_seq);
        fork.messages = messages
            .map(|message| StoredMessage {
                shared: true,
                ..message.clone()
            })
            .collect();
        fork.info.last_seq = at_seq;
        fork.info.messages = fork.messages.len() as u64;
        fork.info.model.clone_from(&self.info.model);
        if !fork.messages.is_empty() {
            fork.info.title.clone_from(&self.info.title);
        }
        Ok(fork)
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.info.session_id
    }

    pub(super) fn owner(&self) -> &OwnerId {
        &self.info.owner
    }

    pub(super) fn info(&self) -> SessionInfo {
        SessionInfo {
            writer: self.is_written().then(|| WriterInfo {
                process: std::process::id(),
                epoch: self.epoch,
            }),
            ..self.info.clone()
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.info.title
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.info.status.is_some_and(|status| !status.is_final())
    }

    pub(super) fn has_reminder(&self) -> bool {
        self.reminder.is_some()
    }

    pub(super) fn role_of(&self, person: &OwnerId) -> Option<SessionRole> {
        self.roles.get(person).copied()
    }

    /// The messages that its own events completed.
    pub(super) fn own_messages(&self) -> impl Iterator<Item = &StoredMessage> {
        self.messages.iter().filter(|message| !message.shared)
    }

    pub(super) fn spent(&self) -> &BTreeMap<u64, PaidCall> {
        &self.spent
    }

    /// A fact of the session itself.
    pub(super) fn fact(&self, seq: u64) -> Option<&Fact> {
        let at = self.own.binary_search_by_key(&seq, |fact| fact.seq).ok()?;
        self.own.get(at)
    }

    /// Returns whether a [`Writer`] is alive.
    fn is_written(&self) -> bool {
        Arc::strong_count(&self.held) > 1
    }

    pub(super) fn forget_writer(&mut self) {
        self.held = Arc::default();
    }

    /// # Errors
    /// Returns an error if somebody writes it.
    pub(super) fn check_free(&self) -> Result<(), LogError> {
        if self.is_written() {
            Err(LogError::Busy {
                session: self.id().clone(),
                process: std::process::id(),
                server: None,
            })
        } else {
            Ok(())
        }
    }

    /// A new writer, with the next epoch.
    ///
    /// # Errors
    /// Returns an error if somebody writes it.
    pub(super) fn attach(&mut self) -> Result<Writer, LogError> {
        self.check_free()?;
        self.epoch += 1;
        let held = self.held.clone();
        Ok(Writer::new(
            self.id().clone(),
            self.epoch,
            self.info.last_seq,
            held,
        ))
    }

    /// Stores all events of a batch, or none.
    ///
    /// # Errors
    /// Returns an error if another writer has come since, or the facts are not the next ones of this session.
    pub(super) fn append(&mut self, writer: &Writer, batch: Batch) -> Result<(), LogError> {
        if writer.epoch != self.epoch {
            return Err(LogError::Fenced {
                session: self.id().clone(),
                epoch: writer.epoch,
            });
        }
        self.check_order(&batch.facts)?;
        if let Some(last) = batch.facts.last() {
            self.info.last_seq = last.seq;
            let is_status = |projection: &Projection| matches!(projection, Projection::Status(_));
            if batch.facts.iter().any(|fact| fact.event.is_activity())
                || batch.projections.iter().any(is_status)
            {
                self.info.updated_at = last.at;
            }
            self.digests.push((last.seq, batch.derived));
        }
        self.own.extend(batch.facts);
        batch
            .projections
            .into_iter()
            .for_each(|projection| self.project(projection));
        Ok(())
    }

    /// Whether these are the next facts: numbers without a gap, of this session, and no derived event among
    /// them.
    fn check_order(&self, facts: &[Fact]) -> Result<(), LogError> {
        for (expected, fact) in (self.info.last_seq + 1..).zip(facts) {
            if fact.seq != expected {
                return Err(wrong(format!(
                    "event {} cannot be appended to session {}: the next is {expected}",
                    fact.seq,
                    self.id()
                )));
            }
            if fact.session_id != *self.id() || fact.index.is_some() {
                return Err(wrong(format!(
                    "event {expected} is not a fact of session {}",
                    self.id()
                )));
            }
        }
        Ok(())
    }

    /// Changes a read model. Applying the same change again has no effect.
    fn project(&mut self, projection: Projection) {
        match projection {
            Projection::Title(title) => self.info.title = title,
            Projection::Model(model) => self.info.model = model,
            Projection::Status(status) => self.info.status = Some(status),
            Projection::Message {
                seq,
                message_id,
                agent_state_id,
                role,
                text,
            } => self.keep(StoredMessage {
                seq,
                id: message_id,
                agent: agent_state_id,
                role,
                text,
                shared: false,
            }),
            Projection::Spent {
                seq,
                model,
                usage,
                cost,
                ..
            } => self.spend(seq, PaidCall { model, usage, cost }),
            Projection::Role { person, role } => match role {
                Some(role) => {
                    self.roles.insert(person, role);
                }
                None => {
                    self.roles.remove(&person);
                }
            },
            Projection::Unshared => self.roles.clear(),
            Projection::Reminder(due_at) => self.reminder = due_at,
            // A kind that a later version adds does not concern the data here.
            _ => {}
        }
    }

    /// Keeps a message; it replaces the session's own message with the same id.
    fn keep(&mut self, message: StoredMessage) {
        if message.role == Role::User && (self.info.title.is_empty() || self.are_first_words(&message)) {
            self.info.title = title_from(&message.text);
        }
        let mut own = self.messages.iter_mut().filter(|known| !known.shared);
        match own.find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => {
                self.messages.push(message);
                self.info.messages += 1;
            }
        }
    }

    /// Returns whether these are the first words of a person, after commands only, one of which is the title.
    fn are_first_words(&self, message: &StoredMessage) -> bool {
        let is_said = |message: &StoredMessage| message.role == Role::User && !is_own_command(&message.text);
        let known = self.messages.iter();
        let mut others = known.filter(|known| !known.shared && known.id != message.id);
        self.info.title.starts_with('!') && is_said(message) && !others.any(is_said)
    }

    /// Counts a call, once.
    fn spend(&mut self, seq: u64, spent: PaidCall) {
        if self.spent.contains_key(&seq) {
            return;
        }
        self.info.usage += spent.usage;
        self.info.cost += spent.cost;
        self.spent.insert(seq, spent);
    }

    /// Returns the facts after `after_seq` as owned values.
    pub(super) fn facts_after(&self, after_seq: u64) -> Vec<Fact> {
        self.page(after_seq, usize::MAX)
    }

    /// Returns at most `limit` facts after `after_seq` as owned values.
    pub(super) fn page(&self, after_seq: u64, limit: usize) -> Vec<Fact> {
        let shared = self.shared.iter().skip_while(|fact| fact.seq <= after_seq);
        let shared = shared.map(|fact| {
            Arc::new(Envelope {
                session_id: self.id().clone(),
                ..Envelope::clone(fact)
            })
        });
        let from = self.own.partition_point(|fact| fact.seq <= after_seq);
        shared
            .chain(self.own[from..].iter().cloned())
            .take(limit)
            .collect()
    }

    pub(super) fn digests(&self) -> Vec<(u64, Digest)> {
        self.digests.clone()
    }

    /// The first event that names a blob.
    pub(super) fn names(&self, blob: &BlobId) -> Option<u64> {
        let mut facts = self.shared.iter().chain(&self.own);
        let names = |fact: &&Fact| blobs_named(fact).contains(blob);
        facts.find(names).map(|fact| fact.seq)
    }

    /// The blobs that its own events name.
    pub(super) fn blobs(&self) -> BTreeSet<BlobId> {
        self.own.iter().flat_map(blobs_named).collect()
    }

    /// The blobs that its events name, those that it shares too.
    pub(super) fn all_blobs(&self) -> BTreeSet<BlobId> {
        let facts = self.shared.iter().chain(&self.own);
        facts.flat_map(blobs_named).collect()
    }

    /// Returns the size of the session's own facts as JSON.
    pub(super) fn bytes(&self) -> u64 {
        let lengths = self.own.iter().map(|fact| fact.payload_json().len());
        lengths.sum::<usize>() as u64
    }

    /// Reports no damage: memory holds the facts as they were written.
    pub(super) fn report(&self) -> VerifyReport {
        VerifyReport {
            session_id: self.id().clone(),
            good_events: self.info.last_seq,
            last_seq: self.info.last_seq,
            head: String::new(),
            problems: Vec::new(),
            redacted_events: 0,
        }
    }
}

fn wrong(what: String) -> LogError {
    LogError::Store {
        path: "the session log in memory".into(),
        what,
    }
}
