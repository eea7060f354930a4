//! An agent that is answering: one stream of updates with the answer at its end. Awaiting the answer folds
//! the same stream. It reads one run of one subscription and keeps no position in the session; the follower
//! behind the subscription does that.

use std::collections::BTreeMap;
use std::future::{Future as _, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentx_runtime::{
    BoxFuture, Delivery, PendingApproval, RequestValues, RuntimeError, Session, Subscription, View,
};
use agentx_types::{
    AgentStateId, ContentPart, Envelope, RunFinished, RunId, RunStatus, RuntimeEvent, ToolCallId, ToolStatus,
};
use futures_core::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::error::AgentError;
use crate::handle::AgentHandle;
use crate::update::{Answer, Update};

/// An agent that is answering. Read it with [`Answering::next`] or as a [`Stream`]; await it for the answer
/// alone.
///
/// Dropping it stops the run, with its model call, its tools and the agents that it created. A run that waits
/// for a decision continues waiting, and [`AgentHandle::answer`] takes it up again.
pub struct Answering {
    agent: AgentHandle,
    run: RunId,
    events: Option<Subscription>,
    cancel: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    phase: RunPhase,
    heard: UpdateAssembly,
}

/// The state of the run, according to the events so far.
#[derive(Clone, Copy, PartialEq)]
enum RunPhase {
    /// The input waits.
    Waiting,
    /// The run is in progress.
    Running,
    /// The run waits for a decision.
    ApprovalRequired,
    /// The run has ended, or its events can no longer be read.
    Over,
}

/// The state from which later updates are assembled.
#[derive(Default)]
struct UpdateAssembly {
    /// The agent that was asked, once the run has begun.
    root: Option<AgentStateId>,
    /// The text of the current answer so far.
    text: String,
    /// The results of calls, as models read them.
    results: BTreeMap<ToolCallId, String>,
    answer: Option<Answer>,
}

impl Answering {
    pub(crate) fn new(agent: AgentHandle, run: RunId, events: Subscription) -> Self {
        Self {
            agent,
            run,
            events: Some(events),
            cancel: None,
            phase: RunPhase::Waiting,
            heard: UpdateAssembly::default(),
        }
    }

    /// Stops the run when `token` fires.
    #[must_use]
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(Box::pin(token.cancelled_owned()));
        self
    }

    /// Adds a value for the tools of this run from now on, as [`Ask::with`](crate::Ask::with) does. A process
    /// that continues another process's run has to give its values again.
    pub async fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        let values = RequestValues::default().with(value);
        self.agent.asks().keep(self.agent.id(), &self.run, values).await;
        self
    }

    /// Returns the run of the answer.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The next update; `None` after [`Update::Answered`] or an error.
    pub async fn next(&mut self) -> Option<Result<Update, AgentError>> {
        poll_fn(|context| self.poll_update(context)).await
    }

    fn poll_update(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Update, AgentError>>> {
        if let Some(cancel) = &mut self.cancel
            && cancel.as_mut().poll(context).is_ready()
        {
            self.cancel = None;
            self.stop();
        }
        while let Some(events) = &mut self.events {
            let Poll::Ready(delivery) = events.deliveries.poll_recv(context) else {
                return Poll::Pending;
            };
            let update = match delivery {
                Some(Delivery::Runtime(event)) => self.hear(&event),
                Some(Delivery::Environment(_) | Delivery::CaughtUp(_)) => None,
                Some(Delivery::CutOff(why)) => Some(Err(self.end_unanswered(why))),
                None => Some(Err(self.end_unanswered("it ended before the answer".into()))),
            };
            if update.is_some() {
                return Poll::Ready(update);
            }
        }
        Poll::Ready(None)
    }

    /// Leaves a run that waits for a decision, because no caller listens any more.
    fn leave_undecided(&mut self) {
        self.phase = RunPhase::ApprovalRequired;
    }

    fn end_unanswered(&mut self, why: String) -> AgentError {
        self.phase = RunPhase::Over;
        self.events = None;
        let session = self.agent.id().clone();
        RuntimeError::Gone { session, why }.into()
    }

    fn hear(&mut self, event: &Envelope<RuntimeEvent>) -> Option<Result<Update, AgentError>> {
        let of_run = event.run_id.as_ref() == Some(&self.run);
        match &event.event {
            RuntimeEvent::RunStarted(started) if started.run_id == self.run => {
                self.phase = RunPhase::Running;
                self.heard.root.clone_from(&event.agent_state_id);
                None
            }
            RuntimeEvent::RunStatusChanged(changed) if changed.run_id == self.run => {
                self.phase = match changed.status {
                    RunStatus::AwaitingApproval => RunPhase::ApprovalRequired,
                    _ => RunPhase::Running,
                };
                None
            }
            RuntimeEvent::TurnResponse(turn) if turn.run_id == self.run => {
                self.heard.answer = Some(Answer::of(turn));
                None
            }
            RuntimeEvent::RunFinished(finished) if finished.run_id == self.run => Some(self.finish(finished)),
            event if of_run => self.heard.update(event).map(Ok),
            other => {
                let child = event.agent_state_id.clone();
                let agent =
                    child.filter(|agent| self.heard.root.as_ref().is_some_and(|root| root != agent))?;
                let update = Box::new(self.heard.update_of_child(other)?);
                Some(Ok(Update::Child { agent, update }))
            }
        }
    }

    fn finish(&mut self, finished: &RunFinished) -> Result<Update, AgentError> {
        self.phase = RunPhase::Over;
        self.events = None;
        self.forget();
        match (finished.status, self.heard.answer.take()) {
            (RunStatus::Completed, Some(answer)) => Ok(Update::Answered(answer)),
            (status, _) => Err(AgentError::Ended {
                status,
                reason: finished.reason.clone(),
                text: std::mem::take(&mut self.heard.text),
            }),
        }
    }

    /// Removes the values of the run.
    fn forget(&self) {
        let (asks, session, run) = (
            self.agent.asks().clone(),
            self.agent.id().clone(),
            self.run.clone(),
        );
        if let Ok(tokio) = tokio::runtime::Handle::try_current() {
            tokio.spawn(async move { asks.forget(&session, &run).await });
        }
    }

    /// Stops the run, now or when its turn comes. Its remaining events are still delivered.
    fn stop(&self) {
        let (session, run) = (self.agent.session().clone(), self.run.clone());
        if let Ok(tokio) = tokio::runtime::Handle::try_current() {
            tokio.spawn(async move {
                // A session that has ended has nothing to stop.
                let _ = stop_run(session, run).await;
            });
        }
    }
}

