//! `agentx usage`: what was spent, added up.

use std::collections::BTreeSet;

use agentx::runtime::{UsageBy, UsageQuery, UsageRow};
use agentx::types::{NanoUsd, Usage};
use serde_json::{Value, json};

use crate::args::UsageArgs;
use crate::compose::Place;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::{table::table, units};
use crate::start::is_demo;

/// Tells what was spent.
pub(crate) async fn run(
    place: &Place,
    args: &UsageArgs,
    json: bool,
    console: &mut Console,
) -> Result<Exit, CliError> {
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

pub(crate) fn total(rows: &[UsageRow]) -> UsageRow {
    let mut total = UsageRow {
        key: "total".into(),
        title: None,
        calls: 0,
        usage: Usage::default(),
        cost: NanoUsd::default(),
        unpriced_models: BTreeSet::new(),
    };
    for row in rows {
        total.unpriced_models.extend(row.unpriced_models.iter().cloned());
        total.calls += row.calls;
        total.usage += row.usage;
        total.cost += row.cost;
    }
    total
}

/// Whether nobody knows what a part of it cost. The demo costs nothing.
pub(crate) fn has_unpriced(row: &UsageRow) -> bool {
    row.unpriced_models.iter().any(|model| !is_demo(model))
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

pub(crate) fn render(by: UsageBy, rows: &[UsageRow], total: &UsageRow, width: usize) -> String {
    let head = match by {
        UsageBy::Session => "SESSION",
        UsageBy::Day => "DAY",
        UsageBy::Model => "MODEL",
        UsageBy::Cause => "CAUSE",
    };
    let mut heads = [head, "CALLS", "IN", "CACHED", "OUT", "COST"]
        .map(str::to_owned)
        .to_vec();
    if by == UsageBy::Session {
        heads.push("TITLE".into());
    }
    let cells = |row: &UsageRow| {
        let usage = &row.usage;
        let read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        let mut cells = vec![
            visible(&row.key),
            row.calls.to_string(),
            units::count(read),
            units::count(usage.cache_read_tokens),
            units::count(usage.output_tokens),
            units::sum(row.cost, usage, has_unpriced(row)),
        ];
        if by == UsageBy::Session {
            cells.push(visible(row.title.as_deref().unwrap_or_default()));
        }
        cells
    };
    let mut lines = vec![heads];
    lines.extend(rows.iter().map(cells));
    if rows.len() > 1 {
        lines.push(cells(total));
    }
    table(&lines, width)
}
