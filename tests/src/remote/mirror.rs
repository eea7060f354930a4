//! Readers of a session that reconnect by themselves, one for each way to follow it; the events that they get
//! are kept.

use std::net::SocketAddr;
use std::sync::Arc;

use agentx_remote_runtime::{ConnectOptions, RemoteRuntime};
use agentx_runtime::{Delivery, LogRows, Runtime as _, RuntimeError, SessionLog, View};
use agentx_types::SessionId;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::BOUND;
use crate::remote::{Lost, Seen, Socket, Web, Who};

/// The maximum number of times that the server may refuse to continue a reader, which would otherwise come
/// back for ever.
const PATIENCE: usize = 10_000;

/// The `seq` and index of an event.
type Place = (u64, Option<u64>);

/// The client of this project at `url`.
///
/// # Errors
/// As [`RemoteRuntime::connect`].
pub async fn remote(url: &str, who: &Who, client: &str) -> Result<RemoteRuntime, RuntimeError> {
    let who = who.key().map_or_else(Default::default, Into::into);
    let who: agentx_remote_runtime::Credentials = who;
    let mut options = ConnectOptions::new(url, who, client);
    // Connections are cut on purpose here, so reconnect without the usual pause.
    options.retry_after = std::time::Duration::from_millis(20);
    RemoteRuntime::connect(options).await
}

/// All rows of a session as a log has them.
///
/// # Panics
/// Panics if they cannot be read.
pub async fn rows_of(log: &dyn SessionLog, session: &SessionId) -> Vec<LogRows> {
    let mut pages = Vec::new();
    let mut next = Some(0);
    while let Some(after_seq) = next {
        let page = log.rows(session, after_seq, 1 << 20).await.expect("rows");
        next = page.next_after_seq;
        pages.push(page);
    }
    pages
}

/// Mirrors a session from its beginning through the client of this project.
pub fn mirror(runtime: Arc<RemoteRuntime>, session: &str, view: View, seen: Arc<Seen>) -> JoinHandle<()> {
    let session = SessionId::new(session);
    tokio::spawn(async move {
        let mut last = Place::default();
        for _ in 0..PATIENCE {
            let watched = runtime.watch(&session, whole(last), view, true).await;
            let mut subscription = match watched {
                Ok(subscription) => subscription,
                // The connection comes back by itself; a server that says no does not change its mind.
                Err(RuntimeError::Unreachable { .. }) => continue,
                Err(error) => return seen.fault(error.to_string()),
            };
            let resumed = last;
            while let Some(delivery) = subscription.next().await {
                let (place, text) = match delivery {
                    Delivery::Environment(fact) => ((fact.seq, None), text_of(&*fact)),
                    Delivery::Runtime(event) => ((event.seq, event.index.map(u64::from)), text_of(&*event)),
                    Delivery::CaughtUp(_) => continue,
                    Delivery::CutOff(_) => break,
                };
                if place > resumed {
                    seen.take(place.0, text);
                    last = place;
                }
            }
        }
        seen.fault("it was cut off again and again");
    })
}

fn text_of(event: &impl serde::Serialize) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

/// Follows a session as an event stream.
pub fn event_stream(web: Arc<Web>, session: &str, view: &'static str, seen: Arc<Seen>) -> JoinHandle<()> {
    let session = session.to_owned();
    tokio::spawn(async move {
        let mut last: Option<String> = None;
        for _ in 0..PATIENCE {
            // Whatever it was that went wrong, it is tried again: that is all that such a reader knows.
            let _ = one_stream(&web, &session, view, &seen, &mut last).await;
        }
        seen.fault("it was cut off again and again");
    })
}

async fn one_stream(
    web: &Web,
    session: &str,
    view: &str,
    seen: &Seen,
    last: &mut Option<String>,
) -> Result<(), Lost> {
    let mut stream = web.follow(session, view, last.as_deref()).await?;
    loop {
        let sent = stream.next(BOUND).await?;
        let Some(id) = sent.id else { continue };
        let seq = id
            .split('.')
            .next()
            .and_then(|seq| seq.parse().ok())
            .unwrap_or_default();
        seen.take(seq, sent.data);
        *last = Some(id);
    }
}

/// Follows a session over a WebSocket by what the protocol says alone: it subscribes after the last event
/// that is complete, and throws away what it has seen of the next one.
pub fn socket(
    address: SocketAddr,
    who: &Who,
    client: &str,
    session: &str,
    view: &'static str,
    seen: Arc<Seen>,
) -> JoinHandle<()> {
    let (who, client, session) = (who.clone(), client.to_owned(), session.to_owned());
    tokio::spawn(async move {
        let mut last = (0, None);
        for _ in 0..PATIENCE {
            let _ = one_socket(address, &who, &client, &session, view, &seen, &mut last).await;
        }
        seen.fault("it was cut off again and again");
    })
}

async fn one_socket(
    address: SocketAddr,
    who: &Who,
    client: &str,
    session: &str,
    view: &str,
    seen: &Seen,
    last: &mut Place,
) -> Result<(), Lost> {
    let mut socket = Socket::try_enter(address, who, client).await?;
    let resumed = *last;
    let wish = json!({"session_id": session, "after_seq": whole(resumed), "view": view});
    if let Err(problem) = socket.try_ask("subscribe", wish).await? {
        return Err(problem.to_string());
    }
    loop {
        let frame = socket.try_next().await?;
        let Some(place) = place_of(&frame) else { continue };
        if place > resumed {
            seen.take(place.0, frame.to_string());
            *last = place;
        }
    }
}

/// The last event of which nothing is missing: what follows from one may be cut in the middle, and comes
/// again.
fn whole((seq, index): Place) -> u64 {
    if index.is_some() { seq - 1 } else { seq }
}

fn place_of(frame: &Value) -> Option<Place> {
    Some((frame["seq"].as_u64()?, frame["index"].as_u64()))
}
