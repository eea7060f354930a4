//! The source of the streams: deltas at a fixed rate, the same for the server and for its baseline.

use std::sync::Arc;
use std::time::Duration;

use agentx::runtime::{BoxFuture, Effector, EventSink};
use agentx::types::*;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Gives out what is due, also after a late wake-up: the requested item is a rate, not a distance.
pub(crate) struct Pace {
    began: Instant,
    rate: u64,
    count: u64,
    given: u64,
    tick: tokio::time::Interval,
}

impl Pace {
    /// `count` in all, `rate` a second.
    pub(crate) fn new(rate: u64, count: u64) -> Self {
        let micros = (1_000_000 / rate.max(1)).max(1_000);
        let mut tick = interval(Duration::from_micros(micros));
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            began: Instant::now(),
            rate,
            count,
            given: 0,
            tick,
        }
    }

    /// Waits until something is due and says how many; `None` at the end.
    pub(crate) async fn due(&mut self) -> Option<u64> {
        while self.given < self.count {
            self.tick.tick().await;
            let so_far = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
            let wanted = (so_far.saturating_mul(self.rate) / 1_000_000).min(self.count);
            if wanted > self.given {
                return Some(wanted - std::mem::replace(&mut self.given, wanted));
            }
        }
        None
    }
}

/// The stream to produce, as the text of a message describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// Deltas a second.
    pub(crate) rate: u64,
    /// The total number.
    pub(crate) count: u64,
    /// Bytes of each.
    pub(crate) bytes: usize,
}

impl Stream {
    /// The message that asks for it.
    pub(crate) fn words(self) -> String {
        format!("stream {} {} {}", self.rate, self.count, self.bytes)
    }

    fn read(words: &str) -> Option<Self> {
        let mut numbers = words.strip_prefix("stream ")?.split(' ').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            rate: next()?,
            count: next()?,
            bytes: usize::try_from(next()?).ok()?,
        })
    }

    /// One delta.
    pub(crate) fn delta(self) -> TextChunk {
        TextChunk {
            text: "words "
                .repeat(self.bytes.div_ceil(6))
                .chars()
                .take(self.bytes)
                .collect(),
        }
    }
}

/// A model that streams as the last message says; it answers anything else with one word.
pub(crate) struct PacedModel;

impl Effector for PacedModel {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                return;
            };
            let last = call.request.messages.last().map(|message| message.text());
            let stream = last
                .and_then(|words| Stream::read(words.trim()))
                .unwrap_or(Stream {
                    rate: 1_000,
                    count: 1,
                    bytes: 6,
                });
            let start = StreamStart {
                message_id: MessageId::with_suffix(action.action_id.as_str()),
                model: call.request.model.id.clone(),
                attempt: 1,
            };
            events.emit(start).await;
            let stop_reason = speak(stream, &events, &cancel).await;
            let usage = UsageReport {
                usage: Usage {
                    input_tokens: 10,
                    output_tokens: stream.count,
                    ..Usage::default()
                },
            };
            let end = StreamEnd {
                stop_reason,
                raw: None,
            };
            events.emit_all(vec![usage.into(), end.into()]).await;
        })
    }
}

async fn speak(stream: Stream, events: &EventSink, cancel: &CancellationToken) -> StopReason {
    let mut pace = Pace::new(stream.rate, stream.count);
    let delta: EnvironmentEvent = stream.delta().into();
    loop {
        let due = tokio::select! {
            biased;
            () = cancel.cancelled() => return StopReason::Interrupted,
            due = pace.due() => due,
        };
        let Some(due) = due else {
            return StopReason::EndTurn;
        };
        let said = (0..due).map(|_| delta.clone()).collect();
        if !events.emit_all(said).await {
            return StopReason::Interrupted;
        }
    }
}
