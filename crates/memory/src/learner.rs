//! The service that has a model propose what to remember: it answers actions on the topic
//! `memories.requests` with one `memories_proposed` each.
//!
//! | request | answer |
//! | --- | --- |
//! | of the person's own session | the model is asked; its proposals wait in the inbox, with their origins |
//! | of another person's session, or one in which another person wrote | nothing, and no model is asked |
//! | while memory is off | nothing, and no model is asked |
//! | the model fails, or takes longer than 2 min; the answer is not a list; the inbox is full | a `problem` |
//!
//! A proposal is accepted without the person only if the setting says so, it is a fact, and the conversation
//! has no text from outside. A reflection always waits for the person. The answer of the model is not
//! recorded in the session, so nothing replaces secrets in it: a proposal with a known secret is not stored.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BoxFuture, Clock, Effector, EventSink, ModelReply, Redactor, SessionLog, ask_model};
use agentx_types::{Action, ActionBody, ContextItem, MemoriesProposed, OwnerId, ProposeMemories, SessionId};
use tokio_util::sync::CancellationToken;

use crate::memory::{MemoryError, MemoryOrigin, MemoryState, NewMemory};
use crate::proposals::{Proposal, ProposalKind, Proposals, read};
use crate::remember::AcceptMode;
use crate::sessions::Sessions;
use crate::store::MemoryStore;

/// The maximum time for the answer of the model, with all its attempts.
const TIME: Duration = Duration::from_secs(120);

/// Asks a model what to remember, and stores its proposals.
pub struct MemoryLearner {
    /// The parts; `None` while memory is off.
    parts: Option<Arc<LearnerParts>>,
}

/// The parts of a [`MemoryLearner`].
pub struct LearnerParts {
    /// Asks models.
    pub models: Arc<dyn Effector>,
    /// The memories of the person.
    pub store: Arc<MemoryStore>,
    /// The log of the sessions.
    pub log: Arc<dyn SessionLog>,
    /// The person whose memories they are.
    pub person: OwnerId,
    /// The handling of proposals.
    pub accept: AcceptMode,
    /// Tells the time of proposals.
    pub clock: Arc<dyn Clock>,
    /// Finds known secrets; `None` finds none.
    pub redactor: Option<Redactor>,
}

impl MemoryLearner {
    /// The service for the memories of a person.
    pub fn new(parts: LearnerParts) -> Self {
        Self {
            parts: Some(Arc::new(parts)),
        }
    }

    /// The service while memory is off: sessions that were opened with memory get no proposals.
    pub fn off() -> Self {
        Self { parts: None }
    }
}

impl Effector for MemoryLearner {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let parts = self.parts.clone();
        Box::pin(async move {
            let ActionBody::ProposeMemories(propose) = &action.body else {
                return;
            };
            let answer = match (parts, events.session_id()) {
                (Some(parts), Some(session)) => {
                    parts.proposed(&action, propose, session.clone(), cancel).await
                }
                _ => MemoriesProposed::nothing(),
            };
            events.emit(answer).await;
        })
    }
}

impl LearnerParts {
    fn sessions(&self) -> Sessions {
        Sessions {
            log: self.log.clone(),
            person: self.person.clone(),
        }
    }

    /// Asks the model if the session is the person's own and nobody else wrote in it, and stores what it
    /// proposes.
    async fn proposed(
        self: Arc<Self>,
        action: &Action,
        propose: &ProposeMemories,
        session: SessionId,
        cancel: CancellationToken,
    ) -> MemoriesProposed {
        let sessions = self.sessions();
        if !sessions.is_own(&session).await {
            return MemoriesProposed::nothing();
        }
        match sessions.has_another_person(&session).await {
            Ok(false) => {}
            Ok(true) => return MemoriesProposed::nothing(),
            Err(error) => return MemoriesProposed::failed(error.to_string()),
        }
        let request = (*propose.request).clone();
        let asked = ask_model(&*self.models, action, request, Some(session.clone()), cancel);
        let Ok(reply) = tokio::time::timeout(TIME, asked).await else {
            return MemoriesProposed::failed(format!("the model did not answer within {TIME:?}"));
        };
        let bill = reply.bill(&propose.request.model);
        let stored = match answer_of(reply, propose) {
            Ok(proposals) => self.store(action, propose, session, proposals).await,
            Err(problem) => MemoriesProposed::failed(problem),
        };
        MemoriesProposed { bill, ..stored }
    }

    /// Stores proposals, and returns those that are new.
    async fn store(
        self: Arc<Self>,
        action: &Action,
        propose: &ProposeMemories,
        session: SessionId,
        proposals: Proposals,
    ) -> MemoriesProposed {
        if proposals.list.is_empty() {
            return MemoriesProposed::nothing();
        }
        let accepts = self.accept == AcceptMode::Always
            && !self
                .sessions()
                .has_text_from_outside(&session)
                .await
                .unwrap_or(true);
        let new: Vec<NewMemory> = proposals
            .list
            .into_iter()
            .enumerate()
            .map(|(number, proposal)| NewMemory {
                state: if accepts && proposal.kind == ProposalKind::Fact {
                    MemoryState::Accepted
                } else {
                    MemoryState::Proposed
                },
                // A request that is repeated after a crash has another action, but the same words.
                call: Some(format!("{}/{number}", action.action_id)),
                ..new_memory(proposal, propose, &session)
            })
            .collect();
        let adding = tokio::task::spawn_blocking(move || self.add_all(&new));
        adding
            .await
            .unwrap_or_else(|error| MemoriesProposed::failed(error.to_string()))
    }

    /// Returns whether a text contains a known secret.
    fn has_secret(&self, text: &str) -> bool {
        let redactor = self.redactor.as_ref();
        redactor.is_some_and(|redactor| !redactor.find(text).is_empty())
    }

    /// Adds proposals. One that cannot be a memory is left out; an inbox that is full ends it.
    fn add_all(&self, new: &[NewMemory]) -> MemoriesProposed {
        let mut proposed = MemoriesProposed::nothing();
        for new in new {
            if self.has_secret(&new.text) {
                tracing::debug!("a proposal contains a secret");
                continue;
            }
            match self.store.add(new, self.clock.now()) {
                Ok((memory, true)) => proposed.items.push(ContextItem {
                    id: memory.id.to_string(),
                    origin: memory.origin.as_ref().map(ToString::to_string),
                }),
                Ok((_, false)) => {}
                Err(MemoryError::InvalidText(problem)) => {
                    tracing::debug!(problem, "a proposal cannot be a memory");
                }
                Err(error) => {
                    proposed.problem = Some(error.to_string());
                    break;
                }
            }
        }
        proposed
    }
}

/// The proposals in the answer of a model.
fn answer_of(reply: ModelReply, propose: &ProposeMemories) -> Result<Proposals, String> {
    let text = reply
        .outcome
        .map_err(|problem| format!("{}: {problem}", propose.request.model.id))?;
    let proposals = read(&text, &propose.inputs, propose.reflect)?;
    if proposals.left_out > 0 {
        tracing::debug!(
            count = proposals.left_out,
            "entries of an answer are no proposals"
        );
    }
    Ok(proposals)
}

/// A proposal as a memory to be stored.
fn new_memory(proposal: Proposal, propose: &ProposeMemories, session: &SessionId) -> NewMemory {
    NewMemory {
        text: proposal.text,
        state: MemoryState::Proposed,
        pinned: false,
        folder: proposal.only_here.then(|| propose.workspace.clone()),
        origin: Some(MemoryOrigin {
            session: session.clone(),
            seq: proposal.from,
        }),
        call: None,
    }
}
