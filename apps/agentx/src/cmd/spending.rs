//! `agentx usage`: what was spent, added up.

use agentx::runtime::{UsageBy, UsageQuery, UsageRow};
use serde_json::{Value, json};

use crate::args::UsageArgs;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::spending::{has_unpriced, render, total};
use crate::render::units;

/// Tells what was spent.
pub(crate) async fn run(
    place: &CommandTarget,
    args: &UsageArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let by = UsageBy::from(args.by);
    let rows = runtime
        .usage(UsageQuery {
            owner: runtime.owner().clone(),
            by,
            session: None,
            since: args.since.as_ref().map(|since| since.since(units::now())),
        })
        .await?;
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
