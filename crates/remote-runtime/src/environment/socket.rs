//! The socket: dialling it, and its incoming events.
//!
//! Frames are at most 64 MiB, which is more than a server sends; a larger one ends the connection. A frame
//! that cannot be sent within 10 seconds, because the other side does not read, ends it too. Up to 512 frames
//! or a megabyte are taken together, so that a session that streams does not keep requests waiting.
//!
//! Text frames are parsed ([`incoming::read`]). The library answers pings; they count as a sign of life, like
//! every frame.

use std::time::Duration;

use agentx_identity::Binding;
use agentx_runtime::BoxFuture;
use agentx_types::wire::{ClientFrame, NONCE_HEADER, Problem, SUBPROTOCOL};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use crate::http_failure::tls_was_cut;
use crate::incoming::{self, IncomingFrame};
use crate::peer::{DialError, Peer, new_nonce};

/// The largest frame that is read. The largest event of a server is smaller.
const FRAME_BYTES: usize = 64 << 20;
/// The number of frames that are read before anything else is handled.
const AT_ONCE: usize = 512;
/// The number of bytes after which no further frame is taken at once.
const BYTES_AT_ONCE: usize = 1 << 20;
/// The maximum time to send a frame.
const SEND: Duration = Duration::from_secs(10);
/// The maximum time for a good-bye.
const CLOSE: Duration = Duration::from_secs(1);

/// Makes connections to one server.
#[derive(Clone)]
pub(super) struct Dialler {
    peer: Peer,
}

/// The reason why there is no connection.
pub(super) struct DialFailed {
    pub(super) why: String,
    /// Whether another attempt would fail in the same way.
    pub(super) for_good: bool,
}

impl Dialler {
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer }
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Opens a connection. The caller has to limit the time.
    async fn dial(self) -> Result<Socket, DialFailed> {
        let failed = |error: Error| failed(&self.peer, &error);
        let nonce = new_nonce().map_err(|why| DialFailed { why, for_good: false })?;
        let address = self.peer.dialled().socket();
        let mut request = address.as_str().into_client_request().map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("agentx/", env!("CARGO_PKG_VERSION"))),
        );
        if let Ok(nonce) = HeaderValue::from_str(&nonce) {
            headers.insert(NONCE_HEADER, nonce);
        }
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(FRAME_BYTES);
        config.max_frame_size = Some(FRAME_BYTES);
        let connector = self
            .peer
            .tls()
            .cloned()
            .map_or(Connector::Plain, Connector::Rustls);
        let made = connect_async_tls_with_config(request, Some(config), true, Some(connector)).await;
        let (stream, _) = made.map_err(failed)?;
        Ok(Socket { stream, nonce })
    }
}

/// The words for a refusal at the door: an alert of TLS does not say which limit was reached.
const NO_ROOM: &str = "the server has no room for another connection, or not for one from your address";

/// Returns whether it is worth dialling again, by how it failed.
fn failed(peer: &Peer, error: &Error) -> DialFailed {
    match peer.trouble(error) {
        Some(DialError::Refused(why)) => return DialFailed { why, for_good: true },
        Some(DialError::Full) => {
            let why = NO_ROOM.into();
            return DialFailed { why, for_good: false };
        }
        None => {}
    }
    let Error::Http(response) = error else {
        // A server with another protocol or version will not change.
        let for_good = match error {
            Error::Url(_) => true,
            Error::Protocol(error) => is_something_else(error),
            _ => false,
        };
        let mut why = error.to_string();
        if tls_was_cut(&why) {
            why = "the connection broke".into();
        }
        return DialFailed { why, for_good };
    };
    let status = response.status();
    let problem = response
        .body()
        .as_deref()
        .and_then(|body| serde_json::from_slice::<Problem>(body).ok());
    let retry = problem
        .as_ref()
        .is_some_and(|problem| problem.retry_after_ms.is_some());
    DialFailed {
        why: problem.map_or_else(
            || format!("it answered with status {status}"),
            |problem| problem.detail,
        ),
        for_good: !retry && !status.is_server_error() && !matches!(status.as_u16(), 408 | 425 | 429),
    }
}

/// Returns whether the other side is not an AgentX server.
fn is_something_else(error: &ProtocolError) -> bool {
    matches!(
        error,
        ProtocolError::MissingUpgradeWebSocketHeader
            | ProtocolError::MissingConnectionUpgradeHeader
            | ProtocolError::SecWebSocketAcceptKeyMismatch
            | ProtocolError::SecWebSocketSubProtocolError(_)
    )
}