/// Interrupts the run as soon as it is the one in progress.
async fn stop_run(session: Arc<dyn Session>, run: RunId) -> Result<(), RuntimeError> {
    let state = session.state().await?;
    let mut events = session.subscribe(state.last_seq, View::Runtime).await?;
    match state.run {
        Some(now) if now.run_id == run && now.status.is_final() => return Ok(()),
        Some(now) if now.run_id == run => {}
        // Runs are numbered by their inputs: this one is over.
        Some(now) if now.run_id.input() > run.input() => return Ok(()),
        _ => {
            let begins = |delivery: &Delivery| match delivery {
                Delivery::Runtime(event) => {
                    matches!(&event.event, RuntimeEvent::RunStarted(started) if started.run_id == run)
                }
                _ => false,
            };
            while let Some(delivery) = events.next().await {
                if begins(&delivery) {
                    break;
                }
            }
        }
    }
    session
        .interrupt(Some("nobody waits for the answer any more".into()))
        .await?;
    Ok(())
}

impl UpdateAssembly {
    /// Returns the update that an event of the run causes.
    fn update(&mut self, event: &RuntimeEvent) -> Option<Update> {
        match event {
            RuntimeEvent::MessageStart(_) => self.text.clear(),
            RuntimeEvent::TextDelta(delta) => self.text.push_str(&delta.text),
            _ => {}
        }
        self.update_of_child(event)
    }

