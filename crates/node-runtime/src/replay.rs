//! Derives a session again from its log, without any model, and compares it with the live session.
//!
//! A replay proves two things: that the fold of this version gives the same events as the one that wrote the
//! session, and that the rows were not changed since. It reads in pages of 4,096 facts, holds one fold in
//! memory and writes nothing, so it works on a session that another process drives; that session's later
//! events are not part of it.
//!
//! A digest is recorded with each commit and covers everything derived since the last writer took over. So a
//! report names the first range of events that differs, and not only that there is a difference. Facts from
//! before the first writer of this kind have no digest and are counted without being compared.

use agentx_runtime::{DerivedDigest, ReplayReport, RuntimeError, SessionFold, SessionLog};
use agentx_types::{
    ActionBody, CondensedRange, EnvironmentEvent, ModelRequest, SessionId, SessionRedacted, WindowFill, hex,
};
use std::sync::Arc;

/// Number of facts in a page: besides the fold, only one page is in memory.
const PAGE: usize = 4096;

/// Folds the whole log and compares digests batch by batch. Batches that the session's parents wrote have
/// their digests there.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub(crate) async fn replay(log: &dyn SessionLog, session: &SessionId) -> Result<ReplayReport, RuntimeError> {
    let mut recorded = log.digests(session).await?.into_iter().peekable();
    let mut fold = SessionFold::new(session.clone());
    let mut digest = DerivedDigest::default();
    let mut report = ReplayReport {
        session_id: session.clone(),
        facts: 0,
        derived: 0,
        digest: String::new(),
        divergence: None,
        redacted: None,
    };
    let mut good_until = 0;
    // A digest covers everything derived since the last writer took over; before the first one nothing was
    // recorded.
    let mut covered = false;
    loop {
        let facts = log.read(session, fold.last_seq(), PAGE).await?;
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            let derived = fold.apply(fact);
            digest.add(fact, &derived);
            covered |= matches!(
                fact.event,
                EnvironmentEvent::SessionOpened(_)
                    | EnvironmentEvent::WriterAttached(_)
                    | EnvironmentEvent::SessionForked(_)
            );
            if let EnvironmentEvent::SessionRedacted(record) = &fact.event {
                excuse(&mut report, record, fact.seq);
            }
            report.facts += 1;
            report.derived += derived.events.len() as u64;
            if let Some((last_seq, expected)) = recorded.next_if(|(last_seq, _)| *last_seq <= fact.seq) {
                if covered
                    && last_seq == fact.seq
                    && digest.value() != expected
                    && report.divergence.is_none()
                {
                    report.divergence = Some((good_until + 1, fact.seq));
                }
                good_until = fact.seq;
            }
        }
    }
    report.digest = hex(&digest.value());
    Ok(report)
}

/// Leaves out a difference that follows from a redaction: between the first event that it replaced and its
/// record, digests were made with the texts before it.
fn excuse(report: &mut ReplayReport, record: &SessionRedacted, recorded_at: u64) {
    let Some(first) = record.events().min() else {
        return;
    };
    let last = recorded_at - 1;
    report.divergence = report.divergence.filter(|(_, end)| *end < first);
    let from = report.redacted.map_or(first, |(from, _)| from.min(first));
    report.redacted = Some((from, last));
}

/// The request of the last model call until some event.
pub(crate) struct LastModelRequest {
    /// The event that it follows from.
    pub(crate) seq: u64,
    /// The request as the fold rebuilds it; not the bytes that were sent, which the log does not keep.
    pub(crate) request: Arc<ModelRequest>,
    /// The condensed ranges in it, and the later ones.
    pub(crate) condensed: Vec<CondensedRange>,
    /// The fill of that agent's window at that point.
    pub(crate) fill: Option<WindowFill>,
}

/// The request of the last model call at or before `at_seq`.
///
/// # Errors
/// Returns an error if the log cannot be read, or no model was called until then.
pub(crate) async fn request_at(
    log: &dyn SessionLog,
    session: &SessionId,
    at_seq: Option<u64>,
) -> Result<LastModelRequest, RuntimeError> {
    let last = at_seq.unwrap_or(u64::MAX);
    let mut fold = SessionFold::new(session.clone());
    let mut found = None;
    'pages: loop {
        let facts = log.read(session, fold.last_seq(), PAGE).await?;
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            if fact.seq > last {
                break 'pages;
            }
            for action in fold.apply(fact).actions {
                if let ActionBody::CallModel(call) = action.body {
                    let agent = fold.agent(&action.agent_state_id);
                    let condensed = agent.map(|agent| agent.condensed()).unwrap_or_default();
                    found = Some((fact.seq, call.request, condensed, action.agent_state_id));
                }
            }
        }
    }
    let Some((seq, request, condensed, agent)) = found else {
        let end = last.min(fold.last_seq());
        let what = format!("no model was called in {session} up to event {end}");
        return Err(RuntimeError::Refused(what));
    };
    let now = fold.agent(&agent);
    let react = now.and_then(|agent| agent.react());
    Ok(LastModelRequest {
        seq,
        request,
        condensed: with_later(condensed, now.map(|agent| agent.condensed()).unwrap_or_default()),
        fill: react.map(|react| react.window_fill(fold.last_seq())),
    })
}

/// Returns the condensed ranges of a request together with later summaries, which are readable, too.
fn with_later(mut then: Vec<CondensedRange>, now: Vec<CondensedRange>) -> Vec<CondensedRange> {
    let last = then.last().map_or(0, |condensed| condensed.seq);
    then.extend(now.into_iter().filter(|condensed| condensed.seq > last));
    then
}
