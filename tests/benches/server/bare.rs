//! The baseline of the fan-out: axum and a tokio broadcast channel, nothing else. It sends the same bytes, at
//! the same rate, and flushes as the server does: it writes everything that is available, then flushes once.

use std::time::{SystemTime, UNIX_EPOCH};

use agentx::types::*;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use futures_util::SinkExt as _;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::pace::{Pace, Stream};

/// As many frames may wait as the server lets wait for one reader.
const CAPACITY: usize = 4096;

/// The process that serves: `rate count bytes threads`. It streams once a line comes.
pub(crate) fn serve(args: &[String]) {
    let number = |index: usize| args[index].parse::<u64>().expect("a number");
    let stream = Stream {
        rate: number(0),
        count: number(1),
        bytes: usize::try_from(number(2)).expect("a size"),
    };
    crate::process::runtime(args[3].parse().expect("threads")).block_on(broadcast_all(stream));
}

async fn broadcast_all(stream: Stream) {
    let (sender, _) = broadcast::channel::<Utf8Bytes>(CAPACITY);
    let app = Router::new().route("/", get(upgrade)).with_state(sender.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    println!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut orders = crate::process::orders();
    orders.recv().await;
    let mut pace = Pace::new(stream.rate, stream.count);
    let mut frames = Frames::new(stream);
    while let Some(due) = pace.due().await {
        for _ in 0..due {
            let _ = sender.send(frames.next());
        }
    }
    std::future::pending::<()>().await;
}

async fn upgrade(
    State(sender): State<broadcast::Sender<Utf8Bytes>>,
    upgrade: WebSocketUpgrade,
) -> axum::response::Response {
    let events = sender.subscribe();
    upgrade
        .protocols(["agentx.v1"])
        .on_upgrade(move |socket| send_all(socket, events))
}

async fn send_all(mut socket: WebSocket, mut events: broadcast::Receiver<Utf8Bytes>) {
    loop {
        let mut next = match events.recv().await {
            Ok(frame) => Some(frame),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return,
        };
        while let Some(frame) = next {
            if socket.feed(Message::Text(frame)).await.is_err() {
                return;
            }
            next = events.try_recv().ok();
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}

/// The frames that the server would send, each made as it makes them.
struct Frames {
    draft: EventDraft<EnvironmentEvent>,
    session: SessionId,
    seq: u64,
}

impl Frames {
    fn new(stream: Stream) -> Self {
        Self {
            draft: EventDraft {
                source: Source::Environment,
                agent_state_id: Some(AgentStateId::new("agt_0123456789ab")),
                run_id: Some(RunId::new("run_4")),
                cause: Some(ActionId::new("act_4_0")),
                event: stream.delta().into(),
            },
            session: SessionId::new("ses_0123456789ab"),
            seq: 10,
        }
    }

    fn next(&mut self) -> Utf8Bytes {
        self.seq += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = Timestamp(i64::try_from(now.as_micros()).unwrap_or(i64::MAX));
        let envelope = self
            .draft
            .clone()
            .into_envelope(self.session.clone(), self.seq, at);
        Utf8Bytes::from(serde_json::to_string(&envelope).expect("a frame"))
    }
}
