//! Explains why a request was not read from the provider's cache: the first byte in which it differs from its
//! predecessor, the cause of the difference, and its cost.
//!
//! The calls and the events between them are a fold of the log (`CallHistory`); the bodies are those that
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

/// Milliseconds after which vendors forget an unused cache entry: 5 minutes by default at Anthropic, 5 to 10
/// at OpenAI.
const FORGOTTEN_AFTER_MS: u64 = 5 * 60 * 1_000;

/// The same for entries that a person wants to be kept for an hour (`models.*.cache_ttl`).
const HOUR_MS: u64 = 60 * 60 * 1_000;

/// Tokens that a cache may leave out without a reason: OpenAI's grows in steps of 128 tokens, and no vendor
/// keeps a beginning of less than 1,024.
const LEAST_LOST: u64 = 1_024;

/// The share of a request, in percent, that counts as little, too.
const LEAST_LOST_PERCENT: u64 = 5;

/// An event between two requests of an agent that may change the beginning of the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheCause {
    /// Another model was chosen.
    ModelSwitch,
    /// A fallback was called, or the agent's own model again after one.
    Fallback,
    /// Other tools are on offer, or they are described otherwise.
    ToolList,
    /// Other instructions, or another description of the agent's environment.
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
    /// Too much time passed: the provider forgets unused entries.
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
    /// The called model, as `provider/id`.
    pub model: String,
    /// The event of its predecessor, the last answered request of the same agent before it; `None` for the
    /// first one.
    pub predecessor: Option<u64>,
    /// The first byte that differs; `None` if the predecessor is the beginning of this request.
    pub difference: Option<FirstDifference>,
    /// The causes of the change, the likeliest first; empty if nothing was lost.
    pub causes: Vec<CacheCause>,
    /// Tokens that this request read, as counted.
    pub usage: Usage,
    /// Tokens of the predecessor that were not read from the cache; 0 if they are so few that it is how the
    /// vendor's cache works.
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

/// The model calls of a session and the events between them.
struct CallHistory {
    fold: SessionFold,
    calls: Vec<AskedCall>,
    /// Causes that wait for the next call of an agent; without an agent they concern all.
    open: Vec<(Option<AgentStateId>, CacheCause)>,
}

impl CallHistory {
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

    /// The index of the request to explain: the last one at or before `seq`; without `seq` the latest that
    /// lost something, otherwise the latest.
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

    /// The index of the last answered request of the same agent before it; if none was answered, of the last
    /// one.
    fn predecessor(&self, index: usize) -> Option<usize> {
        let call = self.calls.get(index)?;
        let earlier = || (0..index).rev().filter(|at| self.calls[*at].agent == call.agent);
        earlier()
            .find(|at| self.calls[*at].is_counted())
            .or_else(|| earlier().next())
    }

    /// The events since the predecessor that may have changed the beginning of a request.
    fn causes(&self, index: usize) -> Vec<CacheCause> {
        let from = self.predecessor(index).map_or(index, |before| before + 1);
        let calls = self.calls.get(from..=index).unwrap_or_default().iter();
        let its = calls.filter(|call| call.agent == self.calls[index].agent);
        let mut causes: Vec<CacheCause> = its.flat_map(|call| call.causes.iter().copied()).collect();
        causes.sort_unstable();
        causes.dedup();
        causes
    }

    /// Tokens that could have been read from the cache, because the predecessor left them there, but were
    /// not. 0 if the provider did not count, or never used a cache for either, or if they are too few to
    /// tell.
    fn lost_tokens(&self, index: usize) -> u64 {
        let Some(before) = self.predecessor(index).map(|before| &self.calls[before]) else {
            return 0;
        };
        let call = &self.calls[index];
        let caches = |usage: &Usage| usage.cache_read_tokens + usage.cache_write_tokens > 0;
        if !call.is_counted() || !before.is_counted() || !(caches(&call.usage) || caches(&before.usage)) {
            return 0;
        }
        // A provider that counts the tokens that it writes into the cache (Anthropic) caches nothing after
        // the last mark.
        let kept = match before.usage {
            Usage {
                cache_write_tokens: 1..,
                ..
            } => before.usage.cache_read_tokens + before.usage.cache_write_tokens,
            usage => usage.read_tokens(),
        };
        let could = kept.min(call.usage.read_tokens());
        let lost = could.saturating_sub(call.usage.cache_read_tokens);
        let least = LEAST_LOST.max(could.saturating_mul(LEAST_LOST_PERCENT) / 100);
        if lost < least { 0 } else { lost }
    }
}

impl AskedCall {
    /// Returns whether a provider answered and counted its tokens.
    fn is_counted(&self) -> bool {
        self.usage.read_tokens() > 0 && !self.usage.is_estimated()
    }

    /// Milliseconds after which the provider forgets the entry that this request left in its cache.
    fn forgotten_after_ms(&self) -> u64 {
        match self.usage.cache_write_1h_tokens {
            0 => FORGOTTEN_AFTER_MS,
            _ => HOUR_MS,
        }
    }

