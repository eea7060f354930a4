//! `agentx usage`: adds up the cost.

use agentx::runtime::{Runtime, Since, UsageBy, UsageQuery, UsageRow};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::spending::{has_unpriced, render, total};
use crate::terminal::console::Console;

/// The grouping and the period of a spending report.
#[derive(Clone, Debug, PartialEq)]
pub struct SpendingQuestion {
    /// The grouping of the sums.
    pub by: UsageBy,
    /// The beginning of the period; `None` for all time.
    pub since: Option<Since>,
}

/// Prints the cost.
///
/// # Errors
/// Returns an error if the sessions cannot be read, or the output fails.
pub async fn tell(
    runtime: &dyn Runtime,
    asked: SpendingQuestion,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let by = asked.by;
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
