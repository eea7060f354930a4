//! Splits one session into many streams: one for each agent, each medium, or both.
//!
//! The outputs of agents ([`StreamEvent`]) follow only from RuntimeEvents ([`StreamFold`]), so a remote, a
//! watched and a replayed session have the same streams. [`Streams`] reads the session once for all of them.
//! Each stream has its own bound and [`SlowReaderPolicy`], and can be opened before or after its agent
//! exists, and from any `seq`; a slow reader delays nobody.
//!
//! ```
//! use std::sync::Arc;
//!
//! use agentx_runtime::streams::{SlowReaderPolicy, Select, StreamBody, session_streams};
//! use agentx_runtime::{RuntimeError, Session};
//! use agentx_types::Medium;
//!
//! async fn listen(session: Arc<dyn Session>) -> Result<(), RuntimeError> {
//!     let streams = session_streams(session, 0).await?;
//!     // Every word of every agent; and what a narrator says aloud, as soon as there is one.
//!     let mut words = streams.open(Select::all().medium(Medium::Text), SlowReaderPolicy::Lossless(256));
//!     let mut voice = streams.open(Select::named("narrator").medium(Medium::Audio), SlowReaderPolicy::Latest(8));
//!     tokio::spawn(async move { while voice.next().await.is_some() {} });
//!     while let Some(event) = words.next().await {
//!         if let StreamBody::Chunk(chunk) = &event.body {
//!             println!("{} ({}): {}", event.agent_def, event.phase.as_str(), chunk.text);
//!         }
//!     }
//!     Ok(())
//! }
//! ```

mod event;
mod fold;
mod hub;
mod queue;
mod reader;
mod select;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use agentx_types::AgentStateId;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use event::{Phase, StreamBody, StreamChunk, StreamEnd, StreamEvent, ToolEnd};
pub use fold::{AgentEntry, StreamFold};
pub use reader::AgentStream;
pub use select::{Select, SlowReaderPolicy, StreamStart};

use crate::api::{RuntimeError, Session};
pub use crate::follow::StreamSource;
use crate::follow::{Follower, SubscriptionSource, written};
use agentx_session::{EventCursor, View};
use hub::{StreamHub, StreamPump};
use queue::StreamSlot;
use reader::CatchUp;

/// The streams of a session that this process has open, from after `after_seq`.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn session_streams(session: Arc<dyn Session>, after_seq: u64) -> Result<Streams, RuntimeError> {
    Streams::of(written(session, View::Runtime), after_seq).await
}

/// A multiplexer that splits one session into streams. Clones refer to the same multiplexer, which stops
/// reading when they and all streams are dropped.
#[derive(Clone)]
pub struct Streams {
    shared: Arc<StreamsShared>,
}

/// The state that the handles and the readers share.
struct StreamsShared {
    hub: Arc<StreamHub>,
    /// The source from which streams with slow readers read the session again.
    source: Arc<dyn StreamSource>,
    _stop: DropGuard,
}

impl StreamsShared {
    /// The session, read again from after a place.
    fn follow(&self, known: EventCursor) -> Follower<SubscriptionSource> {
        SubscriptionSource::to(self.source.clone()).follow(View::Runtime, known)
    }
}

impl Streams {
    /// The streams of a session, from after `after_seq`. When it returns, all existing agents are known. It
    /// reads the session once from its beginning to learn the names and activities of agents.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn of(source: Arc<dyn StreamSource>, after_seq: u64) -> Result<Self, RuntimeError> {
        let mut follower =
            SubscriptionSource::to(source.clone()).follow(View::Runtime, EventCursor::after(0));
        follower.begin().await?;
        let hub = Arc::new(StreamHub::new(after_seq));
        let stop = CancellationToken::new();
        let (ready, is_ready) = oneshot::channel();
        let pump = StreamPump {
            hub: hub.clone(),
            follower,
            stop: stop.clone(),
            ready: Some(ready),
        };
        let shared = Arc::new(StreamsShared {
            hub,
            source,
            _stop: stop.drop_guard(),
        });
        tokio::spawn(pump.run());
        // It signals this by dropping its sender.
        let _ = is_ready.await;
        Ok(Self { shared })
    }

    /// Opens a stream from the beginning of these streams.
    pub fn open(&self, select: Select, policy: SlowReaderPolicy) -> AgentStream {
        self.open_from(select, policy, StreamStart::Start)
    }

    /// Opens a stream from any place. Earlier events are read from the log, only for this stream, until it
    /// has caught up with the others.
    pub fn open_from(&self, select: Select, policy: SlowReaderPolicy, from: StreamStart) -> AgentStream {
        let slot = Arc::new(StreamSlot::new(select, policy));
        let mut state = self.shared.hub.lock();
        let (known, wanted) = match from {
            StreamStart::Now => (state.place, state.place),
            StreamStart::Start => (state.begin, state.begin),
            StreamStart::After(seq) => (EventCursor::after(seq), EventCursor::after(seq)),
        };
        let behind = state.join(&slot, known).is_err().then(|| {
            let (fold, known) = match &state.at_begin {
                (fold, at) if *at <= wanted => (fold.clone(), *at),
                _ => (StreamFold::default(), EventCursor::after(0)),
            };
            Box::new(CatchUp {
                fold,
                follower: self.shared.follow(known),
                from: wanted,
            })
        });
        drop(state);
        AgentStream {
            shared: self.shared.clone(),
            slot,
            behind,
            ended: None,
        }
    }

    /// The agents that there are, in the order in which they came, and those that are gone.
    pub fn agents(&self) -> Vec<AgentEntry> {
        self.shared.hub.lock().fold.agents().collect()
    }

    /// The existing agents with this name.
    pub fn named(&self, name: &str) -> Vec<AgentStateId> {
        let mut agents = self.agents();
        agents.retain(|agent| !agent.closed && &*agent.name == name);
        agents.into_iter().map(|agent| agent.agent_state_id).collect()
    }
}
