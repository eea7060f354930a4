//! Renders the use of a model's context window.

use agentx::types::{CondensedRange, WindowFill, WindowKind, WindowShare};

use super::table::table;
use super::units;

/// The width of a terminal below which only the totals are shown: no parts, no bytes.
const NARROW: usize = 56;

/// Renders a line about the whole window, a table with the tokens of each kind of part and the free space,
/// and below it the messages that are no longer sent.
pub fn render(fill: &WindowFill, model: &str, width: usize) -> String {
    let mut rows = rows(fill);
    if width < NARROW {
        let keep = |row: Vec<String>| row.into_iter().enumerate().filter(|(at, _)| ![1, 4].contains(at));
        rows = rows
            .into_iter()
            .map(|row| keep(row).map(|(_, cell)| cell).collect())
            .collect();
    }
    let left_out = match fill.left_out {
        0 => String::new(),
        n => format!(
            "{} did not fit into the window: /compact condenses the conversation\n",
            match n {
                1 => "1 message".to_owned(),
                _ => format!("{n} messages"),
            }
        ),
    };
    format!(
        "{model}: {} of {} tokens in use ({})\n{}{left_out}",
        units::count(fill.in_use),
        units::count(fill.window),
        units::share(fill.in_use, fill.window),
        table(&rows, width)
    )
}

/// Returns the same window by the count of the last call, which the status row shows too, and a note if that
/// count is implausible. Without a call, nothing changes.
pub(crate) fn with_count(fill: &WindowFill, counted: u64) -> (WindowFill, Option<String>) {
    if counted == 0 {
        return (fill.clone(), None);
    }
    let is_too_low = counted.saturating_mul(2) < fill.in_use;
    let note = is_too_low.then(|| {
        let estimated = units::count(fill.in_use);
        format!(
            "AgentX estimates {estimated} tokens, far more than the provider counted, and condenses by that"
        )
    });
    let counted = WindowFill {
        in_use: counted,
        ..fill.clone()
    };
    (counted, note)
}

fn rows(fill: &WindowFill) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["WHAT", "PIECES", "TOKENS", "SHARE", "SIZE"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let estimated: u64 = fill.shares.iter().map(|share| share.tokens).sum();
    for share in &fill.shares {
        let tokens = scale_to_total(share.tokens, fill.in_use, estimated);
        let size = match share.bytes {
            0 => String::new(),
            bytes => units::bytes(bytes),
        };
        rows.push(vec![
            name(share).to_owned(),
            share.count.to_string(),
            units::count(tokens),
            units::share(tokens, fill.window),
            size,
        ]);
    }
    let free = fill.window.saturating_sub(fill.in_use);
    let answer = fill.answer.min(free);
    for (what, tokens) in [("reserved for the answer", answer), ("free", free - answer)] {
        let share = units::share(tokens, fill.window);
        rows.push(vec![
            what.into(),
            String::new(),
            units::count(tokens),
            share,
            String::new(),
        ]);
    }
    rows
}

/// Scales an estimate so that all estimates add up to the provider's count.
fn scale_to_total(tokens: u64, in_use: u64, estimated: u64) -> u64 {
    tokens.saturating_mul(in_use) / estimated.max(1)
}

fn name(share: &WindowShare) -> &'static str {
    match share.kind {
        WindowKind::SystemPrompt => "system prompt",
        WindowKind::Instructions => "instructions",
        WindowKind::Tools => "tools",
        WindowKind::Summaries => "summaries",
        WindowKind::Inputs => "messages to the agent",
        WindowKind::Answers => "answers",
        WindowKind::Reasoning => "reasoning",
        WindowKind::ToolCalls => "tool calls",
        WindowKind::ToolResults => "tool results",
        WindowKind::Media => "images and files",
        WindowKind::Opaque => "for the provider only",
        WindowKind::Unknown => "other content",
    }
}

/// Returns a line about condensed messages and the tokens that this freed.
pub fn condensed(number: usize, condensed: &CondensedRange, command: &str) -> String {
    let range = &condensed.range;
    format!(
        "{number}. events {} to {} are condensed: {}, {} tokens, to {} ({command}--summary {number} shows it)",
        range.from_seq,
        range.to_seq,
        units::counted(range.messages, "message"),
        units::count(range.tokens),
        units::count(range.summary_tokens),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_what_the_provider_counted() {
        let share = |kind, count, tokens, bytes| WindowShare {
            kind,
            count,
            tokens,
            bytes,
        };
        let fill = WindowFill {
            seq: 9,
            window: 8_000,
            answer: 1_000,
            in_use: 4_000,
            left_out: 0,
            shares: vec![
                share(WindowKind::Tools, 9, 1_000, 5_120),
                share(WindowKind::Inputs, 2, 980, 4_000),
                share(WindowKind::Media, 1, 20, 0),
            ],
        };
        let (counted, note) = with_count(&fill, 3_900);
        assert!(render(&counted, "m", 80).starts_with("m: 3.9k of 8.0k tokens in use (48 %)\n"));
        assert_eq!(note, None);
        let (counted, note) = with_count(&fill, 40);
        assert!(render(&counted, "m", 80).starts_with("m: 40 of 8.0k tokens in use (<1 %)\n"));
        assert!(note.is_some_and(|note| note.contains("estimates 4.0k tokens")));
        assert_eq!(with_count(&fill, 0), (fill.clone(), None), "no call was counted");
        assert_eq!(
            render(&fill, "m", 80),
            "m: 4.0k of 8.0k tokens in use (50 %)\n\
             WHAT                     PIECES  TOKENS  SHARE  SIZE\n\
             tools                    9       2.0k    25 %   5.0 KiB\n\
             messages to the agent    2       2.0k    24 %   3.9 KiB\n\
             images and files         1       40      <1 %\n\
             reserved for the answer          1.0k    12 %\n\
             free                             3.0k    37 %\n"
        );
        assert!(
            render(&fill, "m", 40).contains("\nmessages to the agent    2.0k    24 %\n"),
            "{}",
            render(&fill, "m", 40)
        );
        let slid = WindowFill {
            left_out: 12,
            ..fill.clone()
        };
        let line = "12 messages did not fit into the window: /compact condenses the conversation\n";
        assert!(render(&slid, "m", 80).ends_with(line));
        let overfull = WindowFill {
            in_use: 9_000,
            ..fill
        };
        let text = render(&overfull, "m", 80);
        assert!(
            text.contains("(112 %)") && text.ends_with("free                             0       0 %\n"),
            "{text}"
        );
    }
}
