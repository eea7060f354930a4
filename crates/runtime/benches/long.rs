//! The cost of a call in a long session whose window slides: of the fold, with all derived events and
//! requests, at the first calls and at the 34,000th; and the cost of folding the same session again only for
//! its state.
//!
//! `cargo bench -p agentx-runtime --bench long` prints microseconds per call; it asserts nothing. Words after
//! `--` choose sessions by name, as in `--bench long -- turns`.
#![expect(clippy::expect_used, reason = "a benchmark that cannot go on may fall over")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use agentx_agent::fixtures;
use agentx_runtime::SessionFold;
use agentx_types::*;

/// Number of calls in a measured run.
const RUN: usize = 100;
/// The calls after which the cost is shown.
const SHOWN: [usize; 7] = [100, 500, 1_000, 2_000, 8_000, 13_000, 34_000];
/// The number of times that a session is folded again; the best counts.
const OPENINGS: usize = 5;
/// Actions that effectors still hold: the requests of the current call and of the one before.
const HELD: usize = 2;

struct Bench {
    facts: Vec<Envelope<EnvironmentEvent>>,
    fold: SessionFold,
    held: VecDeque<Action>,
    asked: Option<ActionId>,
    called: Option<ActionId>,
}

impl Bench {
    fn new(condensing: Option<Condensing>) -> Self {
        let mut config = fixtures::config();
        config.model.context_window = 20_000;
        config.condensing = condensing.map(Box::new);
        config.limits.max_iterations = Some(u32::MAX);
        let mut bench = Self {
            facts: Vec::new(),
            fold: SessionFold::new("ses_1".into()),
            held: VecDeque::new(),
            asked: None,
            called: None,
        };
        let opened = SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config),
            program: "bench".into(),
        };
        bench.say(None, opened);
        bench
    }

    fn say(&mut self, cause: Option<ActionId>, event: impl Into<EnvironmentEvent>) {
        let at = Timestamp(self.fold.next_seq() as i64);
        let mut draft = EventDraft::new(Source::Environment, Some("agt_1".into()), event.into());
        draft.cause = cause;
        let fact = self.fold.mint(draft, at);
        let derived = self.fold.apply(&fact);
        self.facts.push(fact);
        for action in derived.actions {
            let id = action.action_id.clone();
            let kind = action.body.kind();
            let place = match kind {
                ActionKind::CallModel => &mut self.asked,
                ActionKind::CallTool => &mut self.called,
                _ => continue,
            };
            *place = Some(id.clone());
            self.held.push_back(action);
            self.held.drain(..self.held.len().saturating_sub(HELD));
            let tool_call_id = None;
            self.say(
                Some(id),
                ActionStarted {
                    kind,
                    tool_call_id,
                    due_at: None,
                },
            );
        }
    }

    fn input(&mut self, number: usize) {
        let message = UserMessage {
            message_id: MessageId::with_suffix(number),
            content: vec![ContentPart::text("Go on, please, with what is next.")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.say(None, message);
    }

    fn answer(&mut self, number: usize, stop_reason: StopReason, event: impl Into<EnvironmentEvent>) {
        let asked = self.asked.clone();
        let message_id = MessageId::with_suffix(format_args!("a{number}"));
        let model = "m".into();
        let attempt = 1;
        self.say(
            asked.clone(),
            StreamStart {
                message_id,
                model,
                attempt,
            },
        );
        self.say(asked.clone(), event);
        self.say(
            asked,
            StreamEnd {
                stop_reason,
                raw: None,
            },
        );
    }

    /// A call of a tool, with its result.
    fn round(&mut self, number: usize) {
        let tool_call_id = ToolCallId::with_suffix(number);
        let call = ToolCall {
            tool_call_id: tool_call_id.clone(),
            name: "look".into(),
            input: serde_json::json!({"path": "a"}),
            invalid: None,
        };
        self.answer(number, StopReason::ToolUse, call);
        let result = ToolResult {
            tool_call_id,
            result: vec![ContentPart::text("seen ".repeat(80))],
            is_error: false,
            status: ToolStatus::Success,
            details: None,
        };
        let called = self.called.take().expect("a call");
        self.say(Some(called), result);
    }

    /// An input, and its answer.
    fn turn(&mut self, number: usize) {
        self.input(number);
        let text = "It is done as you said. ".repeat(16);
        self.answer(number, StopReason::EndTurn, TextChunk { text });
    }
}

fn measure(name: &str, condensing: Option<Condensing>, step: impl Fn(&mut Bench, usize)) {
    let mut chosen = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .peekable();
    if chosen.peek().is_some() && !chosen.any(|word| name.contains(&word)) {
        return;
    }
    let mut bench = Bench::new(condensing);
    bench.input(0);
    if name.contains("turns") {
        bench.answer(0, StopReason::EndTurn, TextChunk { text: "Yes.".into() });
    }
    print!("{name:<28}");
    let mut times = Vec::new();
    let last = SHOWN.last().copied().unwrap_or(0);
    for number in 1..=last {
        let began = Instant::now();
        step(&mut bench, number);
        times.push(began.elapsed().as_nanos() as f64 / 1e3);
        if SHOWN.contains(&number) {
            let mut run = times.split_off(times.len() - RUN);
            let mean = run.iter().sum::<f64>() / run.len() as f64;
            run.sort_by(f64::total_cmp);
            print!("  {number}: {mean:.0} ({:.0})", run[RUN / 2]);
        }
    }
    println!();
    open(name, &bench);
}

/// The processor time of this thread, without that of others on the same machine; the elapsed time if the
/// system does not report it.
fn on_processor() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|line| line.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

/// Folds the same facts in both ways: with all derived events, as in a replay, and only for their state, as
/// when the session is opened.
fn open(name: &str, bench: &Bench) {
    let whole = best_of(|fold| {
        for fact in &bench.facts {
            black_box(fold.apply(fact));
        }
    });
    let state = best_of(|fold| bench.facts.iter().for_each(|fact| fold.advance(fact)));
    let count = bench.facts.len();
    println!(
        "{name:<28}  {count} events: {whole:.0} ms with all that follows, {state:.0} ms for the state alone"
    );
}

/// The shortest time of a fold, in milliseconds.
fn best_of(take: impl Fn(&mut SessionFold)) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..OPENINGS {
        let mut fold = SessionFold::new("ses_1".into());
        let began = on_processor();
        take(&mut fold);
        best = best.min((on_processor() - began).as_secs_f64() * 1e3);
    }
    best
}

fn main() {
    println!("µs per call at that call: mean of {RUN} (median)");
    let slides = || {
        Some(Condensing {
            at_percent: 0,
            tail: 8,
            ..Condensing::default()
        })
    };
    measure("rounds of a tool", slides(), Bench::round);
    measure("turns", slides(), Bench::turn);
    measure("rounds, sessions of before", None, Bench::round);
    measure("turns, sessions of before", None, Bench::turn);
}