    /// Returns the update, for an event that is not part of the answer.
    fn update_of_child(&mut self, event: &RuntimeEvent) -> Option<Update> {
        Some(match event {
            RuntimeEvent::TextDelta(delta) => Update::Text(delta.text.clone()),
            RuntimeEvent::ThinkingDelta(delta) => Update::Thinking(delta.text.clone()),
            RuntimeEvent::ToolExecuting(call) => Update::ToolStarted {
                id: call.tool_call_id.clone(),
                name: call.name.clone(),
                input: call.input.clone(),
            },
            RuntimeEvent::ToolOutput(output) => Update::ToolOutput {
                id: output.tool_call_id.clone(),
                text: output.text.clone(),
            },
            RuntimeEvent::ToolCallAnswered(answered) => {
                let text = answered.result.iter().filter_map(ContentPart::as_text).collect();
                self.results.insert(answered.tool_call_id.clone(), text);
                return None;
            }
            RuntimeEvent::ToolCompleted(done) => {
                self.ended(&done.tool_call_id, &done.name, ToolStatus::Success)
            }
            RuntimeEvent::ToolFailed(failed) => self.ended(&failed.tool_call_id, &failed.name, failed.status),
            RuntimeEvent::ApprovalRequested(asked) => Update::ApprovalRequired(PendingApproval::from(asked)),
            _ => return None,
        })
    }

    fn ended(&mut self, id: &ToolCallId, name: &str, status: ToolStatus) -> Update {
        Update::ToolEnded {
            id: id.clone(),
            name: name.to_owned(),
            status,
            text: self.results.remove(id).unwrap_or_default(),
        }
    }
}

impl AgentHandle {
    /// Returns the answer of the current run, or of the last one: after a decision, or in a process that
    /// continues another process's session.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Ask`](crate::Ask), and if no question was ever sent.
    pub async fn answer(&self) -> Result<Answer, AgentError> {
        self.follow().await?.await
    }

    /// Follows the current run, or the last one, from its beginning.
    ///
    /// # Errors
    /// Returns an error if nothing was ever asked.
    pub async fn follow(&self) -> Result<Answering, AgentError> {
        let run = self
            .state()
            .await?
            .run
            .ok_or_else(|| RuntimeError::Refused(format!("{} has no messages yet", self.id())))?;
        self.listen(run.run_id).await
    }

    /// Follows a run from its input on.
    pub(crate) async fn listen(&self, run: RunId) -> Result<Answering, AgentError> {
        let before = run.input().unwrap_or(1).saturating_sub(1);
        let events = self.session().subscribe(before, View::Runtime).await?;
        Ok(Answering::new(self.clone(), run, events))
    }
}

impl Stream for Answering {
    type Item = Result<Update, AgentError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_update(context)
    }
}

impl IntoFuture for Answering {
    type Output = Result<Answer, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            while let Some(update) = self.next().await {
                match update? {
                    Update::Answered(answer) => return Ok(answer),
                    update if asks(&update) => {
                        // The event may be out of date: the question may have been answered since.
                        let calls = self.agent.pending().await?;
                        if !calls.is_empty() {
                            self.leave_undecided();
                            return Err(AgentError::ApprovalRequired { calls });
                        }
                    }
                    _ => {}
                }
            }
            Err(self.end_unanswered("it ended before the answer".into()))
        })
    }
}

fn asks(update: &Update) -> bool {
    match update {
        Update::ApprovalRequired(_) => true,
        Update::Child { update, .. } => asks(update),
        _ => false,
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if matches!(self.phase, RunPhase::Waiting | RunPhase::Running) {
            self.stop();
            self.forget();
        }
    }
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