/// A WebSocket to the server, with the nonce that was sent for the proof of its key.
pub(super) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The nonce that the server signs to prove its key.
    nonce: String,
}

pub(super) enum SocketEvent {
    Frame(Result<IncomingFrame, String>),
    /// A sign of life.
    Sign,
    /// The end, with the reason from the server or the system. Nothing follows.
    Closed(String),
}

impl Socket {
    /// Returns the nonce that the server has to sign.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    /// The keying material of this connection; `None` if it has no TLS.
    pub(super) fn exported(&self) -> Result<Option<[u8; 32]>, String> {
        let MaybeTlsStream::Rustls(stream) = self.stream.get_ref() else {
            return Ok(None);
        };
        let label = Binding::EXPORTER_LABEL.as_bytes();
        let exported = stream.get_ref().1.export_keying_material([0; 32], label, None);
        exported.map(Some).map_err(|error| error.to_string())
    }

    /// Returns the next event, and all others that have already come.
    async fn next(&mut self) -> Vec<SocketEvent> {
        let first = self.stream.next().await;
        let mut bytes = size(&first);
        let mut came = vec![read(first)];
        while came.len() < AT_ONCE
            && bytes < BYTES_AT_ONCE
            && !matches!(came.last(), Some(SocketEvent::Closed(_)))
        {
            let Some(message) = self.stream.next().now_or_never() else {
                break;
            };
            bytes += size(&message);
            came.push(read(message));
        }
        came
    }

    /// Sends frames, all or none of the last one.
    pub(super) async fn send(&mut self, frames: Vec<ClientFrame>) -> Result<(), String> {
        let sending = async {
            for frame in frames {
                let text = serde_json::to_string(&frame).map_err(|error| error.to_string())?;
                self.stream
                    .feed(Message::text(text))
                    .await
                    .map_err(|error| error.to_string())?;
            }
            self.stream.flush().await.map_err(|error| error.to_string())
        };
        let sent = timeout(SEND, sending).await;
        sent.unwrap_or_else(|_| Err(format!("it read nothing for {} seconds", SEND.as_secs())))
    }

    /// Closes the connection properly, within a second, and drops it.
    pub(super) async fn close(mut self) {
        let _ = timeout(CLOSE, self.stream.close(None)).await;
    }
}

/// The size of a message, in bytes.
fn size(message: &Option<Result<Message, Error>>) -> usize {
    message
        .as_ref()
        .map_or(0, |message| message.as_ref().map_or(0, Message::len))
}

/// Converts a message into an event. Our protocol has no binary frames.
fn read(message: Option<Result<Message, Error>>) -> SocketEvent {
    match message {
        Some(Ok(Message::Text(text))) => SocketEvent::Frame(incoming::read(text.as_str())),
        Some(Ok(Message::Binary(_))) => SocketEvent::Frame(Err("a binary frame".into())),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => SocketEvent::Sign,
        Some(Ok(Message::Close(frame))) => SocketEvent::Closed(match frame {
            Some(frame) if !frame.reason.is_empty() => frame.reason.as_str().to_owned(),
            _ => "the server closed the connection".into(),
        }),
        Some(Err(error)) => SocketEvent::Closed(error.to_string()),
        None => SocketEvent::Closed("the connection was closed".into()),
    }
}

/// The state of the connection.
pub(super) enum LinkState {
    Down,
    Dialling(BoxFuture<'static, Result<Socket, DialFailed>>),
    Up(Box<Socket>),
}

/// An event of a link.
pub(super) enum LinkReport {
    Dialled(Result<Box<Socket>, DialFailed>),
    Came(Vec<SocketEvent>),
}

impl LinkState {
    /// Begins to connect; this makes progress while somebody waits for the next event.
    pub(super) fn dial(dialler: &Dialler) -> Self {
        Self::Dialling(Box::pin(dialler.clone().dial()))
    }

    /// Waits for the next report; forever without a connection. Safe to drop while it waits.
    pub(super) async fn next(&mut self) -> LinkReport {
        match self {
            Self::Down => std::future::pending().await,
            Self::Dialling(dialling) => LinkReport::Dialled(dialling.await.map(Box::new)),
            Self::Up(socket) => LinkReport::Came(socket.next().await),
        }
    }
}
