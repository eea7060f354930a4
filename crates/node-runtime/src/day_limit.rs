//! The limit on what all sessions of a person spend within 24 hours (`limits.day_cost`, `limits.day_tokens`):
//! at the limit a model call fails before it is sent, with the code `day_limit`, and the run ends with it.
//!
//! The ledger of the log knows what was spent. Calls that run at that moment have no bill yet, so together
//! they may go beyond the limit. Members of a server have their own quota (`quotas.daily_cost`).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_config::{DayLimit, Settings, raised_lately};
use agentx_runtime::{
    BoxFuture, Clock as _, Effector, EventSink, SessionLog, Since, SystemClock, UsageBy, UsageQuery,
};
use agentx_types::{Action, ErrorOccurred, NanoUsd, OwnerId, SessionId, Timestamp, Usage};
use tokio_util::sync::CancellationToken;

/// The period of the limit, in microseconds.
const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;
/// The time for which a sum of the ledger counts, in milliseconds.
const KNOWN_FOR_MS: u64 = 2_000;

/// Model calls within the limit of a day.
pub(crate) struct DayLimited {
    models: Arc<dyn Effector>,
    gate: Arc<DayGate>,
}

/// Compares what was spent with the limit.
struct DayGate {
    log: Arc<dyn SessionLog>,
    owner: OwnerId,
    limit: DayLimit,
    data_dir: PathBuf,
    /// The last sum, with its time.
    last: Mutex<Option<(Timestamp, DaySpent)>>,
}

/// The spending of the last 24 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct DaySpent {
    cost: NanoUsd,
    usage: Usage,
}

/// Returns these models within the limit of the settings; unchanged without a limit.
pub(crate) fn within_day_limit(
    models: Arc<dyn Effector>,
    settings: &Settings,
    log: &Arc<dyn SessionLog>,
    owner: OwnerId,
) -> Arc<dyn Effector> {
    if settings.day_limit == DayLimit::default() {
        return models;
    }
    let gate = DayGate {
        log: log.clone(),
        owner,
        limit: settings.day_limit,
        data_dir: settings.data_dir.clone(),
        last: Mutex::default(),
    };
    Arc::new(DayLimited {
        models,
        gate: Arc::new(gate),
    })
}

impl Effector for DayLimited {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let (models, gate) = (self.models.clone(), self.gate.clone());
        Box::pin(async move {
            if let Some(message) = gate.refusal(events.session_id()).await {
                let refused = ErrorOccurred {
                    code: "day_limit".into(),
                    message,
                    recoverable: true,
                };
                events.emit(refused).await;
                return;
            }
            models.perform(action, events, cancel).await;
        })
    }

    fn retry_now(&self, session: &SessionId) {
        self.models.retry_now(session);
    }
}

impl DayGate {
    /// Returns why no model is called now; `None` if one may be. A call for the session of another owner, and
    /// one while the ledger cannot be read, is not held back.
    async fn refusal(&self, session: Option<&SessionId>) -> Option<String> {
        if let Some(session) = session
            && self
                .log
                .info(session)
                .await
                .is_ok_and(|info| info.owner != self.owner)
        {
            return None;
        }
        let now = SystemClock.now();
        let spent = self.spent(now).await?;
        // The file with the amounts is read only at the limit.
        reached(&self.limit, &spent)?;
        let raised = raised_lately(&self.data_dir, now).unwrap_or_else(|error| {
            tracing::warn!(%error, "the amounts by which the limit of a day was raised cannot be read");
            Default::default()
        });
        reached(&self.limit.raised_by(&raised), &spent)
    }

    /// The spending of the last 24 hours.
    async fn spent(&self, now: Timestamp) -> Option<DaySpent> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, spent)) = last
            && now.millis_since(at) < KNOWN_FOR_MS
        {
            return Some(spent);
        }
        let query = UsageQuery {
            owner: self.owner.clone(),
            by: UsageBy::Model,
            session: None,
            since: Some(Since::At(Timestamp(now.0.saturating_sub(DAY_MICROS)))),
        };
        let rows = self.log.usage(query).await;
        let rows = rows.inspect_err(|error| tracing::warn!(%error, "the limit of a day is not checked"));
        let mut sum = DaySpent::default();
        for row in rows.ok()? {
            sum.cost += row.cost;
            sum.usage += row.usage;
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, sum));
        Some(sum)
    }
}

/// The message about a limit that is reached.
fn reached(limit: &DayLimit, spent: &DaySpent) -> Option<String> {
    if let Some(max) = limit.cost
        && spent.cost >= max
    {
        return Some(format!(
            "the limit of {:.2} dollars within 24 hours is reached (all your sessions spent {:.2}); \
             `agentx usage --raise-day 5` adds 5 dollars for a day",
            max.as_usd(),
            spent.cost.as_usd()
        ));
    }
    let tokens = spent.usage.context_tokens();
    let max = limit.tokens.filter(|max| tokens >= *max)?;
    Some(format!(
        "the limit of {max} tokens within 24 hours is reached (all your sessions used {tokens}); \
         `agentx usage --raise-day 50000t` adds 50000 tokens for a day"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_when_the_spending_equals_it() {
        let spent = DaySpent {
            cost: NanoUsd(2_000_000_000),
            usage: Usage {
                input_tokens: 90,
                output_tokens: 10,
                ..Usage::default()
            },
        };
        let said = |cost: Option<u64>, tokens| {
            let limit = DayLimit {
                cost: cost.map(NanoUsd),
                tokens,
            };
            reached(&limit, &spent).unwrap_or_default()
        };
        assert_eq!(said(None, None), "");
        assert_eq!(said(Some(2_000_000_001), Some(101)), "");
        assert!(said(Some(2_000_000_000), None).starts_with("the limit of 2.00 dollars within 24 hours"));
        assert!(said(None, Some(100)).starts_with("the limit of 100 tokens within 24 hours is reached"));
    }
}
