//! The driver of a session: its one sequencer and its controller.
//!
//! Everything that happens to a session goes through one task. It gives events of effectors and requests of
//! people their `seq`, folds them, commits them together with everything that follows from them, publishes
//! them, and only then performs actions. Events that arrive during a commit go into the next one. If a commit
//! fails, nothing of it is published or performed, and the session ends: a restart has every event that a
//! reader saw.
//!
//! ```text
//! requests ─┐ commands            ┌─ fold ─ commit ─ publish ─ perform ─┐
//!           ├──────────▶ wake ────┤  (batch.rs)                         ├─▶ wake …
//! effectors ┘ inbound      ▲      └─────────────────────────────────────┘
//!                          └── the end of an action, a change of the tools on offer
//! ```
//!
//! If both wait, a request comes before an event, so that a person who stops a run does not wait for its
//! output.

mod batch;
mod current_rules;
mod effects;
mod fact_requests;
mod live_rules;
mod parts;
mod pending_fact;
mod refusals;
mod shutdown;

use std::time::Duration;

use agentx_types::{
    ActionId, ConfigChange, ConfigChanged, EnvironmentEvent, EventDraft, InterruptRequested, RunId, Source,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::api::RuntimeError;
use crate::commands::{DriverStatus, SessionCommand};
use crate::effects::effect::FactBatch;
use crate::log::writing::Writer;
use crate::log_error::LogError;
use crate::redaction::FactRedactor;
use crate::tools::tool_offers::{ToolChanges, changed_tools};
use agentx_session::{DerivedDigest, SessionFold};
pub use current_rules::StandingRules;
use effects::{ActionEnd, RunningActions};
use fact_requests::{ResolvedRequest, done_before, resolve};
pub use parts::{DriverParts, ServerRulesSource};
use pending_fact::PendingFact;
pub use shutdown::halt_sessions;

/// Maximum number of effector messages that wait for the sequencer; then effectors wait.
const INBOUND_CAPACITY: usize = 256;
/// Maximum number of front end requests that wait.
const COMMAND_CAPACITY: usize = 64;
/// Time limit for a closing session to stop its actions.
const CLOSE_GRACE: Duration = Duration::from_secs(3);

/// Takes over a session: commits `first`, before anything else, and continues in a new task. Returns the
/// command sender and the status receiver.
///
/// # Errors
/// Returns an error if the log refuses `first`.
pub(crate) async fn drive(
    parts: DriverParts,
    (writer, fold): (Writer, SessionFold),
    changes: ToolChanges,
    first: Vec<EventDraft<EnvironmentEvent>>,
) -> Result<(mpsc::Sender<SessionCommand>, watch::Receiver<DriverStatus>), RuntimeError> {
    let (queue, inbound) = mpsc::channel(INBOUND_CAPACITY);
    let (commands_in, commands) = mpsc::channel(COMMAND_CAPACITY);
    let (status, status_out) = watch::channel(DriverStatus::Open);
    let (session, sessions) = (writer.session_id.clone(), parts.sessions.clone());
    let redaction = parts.redactor.clone().map(FactRedactor::new);
    let mut driver = SessionDriver {
        parts,
        redaction,
        writer,
        fold,
        digest: DerivedDigest::default(),
        effects: RunningActions::new(session.clone(), queue),
        inbound,
        commands,
        status,
        offers: ToolOfferStatus { changes, stale: None },
    };
    driver
        .process_batch(first.into_iter().map(PendingFact::fact).collect())
        .await?;
    sessions.add(&session, &commands_in);
    tokio::spawn(Box::new(driver).run());
    Ok((commands_in, status_out))
}

/// The task of one open session.
struct SessionDriver {
    /// The parts that all sessions of the runtime share.
    parts: DriverParts,
    /// The right to write the session; given back when the task ends.
    writer: Writer,
    /// Replaces secrets in the facts, if some are known.
    redaction: Option<FactRedactor>,
    /// The state of the session, one batch ahead of the log at most.
    fold: SessionFold,
    /// The digest of all derived events since this writer took over.
    digest: DerivedDigest,
    /// The actions in progress.
    effects: RunningActions,
    /// The events of responders.
    inbound: mpsc::Receiver<FactBatch>,
    /// The requests of front ends; closed when the last handle on the session is gone.
    commands: mpsc::Receiver<SessionCommand>,
    /// The status of this task, for waiters for its end.
    status: watch::Sender<DriverStatus>,
    /// The session's tools compared with those on offer.
    offers: ToolOfferStatus,
}

/// The tools of a session compared with those on offer.
struct ToolOfferStatus {
    /// Reports changes of the offered tools.
    changes: ToolChanges,
    /// Set if the tool offers changed since the session last recorded them: the run that was in progress at
    /// that time.
    stale: Option<Option<RunId>>,
}

/// The reason why the loop woke up.
enum Wake {
    Inbound(FactBatch),
    Command(Option<SessionCommand>),
    Effect(ActionId, ActionEnd),
    Offers,
}

impl SessionDriver {
    /// Handles events until the session is closed or cannot continue.
    ///
    /// Boxed, because an `async fn` that takes `self` by value stores it twice.
    pub(crate) async fn run(mut self: Box<Self>) {
        let outcome = self.work().await;
        self.parts.sessions.remove(&self.writer.session_id);
        // Close the queue, so that senders fail immediately.
        self.inbound.close();
        self.effects.abandon(&self.parts).await;
        match outcome {
            Ok(reply) => {
                drop(self.writer);
                self.status.send_replace(DriverStatus::Closed);
                if let Some(reply) = reply {
                    let _ = reply.send(());
                }
            }
            Err(error) => {
                tracing::error!(session = %self.writer.session_id, %error, "the session cannot go on");
                drop(self.writer);
                self.status.send_replace(DriverStatus::Failed(error));
            }
        }
    }

    /// Processes messages until the session is closed; returns the sender to notify then.
    ///
    /// # Errors
    /// Returns an error if a commit failed: the session cannot continue.
    async fn work(&mut self) -> Result<Option<oneshot::Sender<()>>, LogError> {
        loop {
            self.tell_of_tools().await?;
            match self.wake().await {
                Wake::Inbound(said) => self.process_batch(PendingFact::all(said)).await?,
                Wake::Effect(action, end) => self.effect_ended(&action, end).await?,
                Wake::Offers => self.offers.stale = Some(self.last_run()),
                Wake::Command(Some(SessionCommand::Close { reply })) => {
                    self.stop_all().await?;
                    return Ok(Some(reply));
                }
                Wake::Command(Some(SessionCommand::Suspend { reply })) => return Ok(Some(reply)),
                Wake::Command(Some(command)) => {
                    // A tool that was attached before the input is available in the run that the input
                    // begins.
                    if self.offers.changes.take_change() {
                        self.offers.stale = Some(self.last_run());
                        self.tell_of_tools().await?;
                    }
                    self.execute(command).await?;
                }
                Wake::Command(None) => {
                    self.stop_all().await?;
                    return Ok(None);
                }
            }
        }
    }

    /// Waits for the next command, event, ended action or change of the tool offers, in this order of
    /// priority.
    async fn wake(&mut self) -> Wake {
        tokio::select! {
            biased;
            command = self.commands.recv() => Wake::Command(command),
            Some(said) = self.inbound.recv() => Wake::Inbound(said),
            (action, end) = self.effects.ended() => Wake::Effect(action, end),
            () = self.offers.changes.next() => Wake::Offers,
        }
    }

    /// The current or last run of the session's own agent.
    fn last_run(&self) -> Option<RunId> {
        Some(self.fold.root_agent()?.run()?.id.clone())
    }

    /// Records that other tools are offered. A changed tool list invalidates the provider's prompt cache, so
    /// it is recorded between two runs; if one run follows the other at once, it is recorded in the second.
    async fn tell_of_tools(&mut self) -> Result<(), LogError> {
        let Some(run) = &self.offers.stale else {
            return Ok(());
        };
        if self.fold.is_busy() && *run == self.last_run() {
            return Ok(());
        }
        self.offers.stale = None;
        let Some(tools) = changed_tools(&self.fold, &self.parts.tools.now()) else {
            return Ok(());
        };
        let change = ConfigChange::Tools(tools);
        let draft = EventDraft::new(
            Source::System,
            self.fold.root().cloned(),
            ConfigChanged { change, by: None },
        );
        self.process_batch(vec![PendingFact::fact(draft)]).await
    }

    /// Executes a command of a front end, and answers it.
    async fn execute(&mut self, command: SessionCommand) -> Result<(), LogError> {
        match command {
            SessionCommand::Record { request, key, reply } => {
                let recorded = key.as_ref().map(|key| done_before(&self.fold, key));
                let recorded = recorded.transpose().map(Option::flatten);
                let key = key.filter(|_| matches!(recorded, Ok(None)));
                let resolved = match recorded {
                    Ok(Some(seq)) => Ok(ResolvedRequest::AlreadyRecorded(seq)),
                    Ok(None) => resolve(*request, &self.fold),
                    Err(reused) => Err(reused),
                };
                self.carry_out(resolved, key, reply).await?;
            }
            SessionCommand::Requested { key, reply } => {
                let _ = reply.send(done_before(&self.fold, &key));
            }
            SessionCommand::State { reply } => {
                let gone = || RuntimeError::Gone {
                    session: self.writer.session_id.clone(),
                    why: "it was never opened".into(),
                };
                let _ = reply.send(self.fold.state().ok_or_else(gone));
            }
            SessionCommand::Known { key, reply } => {
                let _ = reply.send(Ok(self.fold.input_with_key(&key)));
            }
            SessionCommand::Waiting { reply } => {
                let _ = reply.send(Ok(self.fold.waiting()));
            }
            SessionCommand::Head { reply } => {
                let _ = reply.send(Ok(self.fold.last_seq()));
            }
            SessionCommand::Close { reply } | SessionCommand::Suspend { reply } => {
                let _ = reply.send(());
            }
        }
        Ok(())
    }

    /// An action has ended. The last events of its responder are taken in first; if the agent then still
    /// waits, the outcome is recorded.
    async fn effect_ended(&mut self, action: &ActionId, end: ActionEnd) -> Result<(), LogError> {
        while let Ok(said) = self.inbound.try_recv() {
            self.process_batch(PendingFact::all(said)).await?;
        }
        let Some(action) = self.effects.take_ended(action, &end) else {
            return Ok(());
        };
        if self.fold.is_open(&action.action_id)
            && let Some(draft) = effects::outcome_of(&action, &end)
        {
            self.process_batch(vec![PendingFact::fact(draft)]).await?;
        }
        Ok(())
    }

    /// Interrupts the current run and waits, within a bound, until it has ended. Queued inputs are held back,
    /// even if this process dies. A run that only waits for a time stays; the next program ends the wait.
    async fn stop_all(&mut self) -> Result<(), LogError> {
        if self.fold.only_waits() {
            return Ok(());
        }
        if self.fold.is_busy() {
            let draft = EventDraft::new(
                Source::System,
                self.fold.root().cloned(),
                InterruptRequested {
                    reason: Some("the session was closed".to_owned()),
                    hold: true,
                    by: None,
                },
            );
            self.process_batch(vec![PendingFact::fact(draft)]).await?;
        }
        let deadline = tokio::time::Instant::now() + CLOSE_GRACE;
        while self.fold.is_busy() {
            tokio::select! {
                Some(said) = self.inbound.recv() => self.process_batch(PendingFact::all(said)).await?,
                (action, end) = self.effects.ended() => self.effect_ended(&action, end).await?,
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
        Ok(())
    }
}
