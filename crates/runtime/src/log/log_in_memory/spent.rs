//! The spending in a log in memory, summed by session, by model or by cause. It has no calendar, so it cannot
//! sum by day.
//!
//! Sessions are sorted by the latest spending; models and causes by money, then by tokens.

use std::collections::BTreeMap;

use agentx_types::{Timestamp, Usage};

use super::stored::{PaidCall, StoredSession};
use crate::api::{Since, SpendCause, UsageBy, UsageQuery, UsageRow};
use crate::log_error::LogError;

/// Sums the spending of these sessions, as the query asks. The caller has checked their owner.
///
/// # Errors
/// Returns an error if the query asks for days.
pub(super) fn add_up<'a>(
    sessions: impl Iterator<Item = &'a StoredSession>,
    query: &UsageQuery,
) -> Result<Vec<UsageRow>, LogError> {
    let since = match &query.since {
        None => None,
        Some(Since::At(at)) => Some(*at),
        Some(Since::Day(_)) => return Err(without_calendar()),
    };
    if matches!(query.by, UsageBy::Day | UsageBy::DayModel) {
        return Err(without_calendar());
    }
    let mut rows: BTreeMap<String, (UsageRow, Option<Timestamp>)> = BTreeMap::new();
    let asked = sessions.filter(|stored| query.session.as_ref().is_none_or(|only| only == stored.id()));
    for stored in asked {
        for (seq, spent) in stored.spent() {
            let fact = stored.fact(*seq);
            let at = fact.map(|fact| fact.at);
            if since.is_some_and(|since| at.is_none_or(|at| at < since)) {
                continue;
            }
            let key = match query.by {
                UsageBy::Session | UsageBy::Day | UsageBy::DayModel => stored.id().to_string(),
                UsageBy::Model => spent.model.clone(),
                UsageBy::Cause => {
                    let cause = fact.map_or(SpendCause::Answer, |fact| SpendCause::of(&fact.event));
                    cause.words().to_owned()
                }
            };
            let titled = query.by == UsageBy::Session;
            let (row, last) = rows
                .entry(key.clone())
                .or_insert_with(|| (row(key, titled.then(|| stored.title().to_owned())), None));
            add(row, spent);
            *last = at.max(*last);
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by(|(one, one_last), (other, other_last)| match query.by {
        UsageBy::Session | UsageBy::Day | UsageBy::DayModel => {
            (other_last, &one.key).cmp(&(one_last, &other.key))
        }
        UsageBy::Model | UsageBy::Cause => {
            let weight = |row: &UsageRow| (row.cost, row.usage.context_tokens());
            (weight(other), &one.key).cmp(&(weight(one), &other.key))
        }
    });
    Ok(rows.into_iter().map(|(row, _)| row).collect())
}

/// A row in which nothing was spent yet.
fn row(key: String, title: Option<String>) -> UsageRow {
    UsageRow {
        title,
        ..UsageRow::new(key)
    }
}

/// Counts a model call in. A model that used tokens and cost nothing has no price that is known.
fn add(row: &mut UsageRow, spent: &PaidCall) {
    row.calls += 1;
    if spent.cost.0 == 0 && spent.usage != Usage::default() {
        row.unpriced_models.insert(spent.model.clone());
    }
    row.usage += spent.usage;
    row.cost += spent.cost;
}

/// The answer to a question about days.
fn without_calendar() -> LogError {
    LogError::unsupported("a calendar: ask by session, model or cause, or keep sessions on disk")
}
