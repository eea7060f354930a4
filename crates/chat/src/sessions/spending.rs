//! `agentx usage`: adds up the cost.

use std::path::Path;

use agentx::config::{DayRaise, raise_day_limit};
use agentx::runtime::{Since, UsageBy, UsageQuery, UsageRow};
use agentx::types::NanoUsd;
use serde_json::{Value, json};

use crate::error::{ChatError, operator_only_error};
use crate::exit::Exit;
use crate::place::Place;
use crate::render::spending::{has_unpriced, render, total};
use crate::render::units::{self, counted};
use crate::terminal::console::Console;

/// An amount by which the limit of a day is raised: dollars as `0.50`, or tokens as `50000t`.
///
/// # Errors
/// Returns an error if it is neither, or nothing.
pub fn day_raise(text: &str) -> Result<DayRaise, String> {
    let wrong = || "an amount is dollars such as 0.50, or tokens such as 50000t".to_owned();
    let mut raise = DayRaise::default();
    match text.strip_suffix('t') {
        Some(tokens) => raise.tokens = tokens.parse().map_err(|_| wrong())?,
        None => {
            let dollars: f64 = text.trim_start_matches('$').parse().map_err(|_| wrong())?;
            if !(0.0..=1_000_000.0).contains(&dollars) {
                return Err(wrong());
            }
            raise.cost = NanoUsd::from_usd(dollars);
        }
    }
    if raise == DayRaise::default() {
        return Err(wrong());
    }
    Ok(raise)
}

/// Raises the limit of a day (`limits.day_cost`, `limits.day_tokens`) of this machine, or of the server's.
///
/// # Errors
/// Returns an error if the amount cannot be kept, the person is not the operator of the server, or the output
/// fails.
async fn raise_day(
    place: &Place,
    data_dir: &Path,
    raise: DayRaise,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if let Some(remote) = place.remote() {
        let raised = remote.raise_day_limit(raise.cost, raise.tokens).await;
        raised.map_err(operator_only_error)?;
    } else {
        let raise = DayRaise {
            at: units::now(),
            ..raise
        };
        raise_day_limit(data_dir, raise).map_err(|error| ChatError::File {
            path: data_dir.to_string_lossy().into_owned(),
            what: format!("the limit was not raised: {error}"),
        })?;
    }
    let amount = match raise.tokens {
        0 => format!("{} dollars", raise.cost.as_usd()),
        tokens => counted(tokens, "token"),
    };
    console.out(&format!("for 24 hours, {amount} more may be spent\n"))?;
    Ok(Exit::Ok)
}

/// The grouping and the period of a spending report.
#[derive(Clone, Debug, PartialEq)]
pub struct SpendingQuestion {
    /// The grouping of the sums.
    pub by: UsageBy,
    /// The beginning of the period; `None` for all time.
    pub since: Option<Since>,
    /// An amount by which the limit of a day is raised in place of a report.
    pub raise: Option<DayRaise>,
}

/// Prints the cost, or raises the limit of a day.
///
/// # Errors
/// Returns an error if the sessions cannot be read, the limit cannot be raised, or the output fails.
pub async fn tell(
    place: &Place,
    data_dir: &Path,
    asked: SpendingQuestion,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if let Some(raise) = asked.raise {
        return raise_day(place, data_dir, raise, console).await;
    }
    let (by, runtime) = (asked.by, place.runtime());
    let query = UsageQuery {
        owner: runtime.owner().clone(),
        by,
        session: None,
        since: asked.since,
    };
    let rows = runtime.usage(query).await?;
    let total = total(&rows);
    if json {
        let rows: Vec<Value> = rows.iter().map(object).collect();
        console.out_pretty(&json!({ "by": by, "rows": rows, "total": object(&total) }))?;
    } else if rows.is_empty() {
        console.say("nothing was spent\n");
    } else {
        console.out(&render(by, &rows, &total, console.out_width()))?;
    }
    Ok(Exit::Ok)
}

fn object(row: &UsageRow) -> Value {
    let mut object = json!({
        "key": row.key,
        "calls": row.calls,
        "usage": row.usage,
        "cost_usd": row.cost.as_usd(),
    });
    if has_unpriced(row) {
        object["unpriced_models"] = json!(row.unpriced_models);
    }
    if let Some(title) = &row.title {
        object["title"] = Value::from(title.as_str());
    }
    object
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn an_amount_is_dollars_or_tokens() {
        assert_eq!(day_raise("0.50").unwrap().cost, NanoUsd(500_000_000));
        assert_eq!(day_raise("$5").unwrap().cost, NanoUsd(5_000_000_000));
        assert_eq!(day_raise("50000t").unwrap().tokens, 50_000);
        for wrong in ["", "t", "0", "0t", "-1", "5 dollars", "nan", "1e99"] {
            assert!(day_raise(wrong).is_err(), "{wrong}");
        }
    }
}
