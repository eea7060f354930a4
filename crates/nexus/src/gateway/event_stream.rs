//! The events of a session, read from the server's own stream.

use agentx_types::{Envelope, UiEvent};
use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::frames::sse::{StreamedEvent, StreamedEvents};

/// A stream of events of the view `ui`.
pub(crate) struct NexusEventStream {
    body: BodyDataStream,
    events: StreamedEvents,
}

/// The next piece of news of a stream.
#[derive(Debug)]
pub(crate) enum StreamNews {
    /// An event.
    Event(Box<Envelope<UiEvent>>),
    /// Nothing happened; the stream goes on.
    Alive,
    /// The stream is over, for this reason.
    Over(String),
}

impl NexusEventStream {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body: body.into_data_stream(),
            events: StreamedEvents::default(),
        }
    }

    /// Returns the next piece of news. A call that is dropped loses nothing.
    pub(crate) async fn next_news(&mut self) -> StreamNews {
        loop {
            while let Some(event) = self.events.next_event() {
                if let Some(news) = news_of(&event) {
                    return news;
                }
            }
            match self.body.next().await {
                Some(Ok(piece)) => self.events.push(&piece),
                Some(Err(error)) => return StreamNews::Over(error.to_string()),
                None => return StreamNews::Over("the stream of the session ended".into()),
            }
        }
    }
}

/// Returns the news in an event; `None` if it is about the server's own protocol.
fn news_of(event: &StreamedEvent) -> Option<StreamNews> {
    let reason = || {
        let notice: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let payload = &notice["payload"];
        let said = payload["reason"]
            .as_str()
            .or(payload["problem"]["detail"].as_str());
        said.unwrap_or("the stream of the session ended").to_owned()
    };
    match event.event.as_str() {
        "ping" => Some(StreamNews::Alive),
        "bye" | "unsubscribed" => Some(StreamNews::Over(reason())),
        "caught_up" | "connection_state" => None,
        _ => match serde_json::from_str(&event.data) {
            Ok(event) => Some(StreamNews::Event(Box::new(event))),
            Err(error) => {
                tracing::warn!(%error, tag = event.event, "an event of a stream cannot be read");
                None
            }
        },
    }
}
