//! Actions on sessions: frames and requests both go through these functions.
//!
//! They check the caller's role, and decide who drives under the room's gate: the fact is written first, then
//! the driver's action is done. An action that has begun is finished even if its caller has disconnected by
//! then.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{ApprovalInput, LogError, Runtime as _, RuntimeError, SharingFact, UserInput};
use agentx_types::wire::{ApprovalFrame, InterruptFrame, Problem, ServerNotice, UserInputFrame, WheelFrame};
use agentx_types::{ApprovalDecision, CommandRan, ContentPart, OwnerId, RunStatus, SessionId, SessionRole};

use crate::actions::authorized_session::AuthorizedSession;
use crate::actions::request_terms::RequestTerms;
use crate::actions::{client_time, media};
use crate::auth::caller::Caller;
use crate::limits::size_limits::{WORD_CHARS, bounded, shortened};
use crate::problems::remote;
use crate::state::ServerState;

/// The time after which a caller stops waiting; the action itself continues.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause after which a client may retry a message that the queue had no room for.
const QUEUE_PAUSE_MS: u64 = 5_000;

/// Returns whether a person can send it. Content of models and tools comes from them.
fn is_said(part: &ContentPart) -> bool {
    match part {
        // Data from a provider would be sent back to it as its own.
        ContentPart::Text(text) => text.provider.is_none(),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => true,
        ContentPart::Thinking(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Opaque(_) => false,
    }
}

/// Runs a future to its end, even if its caller stops waiting.
pub(crate) async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, RuntimeError>> + Send + 'static,
) -> Result<T, RuntimeError> {
    match tokio::time::timeout(PATIENCE, tokio::spawn(work)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::error!(%error, "request task failed");
            Err(remote("internal", "internal server error; see the server's log"))
        }
        Err(_) => Err(remote(
            "slow",
            "this takes longer than expected; the outcome will be in the session's events",
        )),
    }
}

/// Converts an error to the problem that the caller gets, without paths of the server's disk.
pub(crate) fn to_problem(error: &RuntimeError) -> Box<Problem> {
    let mut problem = Box::new(Problem::from(error));
    problem.retry_after_ms = (problem.code == "queue_full").then_some(QUEUE_PAUSE_MS);
    let detail = match error {
        RuntimeError::Log(lost) if lost.is_lost() => {
            problem.code = "store_lost".into();
            "the server's data was removed or replaced while it was running: it can no longer save anything and must be restarted"
        }
        RuntimeError::Log(LogError::Store { .. }) => "the server's storage failed",
        RuntimeError::Log(LogError::Full { .. }) => "the server's disk is full",
        RuntimeError::Log(LogError::Locked { .. }) => "another program has locked the server's storage",
        RuntimeError::Log(LogError::Newer { .. }) => "the server's storage was written by a newer version",
        RuntimeError::BadAgent { agent, .. } => &format!(
            "the files of agent {agent:?} have errors; run `agentx agents check` on the server's machine to see them"
        ),
        _ => {
            problem.detail = shortened(problem.detail);
            return problem;
        }
    };
    tracing::error!(%error, "request failed");
    problem.detail = detail.to_owned();
    problem
}

/// Answers a call that waits, although the money of the session's owner is used up. Whoever denies it ends
/// the run, as the money does, because the model would be asked again, and the reason has their note; for any
/// other answer the call continues waiting. Returns `None` if the call does not wait.
///
/// # Errors
/// Returns `quota_usage` if the call would be made.
async fn answer_without_money(
    hand: &AuthorizedSession,
    frame: &ApprovalFrame,
    why: String,
) -> Result<Option<u64>, RuntimeError> {
    let waiting = hand.session.state().await?.pending_approvals;
    if !waiting
        .iter()
        .any(|asked| asked.tool_call_id == frame.tool_call_id)
    {
        return Ok(None);
    }
    if frame.decision != ApprovalDecision::Deny {
        return Err(remote("quota_usage", &why));
    }
    let reason = denied_without_money(hand.author().as_ref(), frame.note.as_deref(), &why);
    hand.note_failure(hand.session.halt(Some(reason)).await).map(Some)
}

