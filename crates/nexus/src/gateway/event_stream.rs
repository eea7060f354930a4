//! The events of a session, read from the server's own stream.

use agentx_types::{Envelope, OwnerId, RunId, RuntimeEvent};
use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::frames::run_of_input;
use crate::frames::sse::{StreamedEvent, StreamedEvents};
use crate::frames::ui_frames::{NexusFrame, NexusTranslator};

/// The query of a stream with everything that becomes frames: neither thinking nor media of scripts.
pub(super) const QUERY: &str = "view=runtime&media=text,tool";

/// A stream of the frames of a conversation.
pub(crate) struct NexusEventStream {
    body: BodyDataStream,
    events: StreamedEvents,
    translator: NexusTranslator,
}

/// The next piece of news of a stream.
#[derive(Debug)]
pub(crate) enum StreamNews {
    /// A frame.
    Frame(Box<NexusFrame>),
    /// A waiting input was taken back, so this run will not begin.
    TakenBack(RunId),
    /// Nothing happened; the stream continues.
    Alive,
    /// The stream is over, for this reason.
    Over(String),
}

impl NexusEventStream {
    pub(super) fn new(body: Body, owner: OwnerId) -> Self {
        Self {
            body: body.into_data_stream(),
            events: StreamedEvents::default(),
            translator: NexusTranslator::new(owner),
        }
    }

    /// Returns the next piece of news. A call that is dropped loses nothing.
    pub(crate) async fn next_news(&mut self) -> StreamNews {
        loop {
            while let Some(event) = self.events.next_event() {
                if let Some(news) = self.news_of(&event) {
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

    /// Returns the news in an event; `None` if there is none for a client.
    fn news_of(&mut self, event: &StreamedEvent) -> Option<StreamNews> {
        match event.event.as_str() {
            "ping" => Some(StreamNews::Alive),
            "bye" | "unsubscribed" => Some(StreamNews::Over(reason_in(&event.data))),
            "caught_up" => None,
            _ => match serde_json::from_str::<Envelope<RuntimeEvent>>(&event.data) {
                Ok(event) => match &event.event {
                    RuntimeEvent::ConversationRevised(revised) if revised.mode.is_none() => {
                        run_of_input(&revised.message_id).map(StreamNews::TakenBack)
                    }
                    _ => {
                        let frame = self.translator.next_frame(&event)?;
                        Some(StreamNews::Frame(Box::new(frame)))
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, tag = event.event, "an event of a stream cannot be read");
                    None
                }
            },
        }
    }
}

/// Returns the reason in a notice about the end of a stream.
fn reason_in(notice: &str) -> String {
    let notice: Value = serde_json::from_str(notice).unwrap_or_default();
    let payload = &notice["payload"];
    let said = payload["reason"]
        .as_str()
        .or(payload["problem"]["detail"].as_str());
    said.unwrap_or("the stream of the session ended").to_owned()
}