    /// The difference of a request to another model than `before`: no cache is shared between models,
    /// regardless of other differences of their APIs.
    fn another_model(&self, before: &Self) -> Option<FirstDifference> {
        let (was, is) = (before.model.reference(), self.model.reference());
        (was != is).then_some(FirstDifference {
            part: CachedPart::Model,
            index: None,
            byte: 0,
            before: was,
            after: is,
        })
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
    let write = match usage.cache_write_1h_tokens {
        0 => prices.cache_write,
        _ => prices.hour_write(),
    };
    let of_written = written.saturating_mul(write.saturating_sub(prices.cache_read));
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
    let trail = call_history_of(runtime, session).await?;
    let Some(index) = trail.meant(seq) else {
        let what = match seq {
            Some(seq) => format!("no model was called in {session} up to event {seq}"),
            None => format!("no model was called in {session}"),
        };
        return Err(RuntimeError::Refused(what));
    };
    let call = &trail.calls[index];
    let before = trail.predecessor(index).map(|before| &trail.calls[before]);
    let difference = match before {
        None => None,
        Some(before) => match call.another_model(before) {
            Some(other) => Some(other),
            None => {
                let was = runtime.context(session, Some(before.seq)).await?;
                let is = runtime.context(session, Some(call.seq)).await?;
                first_difference(&was.body, &is.body)
            }
        },
    };
    let lost_tokens = trail.lost_tokens(index);
    let waited = before.map_or(0, |before| call.at.millis_since(before.at));
    let causes = match &difference {
        Some(found) => causes_of(found.part, &trail.causes(index)),
        None if lost_tokens == 0 => Vec::new(),
        None if waited >= before.map_or(FORGOTTEN_AFTER_MS, AskedCall::forgotten_after_ms) => {
            vec![CacheCause::Clock]
        }
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

async fn call_history_of(runtime: &dyn Runtime, session: &SessionId) -> Result<CallHistory, RuntimeError> {
    let mut trail = CallHistory::new(session.clone());
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => trail.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
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

    /// A call of the same agent; `(input, read, written)` are its tokens.
    fn asked(seq: u64, model: &str, (input, read, written): (u64, u64, u64)) -> AskedCall {
        let mut model_spec = agentx_agent::fixtures::config().model;
        model_spec.id = model.to_owned();
        AskedCall {
            seq,
            at: Timestamp(0),
            agent: AgentStateId::new("agt_1"),
            action: ActionId::following(seq, 0),
            model: model_spec,
            usage: Usage {
                input_tokens: input,
                cache_read_tokens: read,
                cache_write_tokens: written,
                ..Usage::default()
            },
            causes: Vec::new(),
        }
    }

    fn trail(calls: Vec<AskedCall>) -> CallHistory {
        CallHistory {
            calls,
            ..CallHistory::new(SessionId::new("ses_1"))
        }
    }

    /// Made up after the counts of Anthropic and OpenAI.
    #[test]
    fn what_a_cache_never_keeps_is_no_loss_and_the_latest_real_loss_is_meant() {
        let trail = trail(vec![
            asked(1, "a", (3_000, 0, 8_000)),
            asked(2, "a", (900, 8_000, 2_500)),
            asked(3, "a", (11_000, 0, 0)),
            asked(4, "a", (200, 10_880, 0)),
            asked(5, "a", (400, 11_008, 0)),
        ]);
        let lost: Vec<u64> = (0..5).map(|index| trail.lost_tokens(index)).collect();
        assert_eq!(lost, [0, 0, 10_500, 0, 0]);
        assert_eq!(trail.meant(None), Some(2));
        assert_eq!(trail.meant(Some(4)), Some(3));
    }

    #[test]
    fn a_request_is_compared_with_the_last_answered_one_and_another_model_is_the_cause() {
        let unanswered = |seq| AskedCall {
            causes: vec![CacheCause::ToolList],
            ..asked(seq, "a", (0, 0, 0))
        };
        let fallback = AskedCall {
            causes: vec![CacheCause::Fallback],
            ..asked(7, "b", (9_700, 0, 0))
        };
        let trail = trail(vec![asked(5, "a", (10, 9_500, 100)), unanswered(6), fallback]);
        assert_eq!((trail.predecessor(2), trail.lost_tokens(2)), (Some(0), 9_600));
        assert_eq!(trail.causes(2), [CacheCause::Fallback, CacheCause::ToolList]);
        let difference = trail.calls[2]
            .another_model(&trail.calls[0])
            .expect("another model");
        assert_eq!(
            causes_of(difference.part, &trail.causes(2)),
            [CacheCause::Fallback]
        );
    }

    #[test]
    fn a_part_is_changed_by_what_can_change_it() {
        let log = [CacheCause::ToolList, CacheCause::Condensing];
        assert_eq!(causes_of(CachedPart::Messages, &log), [CacheCause::Condensing]);
        assert_eq!(causes_of(CachedPart::Tools, &log), log);
        assert_eq!(causes_of(CachedPart::Messages, &[]), [CacheCause::Agent]);
    }
}
