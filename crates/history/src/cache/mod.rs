//! Why a request was not read from the provider's cache: the first byte in which it differs from its
//! predecessor, what changed it, and what that cost.
//!
//! The calls and what happened between them are a fold of the log (`CallTrail`); the bodies are those that
//! `agentx context` shows ([`Runtime::context`]).

mod body;

use agentx_runtime::{Delivery, Runtime, RuntimeError, View};
use agentx_session::SessionFold;
use agentx_types::{
    ActionBody, ActionId, AgentStateId, ConfigChange, Envelope, EnvironmentEvent, ModelSpec, NanoUsd, Prices,
    SessionId, Timestamp, Usage,
};
use serde::Serialize;

use body::first_difference;
pub use body::{CachedPart, FirstDifference};

/// Milliseconds after which vendors forget what nobody reads again: 5 minutes by default at Anthropic, 5 to
/// 10 at OpenAI.
const FORGOTTEN_AFTER_MS: u64 = 5 * 60 * 1_000;

/// An event between two requests of an agent that may change the beginning of the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheCause {
    /// Another model was chosen.
    ModelSwitch,
    /// A fallback was asked, or the agent's own model again after one.
    Fallback,
    /// Other tools are on offer, or they are described otherwise.
    ToolList,
    /// Other instructions, or other facts about where the agent works.
    Prompt,
    /// Settings of the calls changed.
    Settings,
    /// The conversation was condensed.
    Condensing,
    /// A condensed part was restored.
    Restoring,
    /// The session was rewound or forked.
    Rewind,
    /// A provider refused a part of a request, which is left out since then.
    Repair,
    /// Too much time passed: the provider forgets what nobody reads.
    Clock,
    /// Nothing in the log: the agent itself sends earlier messages in another form, such as shortened
    /// results.
    Agent,
    /// The request is as it should be: the provider did not have it in its cache.
    Provider,
}

/// A request and its predecessor, as far as caches are concerned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheReport {
    /// The session.
    pub session_id: SessionId,
    /// The event that the request follows from.
    pub seq: u64,
    /// The model that was asked, as `provider/id`.
    pub model: String,
    /// The event of its predecessor, the request before it of the same agent; `None` for the first one.
    pub predecessor: Option<u64>,
    /// The first byte that differs; `None` if the predecessor is the beginning of this request.
    pub difference: Option<FirstDifference>,
    /// The causes of the change, the likeliest first; empty if nothing was lost.
    pub causes: Vec<CacheCause>,
    /// Tokens that this request read, as counted.
    pub usage: Usage,
    /// Tokens of the predecessor that were not read from the cache.
    pub lost_tokens: u64,
    /// The cost of the lost tokens beyond a read from the cache; `None` if the prices are unknown.
    pub lost_cost: Option<NanoUsd>,
}

/// A model call of an agent.
#[derive(Clone, Debug)]
struct AskedCall {
    seq: u64,
    at: Timestamp,
    agent: AgentStateId,
    action: ActionId,
    model: ModelSpec,
    usage: Usage,
    /// The possible causes since the previous call of the same agent.
    causes: Vec<CacheCause>,
}

/// The model calls of a session and what happened between them.
struct CallTrail {
    fold: SessionFold,
    calls: Vec<AskedCall>,
    /// Causes that wait for the next call of an agent; without an agent they concern all.
    open: Vec<(Option<AgentStateId>, CacheCause)>,
}

impl CallTrail {
    fn new(session: SessionId) -> Self {
        Self {
            fold: SessionFold::new(session),
            calls: Vec::new(),
            open: Vec::new(),
        }
    }

