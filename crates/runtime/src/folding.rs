//! The fold of a session as far as its log goes, if nothing but the state is wanted: a session is opened, or
//! somebody looks at the end of it alone. The log folds where it reads: what is only folded is never handed
//! from thread to thread.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{ConfigChange, ConfigChanged, Envelope, EnvironmentEvent, SessionId, ToolSpec};

use crate::api::RuntimeError;
use crate::log::SessionLog;
use agentx_session::SessionFold;

/// The fold of a session's facts up to and including `last`. Facts after it are not looked at; if the log
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

/// A fold of the same session, as it stands after `last`.
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

/// The state that is kept of a session besides its fold, and what it shares with others.
pub(crate) struct FoldCompanions {
    /// The fold as it stood after this event, or a little before it, if there are later ones.
    pub(crate) remember: u64,
    /// Tools that all sessions of this program have: one copy of them is enough.
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// A fold that continues, and what is kept of it.
struct Folding {
    fold: SessionFold,
    remembered: Option<SessionFold>,
    kept: FoldCompanions,
}

impl Folding {
    /// Takes the next fact: remembers the fold where it is time, and shares tools.
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

/// Whether this version may add to a session.
///
/// # Errors
/// Returns an error if a newer one left something in it that this one would have to know.
pub(crate) fn may_go_on(fold: &SessionFold) -> Result<(), RuntimeError> {
    let Some(seq) = fold.newer() else { return Ok(()) };
    Err(RuntimeError::Refused(format!(
        "{} was written by a newer version of AgentX (event {seq}) and is read-only in this one: it can be \
         shown, watched, exported and mirrored; install the newer version to continue it",
        fold.session_id()
    )))
}

/// Tools that are the same are kept once.
pub(crate) fn share(tools: &mut Arc<[ToolSpec]>, with: &Arc<[ToolSpec]>) {
    if *tools == *with {
        *tools = with.clone();
    }
}

/// A fold that continues up to and including `last`, and what is kept of it.
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
