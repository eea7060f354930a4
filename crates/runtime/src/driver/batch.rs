//! A batch of the sequencer: mint, fold, commit, publish, perform.
//!
//! This order guarantees invariants 2 and 3 of `docs/ARCHITECTURE.md`. A fact has its `seq` and time before
//! it is folded; nothing is published or performed before the commit (2); and if the commit fails, the batch
//! is dropped and the session ends, because its fold is ahead of its log (decision 010 in `issues/`). A batch
//! is bounded to about 512 facts. It waits one millisecond for more facts, but not if somebody waits for the
//! commit or there are actions to perform.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentx_types::{Action, ActionBody, EnvironmentEvent, EventDraft, Source};

use super::SessionDriver;
use super::pending_fact::{CommitWaiter, PendingFact};
use super::shutdown::unless_halted;
use crate::answer_schema;
use crate::commands::RETRY;
use crate::effects::effect::FactBatch;
use crate::log::writing::Batch;
use crate::log_error::LogError;
use crate::redaction::RedactedFacts;
use crate::system_events::{AgentEvent, SystemEvent};
use agentx_session::{Derived, Fact, Projection};
use tokio::time::Instant;

/// The number of facts that are committed together at most.
const BATCH_FACTS: usize = 512;
/// Time for which chunks without a waiter may wait for further ones, to share a commit.
const LINGER: Duration = Duration::from_millis(1);

/// The output of one batch of the sequencer.
#[derive(Default)]
struct CommitBatch {
    /// The time at which it was begun; `None` if nothing may be waited for.
    began: Option<Instant>,
    /// Whether the sender of the last fact has already gathered related facts.
    gathered: bool,
    /// The facts, numbered and folded, in order.
    facts: Vec<Fact>,
    /// The derived output of all facts.
    derived: Derived,
    /// The number of derived events of each fact.
    derived_counts: Vec<usize>,
    /// The events of agents inside their own boundaries, if anybody listens.
    said: Vec<Arc<AgentEvent>>,
    /// The actions of agents, in order: published after the commit, and then performed if they touch the
    /// environment.
    wanted: Vec<Action>,
    /// The waiters to notify after the commit, each with the `seq` of its fact.
    waiting: Vec<(CommitWaiter, u64)>,
    /// Whether a person ends the pause before the next retry.
    retry: bool,
}

impl SessionDriver {
    /// Commits facts, with their immediate consequences and with other waiting facts. When it returns, all of
    /// them are committed and published, and their actions are dispatched.
    pub(super) async fn process_batch(&mut self, items: Vec<PendingFact>) -> Result<(), LogError> {
        let mut queue = self.after_current_rules(items).await;
        let mut batch = CommitBatch {
            began: Some(Instant::now()),
            ..CommitBatch::default()
        };
        loop {
            while let Some(item) = queue.pop_front() {
                self.take(item, &mut batch, &mut queue);
            }
            if batch.facts.len() >= BATCH_FACTS {
                break;
            }
            match self.gather_more(&batch).await {
                Some(said) => queue.extend(PendingFact::all(said)),
                None => break,
            }
        }
        self.finish(batch).await
    }

    /// Returns more facts to commit with this batch: those that have arrived, and, if nobody waits for the
    /// commit, those that arrive within a moment. A model's chunks arrive one by one, and a separate commit
    /// for each would cost more than the chunk itself.
    async fn gather_more(&mut self, batch: &CommitBatch) -> Option<FactBatch> {
        if let Ok(said) = self.inbound.try_recv() {
            return Some(said);
        }
        let goes_on = batch.facts.last().is_some_and(|fact| fact.event.has_more());
        if !goes_on
            || batch.gathered
            || batch.wanted.iter().any(is_for_effectors)
            || !batch.waiting.is_empty()
        {
            return None;
        }
        let deadline = batch.began? + LINGER;
        tokio::time::timeout_at(deadline, self.inbound.recv())
            .await
            .ok()
            .flatten()
    }

    /// Takes one item, unless it is refused: replaces secrets in it, and folds the result.
    fn take(&mut self, mut item: PendingFact, batch: &mut CommitBatch, queue: &mut VecDeque<PendingFact>) {
        if self.refuse(&mut item) {
            return;
        }
        let Some(redaction) = &mut self.redaction else {
            return self.fold_one(item, batch, queue);
        };
        let PendingFact {
            draft,
            waits,
            of_responder,
            gathered,
        } = item;
        let RedactedFacts { rests, event } = redaction.pass(draft);
        for rest in rests {
            self.fold_one(PendingFact::fact(rest), batch, queue);
        }
        match event {
            Some(draft) => {
                let item = PendingFact {
                    draft,
                    waits,
                    of_responder,
                    gathered,
                };
                self.fold_one(item, batch, queue);
            }
            // All of it is held back, so no waiter needs this commit.
            None => {
                batch.gathered = gathered;
                batch
                    .waiting
                    .extend(waits.map(|waits| (waits, self.fold.last_seq())));
            }
        }
    }

