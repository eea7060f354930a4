//! The time of a step: a million chunks of text in one answer, and a long session of tool rounds. Asserts
//! nothing: `cargo bench -p agentx-agent`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads the clock and prints"
)]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::hint::black_box;
use std::time::Instant;

use agentx_agent::{Agent, StepContext, Transition, fixtures};
use agentx_types::*;

struct Bench {
    agent: Agent,
    transition: Transition,
    seq: u64,
}

impl Bench {
    fn new() -> Self {
        let config = fixtures::config();
        Self {
            agent: Agent::new("agt_1".into(), config),
            transition: Transition::default(),
            seq: 0,
        }
    }

    fn fact(
        &mut self,
        cause: Option<&ActionId>,
        event: impl Into<EnvironmentEvent>,
    ) -> Envelope<EnvironmentEvent> {
        self.seq += 1;
        let mut draft = EventDraft::new(Source::Environment, Some("agt_1".into()), event.into());
        draft.cause = cause.cloned();
        draft.into_envelope("ses_1".into(), self.seq, Timestamp(self.seq as i64))
    }

    fn step(&mut self, cause: Option<&ActionId>, event: impl Into<EnvironmentEvent>) {
        let fact = self.fact(cause, event);
        self.transition = self.agent.step(&fact, &StepContext::default());
    }

    fn say(&mut self, text: &str) {
        self.step(
            None,
            UserMessage {
                message_id: text.into(),
                content: vec![ContentPart::text(text)],
                mode: InputMode::Queue,
                idempotency_key: None,
                by: None,
                answer_schema: None,
            },
        );
    }

    /// The last requested action.
    fn wanted(&self) -> ActionId {
        self.transition.actions.last().unwrap().action_id.clone()
    }

    fn begin_stream(&mut self, asked: &ActionId) {
        self.step(
            Some(asked),
            StreamStart {
                message_id: "msg_a".into(),
                model: "m".into(),
                attempt: 1,
            },
        );
    }
}

fn chunks(count: u32) -> f64 {
    let mut bench = Bench::new();
    bench.say("go");
    let asked = bench.wanted();
    bench.begin_stream(&asked);
    let chunk = bench.fact(Some(&asked), TextChunk { text: "word ".into() });
    let start = Instant::now();
    for _ in 0..count {
        black_box(bench.agent.step(&chunk, &StepContext::default()));
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

fn rounds(count: u32) -> f64 {
    let mut bench = Bench::new();
    bench.say("go");
    let start = Instant::now();
    for round in 0..count {
        let asked = bench.wanted();
        bench.begin_stream(&asked);
        let id = ToolCallId::with_suffix(round);
        let input = serde_json::json!({"path": "a"});
        bench.step(
            Some(&asked),
            ToolCall {
                tool_call_id: id.clone(),
                name: "look".into(),
                input,
                invalid: None,
            },
        );
        bench.step(
            Some(&asked),
            StreamEnd {
                stop_reason: StopReason::ToolUse,
                raw: None,
            },
        );
        let called = bench.wanted();
        let result = vec![ContentPart::text("seen")];
        bench.step(
            Some(&called),
            ToolResult {
                tool_call_id: id,
                result,
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            },
        );
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

fn main() {
    for count in [10_000, 100_000, 1_000_000] {
        println!(
            "{count:>9} chunks of one answer: {:>7.1} ns a step",
            chunks(count)
        );
    }
    for count in [100, 1_000] {
        println!(
            "{count:>9} rounds of one tool:    {:>7.1} us a round",
            rounds(count) / 1e3
        );
    }
}
