//! The time to find an input among 1,000 rules without a model, compared with a plain search through all of
//! them. Asserts nothing: `cargo bench -p agentx-agent --bench matching`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads the clock and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use agentx_agent::matching::FastPath;
use agentx_types::{IntentPattern, IntentRule, IntentVar, VarKind};

const RULES: usize = 1_000;
const ROUNDS: u32 = 20_000;

fn rule(index: usize, pattern: String) -> IntentRule {
    IntentRule {
        name: format!("rule_{index}"),
        vars: vec![IntentVar {
            name: "n".into(),
            label: "number".into(),
            kind: VarKind::Int,
        }],
        patterns: vec![IntentPattern {
            input: pattern,
            output: None,
        }],
        ..IntentRule::default()
    }
}

fn rules(pattern: impl Fn(usize) -> String) -> Vec<IntentRule> {
    (0..RULES).map(|index| rule(index, pattern(index))).collect()
}

/// Microseconds of one search.
fn time(path: &FastPath, input: &str, found: bool) -> f64 {
    assert_eq!(path.find(input).is_some(), found, "{input}");
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(path.find(black_box(input)));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}

/// The minimum of a search without an index: it compares the unchanged input with each pattern.
fn plain_search(rules: &[IntentRule], input: &str) -> f64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let mut patterns = rules.iter().flat_map(|rule| &rule.patterns);
        black_box(patterns.find(|pattern| pattern.input == black_box(input)));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}

fn main() {
    let literal = rules(|index| format!("请帮我打开第 {index} 号房间的灯"));
    let same_start = rules(|index| format!("请帮我打开第 [n] 号房间的 {index} 号灯"));
    let open = rules(|index| format!("[n] times as loud in room {index}"));
    let start = Instant::now();
    let path = FastPath::new(&literal);
    println!(
        "{RULES} rules prepared:                  {:>9.1} us",
        start.elapsed().as_secs_f64() * 1e6
    );
    let line = |what: &str, us: f64| println!("{what:<38} {us:>9.2} us");
    line("words, found", time(&path, "请帮我打开第999号房间的灯。", true));
    line(
        "words, not found",
        time(&path, "今天的天气怎么样，明天会不会下雨？", false),
    );
    line(
        "  a plain search through all",
        plain_search(&literal, "请帮我打开第 999 号房间的灯"),
    );
    let path = FastPath::new(&same_start);
    line(
        "variables, all begin alike, found",
        time(&path, "请帮我打开第5号房间的999号灯", true),
    );
    line(
        "variables, all begin alike, not found",
        time(&path, "请帮我打开第5号房间的第999号灯", false),
    );
    let path = FastPath::new(&open);
    line(
        "a variable first in all, found",
        time(&path, "3 times as loud in room 999", true),
    );
    line(
        "a variable first in all, not found",
        time(&path, "3 times as loud in the room", false),
    );
}
