//! A call that its server gave back with questions (`input_required`, version 2026-07-28) waits in the log of
//! its session: as a step with the server's state and its questions, which ends before the answers are sent.
//! If the program ends meanwhile, the next one asks the same questions and sends the answers, because the
//! server keeps nothing of such a call.

use agentx_runtime::Journal;
use agentx_types::{EffectOutcome, RecordedEffects};
use rmcp::model::{InputRequest, InputRequests, InputRequiredResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hidden::HiddenValues;
use crate::limits::SUSPENDED_BYTES;

/// The kind of step.
const KIND: &str = RecordedEffects::INPUT_REQUIRED;

/// The number of the first of these steps. The questions of a call, which are steps too, count from 1.
const FIRST_STEP: u64 = 1_000;

/// The record of a call that waits.
#[derive(Serialize, Deserialize)]
struct SuspensionRecord {
    /// The server's state, which only the server understands.
    state: Option<String>,
    /// The hash of the state. If redaction changed the state in the log, the server cannot use it any more.
    state_hash: Option<String>,
    /// The questions.
    requests: InputRequests,
    /// The number of questions that the call had asked before.
    asked: u64,
}

/// The point from which a call goes on that an earlier program began.
pub(crate) struct ResumedCall {
    /// The questions and the state.
    pub(crate) needs: InputRequiredResult,
    /// The number of questions that the call had asked before.
    pub(crate) asked: u64,
}

/// The times that a call waits in the log.
pub(crate) struct Suspensions<'a> {
    journal: &'a Journal,
    hidden: &'a HiddenValues,
    /// The number of such steps so far.
    count: usize,
    /// The number of the next step.
    next: u64,
    /// The step that has not ended.
    open: Option<u64>,
}

impl<'a> Suspensions<'a> {
    /// Those of a call, with the ones that the log has.
    pub(crate) fn of(journal: &'a Journal, hidden: &'a HiddenValues) -> Self {
        let recorded = journal.all();
        let steps = recorded.steps.iter();
        let numbers: Vec<u64> = steps
            .filter(|(_, step)| step.kind == KIND)
            .map(|(number, _)| *number)
            .collect();
        let last = numbers.last().copied();
        Self {
            journal,
            hidden,
            count: numbers.len(),
            next: last.map_or(FIRST_STEP, |last| last.saturating_add(1)),
            open: last.filter(|_| recorded.suspension().is_some()),
        }
    }

    /// Returns how many questions were answered with another request before.
    pub(crate) fn rounds(&self) -> usize {
        self.count - usize::from(self.open.is_some())
    }

    /// Returns the point from which the call goes on; `None` if it begins anew.
    ///
    /// # Errors
    /// Returns the reason if the log no longer has the server's state.
    pub(crate) fn resumed(&self) -> Result<Option<ResumedCall>, String> {
        let Some(step) = self.journal.all().suspension() else {
            return Ok(None);
        };
        let kept = SuspensionRecord::deserialize(&step.input);
        let kept = kept.map_err(|error| format!("its record cannot be read ({error})"))?;
        if hash_of(kept.state.as_deref()) != kept.state_hash {
            return Err("a secret was taken out of its record".to_owned());
        }
        Ok(Some(ResumedCall {
            needs: InputRequiredResult::new(Some(kept.requests), kept.state),
            asked: kept.asked,
        }))
    }

    /// Records that the call waits for answers of a person, if it may be continued by another process.
    /// `asked` is the number of questions before. Returns `false` if the session is gone.
    pub(crate) async fn begin(&mut self, needs: &InputRequiredResult, asked: u64) -> bool {
        let Some(record) = self.record(needs, asked) else {
            return true;
        };
        let step = self.next;
        if !self.journal.begin(step, KIND, record).await {
            return false;
        }
        self.count += 1;
        self.next = step.saturating_add(1);
        self.open = Some(step);
        true
    }

    /// Records that the answers are about to be sent: from now on the outcome of the call is unknown if the
    /// program ends. Returns `false` if the session is gone, and nothing may be sent.
    pub(crate) async fn end(&mut self) -> bool {
        match self.open.take() {
            Some(step) => {
                let done = EffectOutcome::Done(Value::Null);
                self.journal.end_committed(step, KIND, done).await
            }
            None => true,
        }
    }

    /// The record of a call that waits; `None` if nobody is asked, a script makes the call, or the record
    /// would be too large or hold a secret of the server.
    fn record(&self, needs: &InputRequiredResult, asked: u64) -> Option<Value> {
        let requests = needs.input_requests.as_ref()?;
        let asks = |request: &InputRequest| matches!(request, InputRequest::Elicitation(_));
        if !requests.values().any(asks) || self.journal.depth() > 1 || self.journal.session().is_none() {
            return None;
        }
        let record = SuspensionRecord {
            state: needs.request_state.clone(),
            state_hash: hash_of(needs.request_state.as_deref()),
            requests: requests.clone(),
            asked,
        };
        let record = serde_json::to_value(record).ok()?;
        let fits = record.to_string().len() <= SUSPENDED_BYTES && !self.hidden.are_in_document(&record);
        fits.then_some(record)
    }
}

fn hash_of(state: Option<&str>) -> Option<String> {
    state.map(|state| blake3::hash(state.as_bytes()).to_hex().to_string())
}
