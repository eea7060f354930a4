//! Reactors that only listen: one that writes a line for each event, and one that counts the outcomes of
//! runs.
//!
//! Both lose events rather than delay anybody: one that is [`BEHIND`] ignores the oldest. So the figures of a
//! very busy runtime may be too low; bills are made from the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_bus::{BusDelivery, Filter, Listener, Queue, Reactor, Routed as _};
use agentx_types::{RunStatus, RuntimeEvent};

use crate::reactors::system_bus::SystemBus;
use crate::system_events::SystemEvent;

/// Events that a listener may be behind; then the oldest are ignored.
const BEHIND: usize = 4_096;

/// Returns whether the lines of [`event_logger`] are written: `tracing` has the level `debug` enabled for
/// this module.
pub fn logs_events() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

/// Writes one line for each event at the level `debug`: its type and the ids in its envelope. The content is
/// left out, so that no secret gets into a log.
pub fn event_logger() -> impl Reactor<SystemBus> {
    Listener::new(
        "event logger",
        Filter::all(),
        Queue::lag(BEHIND),
        |_: SystemBus, delivery| async move {
            match delivery {
                BusDelivery::Event(event) => write(&event),
                BusDelivery::Lagged(missed) => tracing::debug!(missed, "events were passed over"),
            }
        },
    )
}

/// Writes one line with the kind of the event and the ids that it belongs to, as fields.
fn write(event: &SystemEvent) {
    let seq = match event {
        SystemEvent::Environment(fact) => Some(fact.seq),
        SystemEvent::Runtime(event) => Some(event.seq),
        SystemEvent::Action(..) | SystemEvent::Transport(_) => None,
    };
    tracing::debug!(
        event = event.event_type(),
        topic = event.topic(),
        session = event.session(),
        agent = event.agent_state(),
        run = event.run(),
        seq,
        "event"
    );
}

/// Results of the runs of a runtime since it began, counted by [`run_counter`]. They begin at 0 with the
/// process, and earlier runs of resumed sessions do not count.
#[derive(Debug, Default)]
pub struct RunCounts {
    /// Runs that ended with an answer.
    completed: AtomicU64,
    /// Runs that ended otherwise: stopped, failed, or at a limit.
    unfinished: AtomicU64,
    /// Calls of tools that worked.
    tool_calls: AtomicU64,
    /// Calls of tools that failed, were refused or were stopped.
    failed_tool_calls: AtomicU64,
    /// Calls of models in runs that have ended.
    model_calls: AtomicU64,
    /// Tokens that models read in those runs.
    input_tokens: AtomicU64,
    /// Tokens that models wrote in those runs.
    output_tokens: AtomicU64,
}

impl RunCounts {
    /// Each figure: its name, its meaning and its value. All of them only increase.
    pub fn figures(&self) -> [(&'static str, &'static str, u64); 7] {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            (
                "runs_completed_total",
                "Runs that ended with an answer.",
                now(&self.completed),
            ),
            (
                "runs_unfinished_total",
                "Runs that were stopped, failed, or ended at a limit.",
                now(&self.unfinished),
            ),
            (
                "model_calls_total",
                "Calls of models in runs that have ended.",
                now(&self.model_calls),
            ),
            (
                "input_tokens_total",
                "Tokens that models read in runs that have ended.",
                now(&self.input_tokens),
            ),
            (
                "output_tokens_total",
                "Tokens that models wrote in runs that have ended.",
                now(&self.output_tokens),
            ),
            (
                "tool_calls_total",
                "Calls of tools that worked.",
                now(&self.tool_calls),
            ),
            (
                "tool_calls_failed_total",
                "Calls of tools that failed, were refused or were stopped.",
                now(&self.failed_tool_calls),
            ),
        ]
    }

    /// Counts an event in. Tokens and calls of models come with `turn_response`, which has the sum of a run.
    fn count(&self, event: &RuntimeEvent) {
        let add = |count: &AtomicU64, more: u64| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        match event {
            RuntimeEvent::RunFinished(finished) if finished.status == RunStatus::Completed => {
                add(&self.completed, 1);
            }
            RuntimeEvent::RunFinished(_) => add(&self.unfinished, 1),
            RuntimeEvent::TurnResponse(turn) => {
                add(&self.model_calls, turn.model_calls.into());
                add(&self.input_tokens, turn.usage.input_tokens);
                add(&self.output_tokens, turn.usage.output_tokens);
            }
            RuntimeEvent::ToolCompleted(_) => add(&self.tool_calls, 1),
            RuntimeEvent::ToolFailed(_) => add(&self.failed_tool_calls, 1),
            _ => {}
        }
    }
}

/// Counts the outcomes of a runtime's runs into `counts`. Attach it once: each copy counts every run.
pub fn run_counter(counts: Arc<RunCounts>) -> impl Reactor<SystemBus> {
    let counted = ["run_finished", "turn_response", "tool_completed", "tool_failed"];
    let filter = counted
        .iter()
        .fold(Filter::all(), |filter, name| filter.event_type(name));
    Listener::new(
        "run counter",
        filter,
        Queue::lag(BEHIND),
        move |_: SystemBus, delivery| {
            let counts = counts.clone();
            async move {
                if let Some(event) = delivery.into_event()
                    && let SystemEvent::Runtime(event) = event.as_ref()
                {
                    counts.count(&event.event);
                }
            }
        },
    )
}