/// Returns the reason of a run that ends because a call was denied when no money was left. It keeps who
/// denied the call and what they said, because a recorded denial would have the model asked again. `person`
/// is `None` for the owner.
fn denied_without_money(person: Option<&OwnerId>, note: Option<&str>, why: &str) -> String {
    let who = person.map_or_else(|| "the owner".to_owned(), ToString::to_string);
    // The model reads it later: it must stay one quoted line without tags.
    let quoted = |note: &str| format!(" with the note {:?}", note.replace(['<', '>'], " "));
    let note = note.map(quoted).unwrap_or_default();
    format!("{who} denied the call{note}; {why}")
}

impl ServerState {
    /// Sends a message to the agent. Returns the `seq` of the input.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive.
    pub async fn say(self: &Arc<Self>, caller: &Caller, frame: UserInputFrame) -> Result<u64, RuntimeError> {
        if frame.content.is_empty() {
            return Err(remote("bad_request", "the message is empty"));
        }
        if !frame.content.iter().all(is_said) {
            let what = "a message of a person may contain text, images, audio and files, but no provider data (`provider`)";
            return Err(remote("bad_request", what));
        }
        media::check_types(&frame.content).map_err(|what| remote("bad_request", &what))?;
        if !caller.operator {
            media::check(&frame.content).map_err(|what| remote("bad_request", &what))?;
        }
        let sent = client_time::note(
            frame.client_timestamp_utc.as_deref(),
            frame.client_timezone_offset,
        );
        let sent = sent.map_err(|what| remote("bad_request", &what))?;
        let mut content = frame.content;
        content.extend(sent.map(ContentPart::text));
        let (state, caller) = (self.clone(), caller.clone());
        whole(async move {
            let hand = AuthorizedSession::new(&state, &caller, &frame.session_id).await?;
            let key = frame.idempotency_key.map(|key| hand.key_of(&key)).transpose()?;
            let input = UserInput::new(content)
                .mode(frame.mode)
                .key(key)
                .by(hand.author())
                .answer_schema(frame.answer_schema);
            hand.say(input, frame.wheel_epoch).await
        })
        .await
    }

    /// Stops the run.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive.
    pub async fn interrupt(
        self: &Arc<Self>,
        caller: &Caller,
        frame: InterruptFrame,
    ) -> Result<u64, RuntimeError> {
        bounded("the reason", frame.reason.as_deref(), WORD_CHARS)?;
        let reason = frame.reason;
        let terms = RequestTerms::new(frame.wheel_epoch, frame.idempotency_key, "interrupt", &reason);
        self.perform_once(caller, &frame.session_id, terms, move |hand, terms| async move {
            let run = hand.session.state().await?.run;
            let ends = run.is_some_and(|run| !run.status.is_final() && run.status != RunStatus::Stopping);
            // With nothing to stop, only the key would be stored.
            let keeps = ends || hand.check_storage().await.is_ok();
            let key = terms.key.filter(|_| keeps);
            hand.drive_once(RequestTerms { key, ..terms }, ends, |session| async move {
                session.interrupt(reason).await
            })
            .await
        })
        .await
    }

    /// Performs a request of somebody who drives a session. It runs to its end even if they stop waiting, and
    /// a request whose key is recorded already is not performed again: the result is the recorded `seq`.
    ///
    /// # Errors
    /// Returns an error if the caller may not drive the session, or the action fails.
    pub(crate) async fn perform_once<F>(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        terms: RequestTerms,
        action: impl FnOnce(AuthorizedSession, RequestTerms) -> F + Send + 'static,
    ) -> Result<u64, RuntimeError>
    where
        F: Future<Output = Result<u64, RuntimeError>> + Send,
    {
        let (state, caller, session) = (self.clone(), caller.clone(), session.clone());
        whole(async move {
            let hand = AuthorizedSession::new(&state, &caller, &session).await?;
            match hand.done_before(&terms).await? {
                Some(seq) => Ok(seq),
                None => action(hand, terms).await,
            }
        })
        .await
    }

