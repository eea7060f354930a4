//! Renders spending as a table.

use agentx::runtime::{UsageBy, UsageRow};

use super::clean::visible;
use super::{table::table, units, wrapped_text::wrap_lines};
use crate::demo::is_demo;

/// The legend of a table with unknown costs.
const UNKNOWN: &str = "$? and +?: the price of a model is unknown, so its tokens are not in the sum; `models.NAME.prices` sets it";

/// The legend of a table with costs of which a part is unknown.
const PARTLY: &str =
    "+?: some calls cost more than the list prices, such as those of a priority tier or in one region";

/// The legend of a table with tokens that were not counted by their provider.
const ESTIMATED: &str = "~: some tokens are estimated, because the provider did not count them";

/// Returns one row with the sums of all rows.
pub fn total(rows: &[UsageRow]) -> UsageRow {
    let mut total = UsageRow::new("total");
    for row in rows {
        total.unpriced_models.extend(row.unpriced_models.iter().cloned());
        total.calls += row.calls;
        total.usage += row.usage;
        total.cost += row.cost;
    }
    total
}

/// Returns whether the prices of a part of it are unknown. The demo costs nothing.
pub fn has_unpriced(row: &UsageRow) -> bool {
    row.unpriced_models.iter().any(|model| !is_demo(model))
}

/// The rows and their sum, and below them what the signs of the costs mean.
pub fn render(by: UsageBy, rows: &[UsageRow], total: &UsageRow, width: usize) -> String {
    table_of(by, rows, total, width) + &wrap_lines(&legend(rows), width)
}

/// The rows and their sum.
pub(crate) fn table_of(by: UsageBy, rows: &[UsageRow], total: &UsageRow, width: usize) -> String {
    let head = match by {
        UsageBy::Session => "SESSION",
        UsageBy::Day => "DAY",
        UsageBy::Model => "MODEL",
        UsageBy::DayModel => "DAY AND MODEL",
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

/// Returns a line for each sign that the costs of these rows have.
pub(crate) fn legend(rows: &[UsageRow]) -> String {
    let unknown = if rows.iter().any(has_unpriced) {
        Some(UNKNOWN)
    } else {
        let is_partly = |row: &UsageRow| row.usage.is_unpriced() && row.cost.0 > 0;
        rows.iter().any(is_partly).then_some(PARTLY)
    };
    let is_estimated = rows.iter().any(|row| row.usage.is_estimated());
    let lines = [is_estimated.then_some(ESTIMATED), unknown];
    lines
        .into_iter()
        .flatten()
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use agentx::types::{NanoUsd, Usage};

    use super::*;

    #[test]
    fn each_sign_of_a_cost_is_explained_below_the_table_that_has_it() {
        let row = |estimated_tokens, unpriced_tokens| {
            let mut row = total(&[]);
            row.usage = Usage {
                input_tokens: 100,
                estimated_tokens,
                unpriced_tokens,
                ..Usage::default()
            };
            row.cost = NanoUsd(1_000_000_000);
            row
        };
        assert_eq!(legend(&[row(0, 0)]), "");
        assert_eq!(legend(&[row(0, 0), row(7, 0)]), format!("{ESTIMATED}\n"));
        assert_eq!(legend(&[row(7, 7)]), format!("{ESTIMATED}\n{PARTLY}\n"));
        let mut unknown = row(0, 7);
        unknown.unpriced_models.insert("nobody-knows".into());
        assert_eq!(legend(std::slice::from_ref(&unknown)), format!("{UNKNOWN}\n"));
        let narrow = render(UsageBy::Day, &[unknown], &total(&[]), 60);
        assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
        assert!(
            narrow.contains("the price of a model is unknown, so its tokens"),
            "{narrow}"
        );
    }
}
