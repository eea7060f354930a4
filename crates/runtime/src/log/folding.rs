//! Folds a session up to the end of its log only for the state: a session is opened, or only its end is read.
//! The log folds on its reading thread, so that facts are not passed between threads.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{ConfigChange, ConfigChanged, Envelope, EnvironmentEvent, SessionId, ToolSpec};

use crate::api::RuntimeError;
use crate::log::SessionLog;
use agentx_session::SessionFold;

/// The fold of a session's facts up to and including `last`. Facts after it are not read; if the log
/// ends before it, the fold ends there.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub async fn fold_until(
    log: &dyn SessionLog,
    session: &SessionId,
    last: u64,
) -> Result<SessionFold, RuntimeError> {
    fold_on(log, SessionFold::new(session.clone()), last).await
}

/// Continues a fold of the same session up to `last`.
pub(crate) async fn fold_on(
    log: &dyn SessionLog,
    fold: SessionFold,
    last: u64,
) -> Result<SessionFold, RuntimeError> {
    let kept = FoldCompanions {
        remember: u64::MAX,
        tools: Arc::default(),
    };
    Ok(fold_and_keep(log, fold, last, kept).await?.0)
}

/// The data that is kept of a session besides its fold, and shared with other sessions.
pub(crate) struct FoldCompanions {
    /// The fold as it was after this event, or a little before it, if there are later ones.
    pub(crate) remember: u64,
    /// The tools that all sessions of this program have, in one copy.
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// A fold in progress, with its companions.
struct Folding {
    fold: SessionFold,
    remembered: Option<SessionFold>,
    kept: FoldCompanions,
}

impl Folding {
    /// Applies the next fact: remembers the fold if it is time, and shares tools.
    fn take(&mut self, fact: &mut Envelope<EnvironmentEvent>) {
        if self.remembered.is_none() && fact.seq > self.kept.remember {
            self.remembered = Some(self.fold.clone());
        }
        match &mut fact.event {
            EnvironmentEvent::SessionOpened(opened) => share(&mut opened.config.tools, &self.kept.tools),
            EnvironmentEvent::ConfigChanged(ConfigChanged {
                change: ConfigChange::Tools(tools),
                ..
            }) => share(tools, &self.kept.tools),
            _ => {}
        }
        self.fold.advance(fact);
    }
}

/// Returns whether this version may add to a session.
///
/// # Errors
/// Returns an error if a newer one left something in it that this one would have to know.
pub(crate) fn check_version(fold: &SessionFold) -> Result<(), RuntimeError> {
    let Some(seq) = fold.newer() else { return Ok(()) };
    Err(RuntimeError::Refused(format!(
        "{} was written by a newer version of AgentX (event {seq}) and is read-only in this one: it can be \
         shown, watched, exported and mirrored; install the newer version to continue it",
        fold.session_id()
    )))
}

/// Replaces tools that are equal to `with` by the shared copy.
pub(crate) fn share(tools: &mut Arc<[ToolSpec]>, with: &Arc<[ToolSpec]>) {
    if *tools == *with {
        *tools = with.clone();
    }
}

/// Continues a fold up to and including `last`, with its companions.
pub(crate) async fn fold_and_keep(
    log: &dyn SessionLog,
    fold: SessionFold,
    last: u64,
    kept: FoldCompanions,
) -> Result<(SessionFold, Option<SessionFold>), RuntimeError> {
    let (session, after) = (fold.session_id().clone(), fold.last_seq());
    let folding = Arc::new(Mutex::new(Some(Folding {
        fold,
        remembered: None,
        kept,
    })));
    let shared = folding.clone();
    let take = move |fact: &mut Envelope<EnvironmentEvent>| {
        let mut folding = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match folding.as_mut() {
            Some(folding) => {
                folding.take(fact);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    };
    log.scan(&session, after, last, Box::new(take)).await?;
    let done = folding.lock().unwrap_or_else(PoisonError::into_inner).take();
    let done = done.ok_or_else(|| RuntimeError::Refused(format!("{session} could not be read")))?;
    Ok((done.fold, done.remembered))
}