    /// Immediately retries a model call that pauses between two attempts, or asks again after a run that
    /// ended without an answer.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive.
    pub async fn retry(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        self.perform_once(caller, session, terms, move |hand, terms| async move {
            let _counted = hand.check_run().await?;
            hand.drive_once(terms, false, |session| async move { session.retry().await })
                .await
        })
        .await
    }

    /// Records the output of a command that the person ran themselves.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive.
    pub async fn ran(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        mut ran: CommandRan,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        bounded("how the command ended", Some(&ran.how), WORD_CHARS)?;
        self.perform_once(caller, session, terms, move |hand, terms| async move {
            hand.check_storage().await?;
            ran.by = hand.author();
            let note = SharingFact::Ran(ran);
            let here = &hand;
            hand.drive_once(terms, false, |session| async move {
                here.check_room(false, true).await?;
                session.record_sharing(note).await
            })
            .await
        })
        .await
    }

    /// Decides about a tool call.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or no decision is awaited.
    pub async fn approve(
        self: &Arc<Self>,
        caller: &Caller,
        frame: ApprovalFrame,
    ) -> Result<u64, RuntimeError> {
        bounded("the note", frame.note.as_deref(), WORD_CHARS)?;
        let (state, caller) = (self.clone(), caller.clone());
        whole(async move {
            let hand =
                AuthorizedSession::at_least(SessionRole::Approve, &state, &caller, &frame.session_id).await?;
            let limited = hand.may_decide(&frame.tool_call_id, frame.decision).await?;
            if let Some(why) = state.beyond_bills(&hand.access.owner).await?
                && let Some(seq) = answer_without_money(&hand, &frame, why).await?
            {
                return Ok(seq);
            }
            let keeps = matches!(
                frame.decision,
                ApprovalDecision::Session | ApprovalDecision::Always
            );
            // With any other decision, the rule would only be in the log.
            let rule = frame.rule.filter(|_| keeps).map(|rule| *rule);
            let input = ApprovalInput::new(frame.tool_call_id, frame.decision)
                .note(frame.note)
                .rule(rule)
                .by(hand.author())
                .limited(limited);
            hand.note_failure(hand.session.approve(input).await)
        })
        .await
    }

    /// Asks for the wheel, takes it, hands it over or releases it. Returns the `seq` of the change, if there
    /// was one, and the state of the wheel.
    ///
    /// # Errors
    /// Returns an error if the caller may not.
    pub async fn wheel(
        self: &Arc<Self>,
        caller: &Caller,
        frame: WheelFrame,
    ) -> Result<(Option<u64>, ServerNotice), RuntimeError> {
        let (state, caller) = (self.clone(), caller.clone());
        whole(async move {
            let hand = AuthorizedSession::new(&state, &caller, &frame.session_id).await?;
            let seq = hand.wish(frame.wish).await?;
            Ok((seq, hand.room.wheel_notice()))
        })
        .await
    }

    /// Deletes a session. Its readers are notified that it no longer exists.
    ///
    /// # Errors
    /// Returns an error if it is not the caller's, or another process writes it.
    pub async fn delete(self: &Arc<Self>, caller: &Caller, session: &SessionId) -> Result<(), RuntimeError> {
        let access = self.access(caller, session).await?;
        // The operator may free space that any session takes.
        if access.role < SessionRole::Own && !caller.operator {
            return Err(RuntimeError::Denied("you may not delete this session".into()));
        }
        let (state, session, person) = (self.clone(), session.clone(), caller.person.clone());
        whole(async move {
            let gone = LogError::NotFound(session.to_string()).into();
            // A model call in progress ends when the session is closed, and its cost is recorded then.
            let delete = access.runtime.delete(&session);
            let delete = state.delete_counted(&access.owner, &session, delete);
            state
                .rooms()
                .close_then(&session, &Problem::from(&gone), delete)
                .await?;
            // Its log is gone, so this is the only record of who deleted it.
            tracing::info!(%session, owner = %access.owner, by = %person, "session deleted");
            Ok(())
        })
        .await
    }
}
