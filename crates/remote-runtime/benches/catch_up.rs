//! The time of a mirror that starts 100,000 events behind, compared with a client that only reads the same
//! bytes, and the cost of reading and folding them alone. It prints figures and asserts nothing. The server
//! sends bytes that were encoded before.
//!
//! `cargo bench -p agentx-remote-runtime`
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a benchmark that cannot measure stops"
)]

use std::sync::Arc;
use std::time::Instant;

use agentx_remote_runtime::{ConnectOptions, Credentials, RemoteRuntime, incoming};
use agentx_runtime::{Delivery, Fact, Runtime as _, SessionFold, View};
use agentx_testing::{LogBuilder, fixture};
use agentx_types::wire::{
    Accepted, ClientFrame, ClientRequest, Hello, PROTOCOL, Person, SUBPROTOCOL, ServerNotice, Subscribed,
    WireView,
};
use agentx_types::{OwnerId, SessionRole, StopReason, TextChunk, VISITORS};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

const EVENTS: usize = 100_000;
/// Deltas of one answer.
const DELTAS: usize = 45;
/// The number of measurements of each.
const RUNS: usize = 9;

type Frames = Arc<Vec<String>>;

fn main() {
    let facts = facts();
    let frames: Frames = Arc::new(
        facts
            .iter()
            .map(|fact| serde_json::to_string(&**fact).unwrap())
            .collect(),
    );
    let bytes: usize = frames.iter().map(String::len).sum();
    println!("{} events, {} KiB", frames.len(), bytes / 1024);
    let address = serve(frames.clone());

    let read = median(|| {
        frames
            .iter()
            .filter(|frame| incoming::read(frame).is_err())
            .count()
    });
    println!("reading the frames alone: {read:.0} ms");
    let fold = median(|| fold(&facts, false));
    println!(
        "folding the facts alone: {fold:.0} ms; with what follows from them: {:.0} ms",
        median(|| self::fold(&facts, true))
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let bare = median(|| runtime.block_on(bare(&address)));
    println!("a client that only reads: {bare:.0} ms");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for view in [View::Environment, View::Runtime] {
        let ms = median(|| runtime.block_on(mirror(&address, view)));
        println!(
            "a mirror, view {view:?}: {ms:.0} ms, {:.1} of the client that only reads",
            ms / bare
        );
    }
}

fn facts() -> Vec<Fact> {
    let mut log = LogBuilder::opened(fixture::config());
    let words = || {
        (0..DELTAS).map(|number| TextChunk {
            text: format!("word{number} "),
        })
    };
    for _ in 0..EVENTS / (DELTAS + 4) {
        log = log.user("a question").stream(StopReason::EndTurn, words());
    }
    log.build()
}

fn fold(facts: &[Fact], whole: bool) -> usize {
    let mut fold = SessionFold::new(fixture::session_id());
    let mut count = 0;
    for fact in facts {
        if whole {
            count += fold.apply(fact).events.len()
        } else {
            fold.advance(fact)
        }
    }
    count
}

/// The median of its time, in milliseconds.
fn median<T>(mut what: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begin = Instant::now();
            std::hint::black_box(what());
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

async fn mirror(address: &str, view: View) {
    let mut options = ConnectOptions::new(address, Credentials::Visitor, "bench");
    options.allow_plain_http = true;
    let runtime = RemoteRuntime::connect(options).await.unwrap();
    let mut events = runtime
        .watch(&fixture::session_id(), 0, view, false)
        .await
        .unwrap();
    let mut last = None;
    while let Some(delivery) = events.next().await {
        last = Some(delivery);
    }
    assert!(matches!(last, Some(Delivery::CaughtUp(_))), "{last:?}");
    runtime.close().await;
}

async fn bare(address: &str) {
    let mut request = format!("ws://{address}/v1/socket").into_client_request().unwrap();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let frames = [
        r#"{"type":"authenticate","id":"a","payload":{"client":"bench"}}"#,
        r#"{"type":"subscribe","id":"s","payload":{"session_id":"ses_test"}}"#,
    ];
    for frame in frames {
        socket
            .send(tokio_tungstenite::tungstenite::Message::text(frame))
            .await
            .unwrap();
    }
    let mut bytes = 0;
    loop {
        let message = socket.next().await.unwrap().unwrap();
        bytes += message.len();
        if message.to_text().unwrap().contains("\"caught_up\"") {
            break;
        }
    }
    std::hint::black_box(bytes);
}

fn serve(frames: Frames) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let app = Router::new()
                .route("/v1/me", get(me))
                .route("/v1/socket", get(socket))
                .with_state(frames);
            axum::serve(listener, app).await.unwrap();
        });
    });
    address
}

async fn me() -> Json<Person> {
    Json(Person {
        person: OwnerId::new(VISITORS),
        name: None,
        visitor: true,
    })
}

async fn socket(State(frames): State<Frames>, upgrade: WebSocketUpgrade) -> axum::response::Response {
    upgrade
        .protocols([SUBPROTOCOL])
        .on_upgrade(async move |socket| drop(talk(socket, frames).await))
}

fn notice(notice: impl Into<ServerNotice>) -> Message {
    Message::text(serde_json::to_string(&notice.into()).unwrap())
}

async fn talk(mut socket: WebSocket, frames: Frames) -> Result<(), axum::Error> {
    let hello = Hello {
        protocol: PROTOCOL,
        server: "bench".into(),
        nonce: "once".into(),
        origin: "http://bench".into(),
        expires_at_ms: 1,
        proof: None,
        visitors: true,
        heartbeat_ms: 15_000,
    };
    socket.send(notice(hello)).await?;
    while let Some(message) = socket.recv().await {
        let Message::Text(text) = message? else { continue };
        let frame: ClientFrame = serde_json::from_str(&text).unwrap();
        let accepted = Accepted {
            id: frame.id,
            seq: None,
            result: Value::Null,
        };
        let ClientRequest::Subscribe(request) = frame.request else {
            socket.send(notice(accepted)).await?;
            continue;
        };
        let head_seq = frames.len() as u64;
        let subscribed = Subscribed {
            session_id: request.session_id.clone(),
            view: WireView::Environment,
            after_seq: request.after_seq,
            head_seq,
            role: SessionRole::Watch,
        };
        socket.feed(notice(subscribed)).await?;
        for frame in frames.iter().skip(usize::try_from(request.after_seq).unwrap()) {
            socket.feed(Message::text(frame.as_str())).await?;
        }
        let caught_up = agentx_types::wire::CaughtUp {
            session_id: request.session_id,
            seq: head_seq,
        };
        socket.send(notice(caught_up)).await?;
    }
    Ok(())
}
