//! The start of a kept mirror: creates the local log, or checks that it has the same session.
//!
//! If the log already has a session with this id, it counts as the same one only if its first and its last
//! fact equal the server's, including their times. That costs two requests for a session of any length. The
//! log of another session is not changed.

use agentx_runtime::{Fact, LogError, NewLog, RuntimeError, SessionInfo, SessionLog, Writer};
use agentx_types::{Envelope, EnvironmentEvent, SessionId};

use super::{BATCH, MirrorKeeper};
use crate::http::{ListPage, Query};
use crate::remote_core::RemoteCore;

/// Becomes the writer of the log here, which is made if there is none.
pub(super) async fn attach(log: &dyn SessionLog, info: &SessionInfo) -> Result<Writer, RuntimeError> {
    match log.info(&info.session_id).await {
        Ok(_) => {}
        Err(LogError::NotFound(_)) => {
            // The session from which it was forked need not exist here: the rows contain the shared events.
            let new = NewLog::new(
                info.session_id.clone(),
                info.owner.clone(),
                info.created_at,
                info.workspace.clone(),
            );
            log.create(new).await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(log.attach(&info.session_id).await?)
}

impl MirrorKeeper {
    /// Folds the local log.
    pub(super) async fn load(&mut self) -> Result<(), RuntimeError> {
        loop {
            let facts = self.log.read(self.session(), self.fold.last_seq(), BATCH).await?;
            let Some(end) = facts.last() else { break };
            self.last = Some(end.clone());
            for fact in &facts {
                let derived = self.fold.apply(fact);
                self.digest.add(fact, &derived);
                self.note(&derived.projections);
            }
        }
        self.kept.seq = self.fold.last_seq();
        self.say();
        Ok(())
    }

    /// Checks that the local facts equal the server's. Each fact has its time, to the microsecond: logs with
    /// equal first and last facts did not diverge in between.
    pub(super) async fn compare(&mut self, head: u64) -> Result<(), RuntimeError> {
        let Some(last) = self.last.clone() else {
            return Ok(());
        };
        let other = |keeper: &Self, what: String| {
            RuntimeError::Refused(format!(
                "the local log has a different session {}: {what}. It is left unchanged; keep the server's session in another directory",
                keeper.session()
            ))
        };
        if head < last.seq {
            return Err(other(
                self,
                format!("it has {} events, the server's has {head}", last.seq),
            ));
        }
        let mut here = self.log.read(self.session(), 0, 1).await?;
        here.push(last);
        for fact in here {
            let there = fact_at(&self.core, self.session(), fact.seq).await?;
            if there.as_ref() != Some(&*fact) && !self.was_redacted(fact.seq).await? {
                return Err(other(self, format!("its event {} is not the server's", fact.seq)));
            }
        }
        Ok(())
    }
}

/// The reason why a copy with this last fact cannot continue: if the server no longer has it, its log went
/// back, and its current facts and rows belong to another history.
pub(super) async fn cause(core: &RemoteCore, last: Option<Fact>, error: RuntimeError) -> RuntimeError {
    let Some(last) = last else { return error };
    match fact_at(core, &last.session_id, last.seq).await {
        Ok(there) if there.as_ref() != Some(&*last) => RuntimeError::WentBack {
            session: last.session_id.clone(),
            seq: last.seq,
        },
        _ => error,
    }
}

/// The server's fact at a place; `None` if its log ends before it. The place may be a claim of the server:
/// the error for 0 is [`RuntimeError::Refused`], because the first event is number 1.
pub(super) async fn fact_at(
    core: &RemoteCore,
    session: &SessionId,
    seq: u64,
) -> Result<Option<Envelope<EnvironmentEvent>>, RuntimeError> {
    let Some(before) = seq.checked_sub(1) else {
        return Err(RuntimeError::Refused(format!(
            "the server names event 0 of session {session}, but the first event is number 1; the copy is left \
             unchanged"
        )));
    };
    let path = ["sessions", session.as_str(), "events"];
    let ask = Query::get(&path)
        .with("after_seq", Some(before.to_string()))
        .with("view", Some("environment".into()))
        .with("limit", Some("1".into()));
    let page: ListPage<Envelope<EnvironmentEvent>> = core.http.json(ask).await?;
    Ok(page.items.into_iter().find(|fact| fact.seq == seq))
}