    /// Numbers and folds one fact.
    ///
    /// Immediate consequences (a start, an answer, a report, a child) go to the front of `queue`, so that no
    /// other fact comes between.
    fn fold_one(&mut self, item: PendingFact, batch: &mut CommitBatch, queue: &mut VecDeque<PendingFact>) {
        batch.gathered = item.gathered;
        let fact: Fact = Arc::new(self.fold.mint(item.draft, self.parts.clock.now()));
        let seq = fact.seq;
        let mut derived = self.fold.apply(&fact);
        self.digest.add(&fact, &derived);
        // Immediate consequences follow directly after their cause, in the order of the agent's actions.
        for draft in derived.actions.iter().rev().filter_map(consequence) {
            queue.push_front(PendingFact::fact(draft));
        }
        batch.wanted.append(&mut derived.actions);
        if self.parts.agents.subscriptions() > 0 {
            let said = |(agent_state_id, output)| AgentEvent {
                session_id: fact.session_id.clone(),
                agent_state_id,
                seq,
                output,
            };
            batch
                .said
                .extend(derived.outputs.drain(..).map(said).map(Arc::new));
        }
        batch.retry |= matches!(&fact.event, EnvironmentEvent::SystemCommand(said) if said.command == RETRY);
        batch.derived_counts.push(derived.events.len());
        batch.derived.events.append(&mut derived.events);
        batch.derived.projections.append(&mut derived.projections);
        batch.facts.push(fact);
        batch.waiting.extend(item.waits.map(|waits| (waits, seq)));
    }

    /// Commits the batch, then publishes, performs, and notifies the waiters, in this order.
    ///
    /// # Errors
    /// Returns an error if the log refuses the commit: then nothing was published or performed, and the
    /// session has to end.
    async fn finish(&mut self, batch: CommitBatch) -> Result<(), LogError> {
        let CommitBatch {
            began: _,
            gathered: _,
            facts,
            derived,
            derived_counts,
            said,
            wanted,
            waiting,
            retry,
        } = batch;
        if facts.is_empty() {
            for (waits, seq) in waiting {
                waits.tell(Ok(seq));
            }
            return Ok(());
        }
        let projections: Vec<Projection> = derived.projections;
        let batch = Batch::new(facts.clone(), self.digest.value()).with_projections(projections);
        unless_halted().await;
        if let Err(error) = self.parts.log.append(&self.writer, batch).await {
            for (waits, _) in waiting {
                waits.tell(Err(&error));
            }
            return Err(error);
        }
        self.publish(facts, derived.events, &derived_counts).await;
        if !said.is_empty() {
            let _ = self.parts.agents.publish_all(said).await;
        }
        // Changed rules apply to the next steps of tools before the person who changed them gets the answer.
        self.effects.configure(&self.fold);
        // Cancellations take effect before the waiters for the commit continue.
        for action in wanted {
            self.perform(action).await;
        }
        if retry {
            self.parts.actions.retry_now(&self.writer.session_id);
        }
        for (waits, seq) in waiting {
            waits.tell(Ok(seq));
        }
        Ok(())
    }

    /// Publishes each fact, directly followed by its derived events. Skips the work if nobody listens.
    async fn publish(
        &self,
        facts: Vec<Fact>,
        derived: Vec<agentx_types::Envelope<agentx_types::RuntimeEvent>>,
        derived_counts: &[usize],
    ) {
        if self.parts.bus.subscriptions() == 0 {
            return;
        }
        let mut derived = derived.into_iter();
        let mut events = Vec::with_capacity(facts.len() + derived.len());
        for (fact, count) in facts.into_iter().zip(derived_counts) {
            events.push(SystemEvent::Environment(fact).into());
            events.extend(
                derived
                    .by_ref()
                    .take(*count)
                    .map(|event| SystemEvent::Runtime(Arc::new(event)).into()),
            );
        }
        // A bus that is closed has no readers left to miss anything.
        let _ = self.parts.bus.publish_all(events).await;
    }

    /// Dispatches an action. An action whose fact is the complete effect needs no dispatch. If nobody serves
    /// the action, its failure arrives as a fact.
    async fn perform(&mut self, action: Action) {
        let performs = is_for_effectors(&action);
        if performs {
            unless_halted().await;
        }
        let action = Arc::new(action);
        if self.parts.bus.subscriptions() > 0 {
            let event = SystemEvent::Action(self.writer.session_id.clone(), action.clone());
            let _ = self.parts.bus.publish(event).await;
        }
        match &action.body {
            ActionBody::Cancel(cancel) => self.effects.cancel(&cancel.action_id),
            ActionBody::DecideInnerCall(decide) => self.effects.decide(decide),
            _ if performs => self.effects.start(&self.parts, action),
            _ => {}
        }
    }
}

/// Returns whether the action concerns an effector; any other is complete with the fact that follows from it.
fn is_for_effectors(action: &Action) -> bool {
    match action.body {
        ActionBody::CallModel(_)
        | ActionBody::Condense(_)
        | ActionBody::BuildContext(_)
        | ActionBody::AssessRisk(_)
        | ActionBody::ProposeMemories(_)
        | ActionBody::CallTool(_)
        | ActionBody::StartTimer(_)
        | ActionBody::Cancel(_)
        | ActionBody::DecideInnerCall(_) => true,
        ActionBody::AnswerCall(_)
        | ActionBody::CheckAnswer(_)
        | ActionBody::Report(_)
        | ActionBody::SpawnAgent(_)
        | ActionBody::SendInput(_)
        | ActionBody::InterruptAgent(_)
        | ActionBody::CloseAgent(_) => false,
    }
}

/// The fact that records an action: that it begins, or its whole outcome if nothing outside is touched.
fn consequence(action: &Action) -> Option<EventDraft<EnvironmentEvent>> {
    let ActionBody::CheckAnswer(check) = &action.body else {
        return agentx_session::consequence(action);
    };
    Some(EventDraft {
        source: Source::System,
        agent_state_id: Some(action.agent_state_id.clone()),
        run_id: action.run_id.clone(),
        cause: Some(action.action_id.clone()),
        event: answer_schema::check(check).into(),
    })
}
