//! The socket: how it is dialled, and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BoxFuture, RuntimeError};
use agentx_types::wire::{ClientFrame, Problem, SUBPROTOCOL};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use crate::incoming::{self, Incoming};
use crate::{Endpoint, tls};

/// The largest frame that is read. The largest event of a server is smaller.
const FRAME_BYTES: usize = 64 << 20;
/// How many frames are read before anything else is looked at.
const AT_ONCE: usize = 512;
/// How many bytes.
const BYTES_AT_ONCE: usize = 1 << 20;
/// How long a frame may take to leave.
const SEND: Duration = Duration::from_secs(10);
/// How long a good-bye may take.
const CLOSE: Duration = Duration::from_secs(1);

/// Makes connections to one server.
#[derive(Clone)]
pub(super) struct Dialler {
    address: String,
    tls: Option<Arc<ClientConfig>>,
}

/// Why there is no connection.
pub(super) struct DialFailed {
    pub(super) why: String,
    /// Whether it would be the same the next time.
    pub(super) for_good: bool,
}

impl Dialler {
    pub(super) fn new(endpoint: &Endpoint, more_roots: Option<&[u8]>) -> Result<Self, RuntimeError> {
        Ok(Self {
            address: endpoint.socket(),
            tls: endpoint
                .is_tls()
                .then(|| tls::client_config(more_roots))
                .transpose()?,
        })
    }

    /// Makes a connection. The time that it takes is the caller's to limit.
    async fn dial(self) -> Result<Socket, DialFailed> {
        let mut request = self.address.as_str().into_client_request().map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("agentx/", env!("CARGO_PKG_VERSION"))),
        );
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(FRAME_BYTES);
        config.max_frame_size = Some(FRAME_BYTES);
        let connector = self.tls.map_or(Connector::Plain, Connector::Rustls);
        let made = connect_async_tls_with_config(request, Some(config), true, Some(connector)).await;
        made.map(|(socket, _)| Socket(socket)).map_err(failed)
    }
}

fn failed(error: Error) -> DialFailed {
    let Error::Http(response) = &error else {
        // What speaks something else, or another version of it, will not learn it.
        let for_good = match &error {
            Error::Url(_) => true,
            Error::Protocol(error) => is_something_else(error),
            _ => false,
        };
        return DialFailed {
            why: error.to_string(),
            for_good,
        };
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

/// Whether what answers is no server of ours.
fn is_something_else(error: &ProtocolError) -> bool {
    matches!(
        error,
        ProtocolError::MissingUpgradeWebSocketHeader
            | ProtocolError::MissingConnectionUpgradeHeader
            | ProtocolError::SecWebSocketAcceptKeyMismatch
            | ProtocolError::SecWebSocketSubProtocolError(_)
    )
}

/// A connection.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// Something that came.
pub(super) enum Came {
    Frame(Result<Incoming, String>),
    /// A sign of life.
    Sign,
    /// Nothing more.
    Closed(String),
}

impl Socket {
    /// What comes next, and what is there behind it.
    async fn next(&mut self) -> Vec<Came> {
        let first = self.0.next().await;
        let mut bytes = size(&first);
        let mut came = vec![read(first)];
        while came.len() < AT_ONCE && bytes < BYTES_AT_ONCE && !matches!(came.last(), Some(Came::Closed(_))) {
            let Some(message) = self.0.next().now_or_never() else {
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
                self.0
                    .feed(Message::text(text))
                    .await
                    .map_err(|error| error.to_string())?;
            }
            self.0.flush().await.map_err(|error| error.to_string())
        };
        let sent = timeout(SEND, sending).await;
        sent.unwrap_or_else(|_| Err(format!("it took nothing for {} seconds", SEND.as_secs())))
    }

    pub(super) async fn close(mut self) {
        let _ = timeout(CLOSE, self.0.close(None)).await;
    }
}

fn size(message: &Option<Result<Message, Error>>) -> usize {
    message
        .as_ref()
        .map_or(0, |message| message.as_ref().map_or(0, Message::len))
}

fn read(message: Option<Result<Message, Error>>) -> Came {
    match message {
        Some(Ok(Message::Text(text))) => Came::Frame(incoming::read(text.as_str())),
        Some(Ok(Message::Binary(_))) => Came::Frame(Err("a binary frame".into())),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Came::Sign,
        Some(Ok(Message::Close(frame))) => Came::Closed(match frame {
            Some(frame) if !frame.reason.is_empty() => frame.reason.as_str().to_owned(),
            _ => "the server closed the connection".into(),
        }),
        Some(Err(error)) => Came::Closed(error.to_string()),
        None => Came::Closed("the connection was closed".into()),
    }
}

/// Where the connection stands.
pub(super) enum Link {
    Down,
    Dialling(BoxFuture<'static, Result<Socket, DialFailed>>),
    Up(Box<Socket>),
}

/// What a link tells.
pub(super) enum Told {
    Dialled(Result<Box<Socket>, DialFailed>),
    Came(Vec<Came>),
}

impl Link {
    pub(super) fn dial(dialler: &Dialler) -> Self {
        Self::Dialling(Box::pin(dialler.clone().dial()))
    }

    /// What happens next; nothing ever where there is no connection. Safe to drop while it waits.
    pub(super) async fn next(&mut self) -> Told {
        match self {
            Self::Down => std::future::pending().await,
            Self::Dialling(dialling) => Told::Dialled(dialling.await.map(Box::new)),
            Self::Up(socket) => Told::Came(socket.next().await),
        }
    }
}