    fn take(&mut self, fact: &Envelope<EnvironmentEvent>) {
        if let EnvironmentEvent::UsageReport(report) = &fact.event
            && let Some(call) = self
                .calls
                .iter_mut()
                .rev()
                .find(|call| Some(&call.action) == fact.cause.as_ref())
        {
            call.usage = report.usage;
        }
        if let Some(cause) = cause_of(&fact.event) {
            self.open.push((fact.agent_state_id.clone(), cause));
        }
        for action in self.fold.apply(fact).actions {
            let ActionBody::CallModel(call) = action.body else {
                continue;
            };
            let agent = action.agent_state_id;
            let mut causes: Vec<CacheCause> = Vec::new();
            self.open.retain(|(of, cause)| {
                let is_its = of.as_ref().is_none_or(|of| *of == agent);
                causes.extend(is_its.then_some(*cause));
                !is_its
            });
            causes.sort_unstable();
            causes.dedup();
            self.calls.push(AskedCall {
                seq: fact.seq,
                at: fact.at,
                agent,
                action: action.action_id,
                model: call.request.model.clone(),
                usage: Usage::default(),
                causes,
            });
        }
    }

    /// The index of the request that is meant: the last one at or before `seq`, else the latest that lost
    /// something, else the latest.
    fn meant(&self, seq: Option<u64>) -> Option<usize> {
        match seq {
            Some(seq) => self.calls.iter().rposition(|call| call.seq <= seq),
            None => {
                let lost = |index: &usize| self.lost_tokens(*index) > 0;
                (0..self.calls.len())
                    .rev()
                    .find(lost)
                    .or(self.calls.len().checked_sub(1))
            }
        }
    }

    fn predecessor(&self, index: usize) -> Option<&AskedCall> {
        let call = self.calls.get(index)?;
        let earlier = self.calls.get(..index)?.iter();
        earlier.rev().find(|other| other.agent == call.agent)
    }

    /// Tokens that the predecessor read and this request did not read from the cache; 0 if the provider did
    /// not count, or never used a cache for either.
    fn lost_tokens(&self, index: usize) -> u64 {
        let (Some(call), Some(before)) = (self.calls.get(index), self.predecessor(index)) else {
            return 0;
        };
        let is_counted = |usage: &Usage| usage.read_tokens() > 0 && !usage.is_estimated();
        let caches = |usage: &Usage| usage.cache_read_tokens + usage.cache_write_tokens > 0;
        if !is_counted(&call.usage) || !is_counted(&before.usage) {
            return 0;
        }
        if !caches(&call.usage) && !caches(&before.usage) {
            return 0;
        }
        let could = before.usage.read_tokens().min(call.usage.read_tokens());
        could.saturating_sub(call.usage.cache_read_tokens)
    }
}

fn cause_of(event: &EnvironmentEvent) -> Option<CacheCause> {
    use EnvironmentEvent as E;
    Some(match event {
        E::ConfigChanged(changed) => match &changed.change {
            ConfigChange::Model(_) => CacheCause::ModelSwitch,
            ConfigChange::Tools(_) => CacheCause::ToolList,
            ConfigChange::Instructions(_) => CacheCause::Prompt,
            ConfigChange::Params(_) => CacheCause::Settings,
            _ => return None,
        },
        E::FallbackAsked(_) => CacheCause::Fallback,
        E::ContextCondensed(_) => CacheCause::Condensing,
        E::ContextRestored(_) => CacheCause::Restoring,
        E::SessionForked(_) => CacheCause::Rewind,
        E::AttemptFailed(failed) if failed.refused.is_some() => CacheCause::Repair,
        _ => return None,
    })
}

/// The causes in the log that can change this part, the likeliest first.
fn causes_of(part: CachedPart, log: &[CacheCause]) -> Vec<CacheCause> {
    use CacheCause as C;
    let fitting: &[CacheCause] = match part {
        CachedPart::Model => &[C::ModelSwitch, C::Fallback],
        CachedPart::Tools => &[C::ToolList, C::Condensing, C::Repair, C::ModelSwitch, C::Fallback],
        CachedPart::Instructions => &[C::Prompt, C::ModelSwitch, C::Fallback],
        CachedPart::Settings => &[C::Settings, C::Repair, C::ModelSwitch, C::Fallback],
        CachedPart::Messages => &[
            C::Condensing,
            C::Restoring,
            C::Rewind,
            C::Repair,
            C::ModelSwitch,
            C::Fallback,
        ],
    };
    let found: Vec<CacheCause> = fitting
        .iter()
        .copied()
        .filter(|cause| log.contains(cause))
        .collect();
    match (found.is_empty(), part) {
        (false, _) => found,
        // A fallback ends with its run, and nothing else changes a model without an event.
        (true, CachedPart::Model) => vec![C::Fallback],
        (true, CachedPart::Tools) => vec![C::ToolList],
        (true, CachedPart::Instructions) => vec![C::Prompt],
        (true, CachedPart::Settings) => vec![C::Settings],
        (true, CachedPart::Messages) => vec![C::Agent],
    }
}

/// Returns the extra cost of tokens that were not read from the cache; `None` without prices.
fn extra_cost(lost: u64, usage: &Usage, prices: &Prices) -> Option<NanoUsd> {
    if *prices == Prices::default() {
        return None;
    }
    let written = lost.min(usage.cache_write_tokens);
    let of_written = written.saturating_mul(prices.cache_write.saturating_sub(prices.cache_read));
    let of_read = (lost - written).saturating_mul(prices.input.saturating_sub(prices.cache_read));
    let nanos = of_written.saturating_add(of_read);
    Some(NanoUsd(nanos))
}

/// Explains the request at or before `seq`; without it the latest that the provider did not read from its
/// cache although its predecessor was there, or else the latest of all.
///
/// # Errors
/// Returns an error if the session cannot be read, or no model was called in it until then.
pub async fn cache_why(
    runtime: &dyn Runtime,
    session: &SessionId,
    seq: Option<u64>,
) -> Result<CacheReport, RuntimeError> {
    let trail = trail_of(runtime, session).await?;
    let Some(index) = trail.meant(seq) else {
        let what = match seq {
            Some(seq) => format!("no model was called in {session} up to event {seq}"),
            None => format!("no model was called in {session}"),
        };
        return Err(RuntimeError::Refused(what));
    };
    let call = &trail.calls[index];
    let before = trail.predecessor(index);
    let difference = match before {
        None => None,
        Some(before) => {
            let was = runtime.context(session, Some(before.seq)).await?;
            let is = runtime.context(session, Some(call.seq)).await?;
            first_difference(&was.body, &is.body)
        }
    };
    let lost_tokens = trail.lost_tokens(index);
    let waited = before.map_or(0, |before| call.at.millis_since(before.at));
    let causes = match &difference {
        Some(found) => causes_of(found.part, &call.causes),
        None if lost_tokens == 0 => Vec::new(),
        None if waited >= FORGOTTEN_AFTER_MS => vec![CacheCause::Clock],
        None => vec![CacheCause::Provider],
    };
    Ok(CacheReport {
        session_id: session.clone(),
        seq: call.seq,
        model: call.model.reference(),
        predecessor: before.map(|before| before.seq),
        difference,
        causes,
        usage: call.usage,
        lost_tokens,
        lost_cost: extra_cost(lost_tokens, &call.usage, &call.model.prices),
    })
}

async fn trail_of(runtime: &dyn Runtime, session: &SessionId) -> Result<CallTrail, RuntimeError> {
    let mut trail = CallTrail::new(session.clone());
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => trail.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::Refused(why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(trail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_tokens_are_paid_as_written_first() {
        let prices = Prices {
            input: 10,
            cache_read: 1,
            cache_write: 12,
            ..Prices::default()
        };
        let usage = Usage {
            input_tokens: 50,
            cache_write_tokens: 100,
            ..Usage::default()
        };
        assert_eq!(extra_cost(120, &usage, &prices), Some(NanoUsd(100 * 11 + 20 * 9)));
        assert_eq!(extra_cost(120, &usage, &Prices::default()), None);
    }

    #[test]
    fn a_part_is_changed_by_what_can_change_it() {
        let log = [CacheCause::ToolList, CacheCause::Condensing];
        assert_eq!(causes_of(CachedPart::Messages, &log), [CacheCause::Condensing]);
        assert_eq!(causes_of(CachedPart::Tools, &log), log);
        assert_eq!(causes_of(CachedPart::Messages, &[]), [CacheCause::Agent]);
    }
}
