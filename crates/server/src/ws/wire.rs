//! The two halves of a socket below frames: tungstenite reads, and this module frames what is written.
//!
//! tungstenite would copy each frame into a buffer of the connection that never shrinks: after one large
//! event, every reader of it would keep that size. Here the frames that are ready at one moment are written
//! into memory that is freed once it is sent, so an idle connection has none. A large text is not copied at
//! all: all connections send the same bytes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_types::wire::Bye;
use axum::body::Bytes;
use axum::extract::ws::Utf8Bytes;
use axum::http::HeaderMap;
use axum::http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf, ReadHalf, WriteHalf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::allowance::Allowance;
use super::writer_task::WriterTask;
use crate::connections::counted_read::poll_count;
use crate::outbox::{Outbox, OutboxItem};

/// The size of one read from a socket. An idle connection keeps this much memory.
const READ_BUFFER: usize = 2 * 1024;
/// Minimum size of a text that is sent without a copy.
const SHARED: usize = 16 * 1024;
/// The largest length of a close frame's reason, in bytes; the protocol has room for 123.
const REASON: usize = 120;

const FIN: u8 = 0x80;
const TEXT: u8 = FIN | 0x1;
const CLOSE: u8 = FIN | 0x8;
const PING: u8 = FIN | 0x9;

/// The frames of a client.
pub(super) type ClientStream = WebSocketStream<ClientSocket>;

/// The writing end of a client's socket.
pub(super) struct Sink<W = WriteHalf<TokioIo<Upgraded>>> {
    to: W,
    /// The bytes that are being sent; `left` counts those of the first piece that were sent.
    pieces: VecDeque<Bytes>,
    left: usize,
}

impl<W: AsyncWrite + Unpin> Sink<W> {
    /// Sends everything. If it is cancelled, the rest is sent before the next batch.
    pub(super) async fn send(&mut self, batch: FrameBatch) -> io::Result<()> {
        self.send_pending().await?;
        self.pieces = batch.into_pieces();
        self.send_pending().await?;
        self.to.flush().await
    }

    async fn send_pending(&mut self) -> io::Result<()> {
        while let Some(piece) = self.pieces.front() {
            while self.left < piece.len() {
                match self.to.write(&piece[self.left..]).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => self.left += count,
                }
            }
            self.left = 0;
            self.pieces.pop_front();
        }
        self.pieces = VecDeque::new();
        Ok(())
    }

    /// Shuts down the sending side.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        self.to.shutdown().await
    }
}

/// Creates both halves of a connection. Answers of the protocol itself (pongs, closes) go through `outbox`,
/// in order.
pub(super) async fn halves(
    upgraded: Upgraded,
    (outbox, allowance): (Arc<Outbox<WriterTask>>, Arc<Allowance>),
    frame_bytes: usize,
) -> (ClientStream, Sink) {
    let (from, to) = tokio::io::split(TokioIo::new(upgraded));
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(frame_bytes))
        .max_frame_size(Some(frame_bytes));
    let heard = ClientSocket {
        from,
        outbox,
        allowance,
    };
    let stream = WebSocketStream::from_raw_socket(heard, Role::Server, Some(config)).await;
    let sink = Sink {
        to,
        pieces: VecDeque::new(),
        left: 0,
    };
    (stream, sink)
}

/// Returns the headers of the answer to a client that asks for a WebSocket as it should; `None` if it has no
/// key.
pub(super) fn answer(asked: &HeaderMap, protocol: &'static str) -> Option<HeaderMap> {
    let key = asked.get(SEC_WEBSOCKET_KEY)?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if asked.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    Some(headers)
}

/// The reading half of a socket. Frames that are written to it, pongs and closes, go to the outbox.
pub(super) struct ClientSocket {
    from: ReadHalf<TokioIo<Upgraded>>,
    outbox: Arc<Outbox<WriterTask>>,
    allowance: Arc<Allowance>,
}

impl ClientSocket {
    /// Reads to the end, and discards everything.
    pub(super) async fn discard(&mut self) -> io::Result<()> {
        let mut piece = [0; READ_BUFFER];
        while self.from.read(&mut piece).await? > 0 {}
        Ok(())
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(poll_count(&mut self.from, cx, buffer))?;
        if self.allowance.take(read) {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(io::Error::other("more bytes than this client may send")))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, frames: &[u8]) -> Poll<io::Result<usize>> {
        self.outbox.framed(Bytes::copy_from_slice(frames));
        Poll::Ready(Ok(frames.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Frames that are sent together.
#[derive(Debug, Default)]
pub(super) struct FrameBatch {
    /// The pieces before `bytes`.
    pieces: VecDeque<Bytes>,
    bytes: Vec<u8>,
    length: usize,
    frames: u64,
}

impl FrameBatch {
    /// Adds a text frame; a large text is shared with other connections.
    pub(super) fn text(&mut self, text: &Utf8Bytes) {
        if text.len() < SHARED {
            return self.frame(TEXT, &[text.as_bytes()]);
        }
        self.head(TEXT, text.len());
        self.length += text.len();
        self.pieces.push_back(std::mem::take(&mut self.bytes).into());
        self.pieces.push_back(text.clone().into());
    }

    pub(super) fn ping(&mut self) {
        self.frame(PING, &[]);
    }

    /// Adds the close frame.
    pub(super) fn close(&mut self, bye: &Bye) {
        let reason = &bye.reason[..bye.reason.floor_char_boundary(REASON)];
        self.frame(CLOSE, &[&bye.code.to_be_bytes(), reason.as_bytes()]);
    }

    /// Adds an item of an outbox.
    pub(super) fn item<T>(&mut self, item: &OutboxItem<T>) {
        match item {
            OutboxItem::Text(text) => self.text(text),
            OutboxItem::Framed(bytes) => {
                self.frames += 1;
                self.length += bytes.len();
                self.bytes.extend_from_slice(bytes);
            }
            OutboxItem::Task(_) => {}
        }
    }

    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    fn into_pieces(mut self) -> VecDeque<Bytes> {
        if !self.bytes.is_empty() {
            self.pieces.push_back(self.bytes.into());
        }
        self.pieces
    }

    fn frame(&mut self, kind: u8, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        self.head(kind, length);
        self.length += length;
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
    }

    /// Writes the head of a frame. A server's frames have no mask.
    fn head(&mut self, kind: u8, length: usize) {
        let before = self.bytes.len();
        self.frames += 1;
        self.bytes.push(kind);
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short @ 0..126), _) => self.bytes.push(short),
            (_, Ok(long)) => {
                self.bytes.push(126);
                self.bytes.extend_from_slice(&long.to_be_bytes());
            }
            _ => {
                self.bytes.push(127);
                self.bytes.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        self.length += self.bytes.len() - before;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use futures_util::StreamExt as _;
    use tokio_tungstenite::tungstenite::Message;

    use super::*;

    /// Returns all bytes of a batch.
    fn whole(batch: FrameBatch) -> Vec<u8> {
        let length = batch.len();
        let bytes = batch.into_pieces().iter().flatten().copied().collect::<Vec<u8>>();
        assert_eq!(bytes.len(), length);
        bytes
    }

    /// Reads the frames with an independent client.
    async fn read(batch: FrameBatch) -> Vec<Message> {
        let from = io::Cursor::new(whole(batch));
        let stream = WebSocketStream::from_raw_socket(from, Role::Client, None).await;
        stream
            .filter_map(|read| std::future::ready(read.ok()))
            .collect()
            .await
    }

    #[tokio::test]
    async fn frames_of_every_length_are_read_as_they_were_written() {
        let mut batch = FrameBatch::default();
        let lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 200_000];
        let texts: Vec<String> = lengths
            .iter()
            .map(|length| "é".repeat(length / 2) + &"x".repeat(length % 2))
            .collect();
        texts.iter().for_each(|text| batch.text(&text.into()));
        batch.ping();
        assert_eq!(batch.frames(), 9);
        let read = read(batch).await;
        let said: Vec<&str> = read.iter().filter_map(|message| message.to_text().ok()).collect();
        assert_eq!(&said[..8], texts);
        assert_eq!(read[8], Message::Ping(Bytes::new()));
    }

    #[tokio::test]
    async fn what_was_begun_is_ended_before_anything_else() {
        let (to, mut from) = tokio::io::duplex(64);
        let mut sink = Sink {
            to,
            pieces: VecDeque::new(),
            left: 0,
        };
        let (mut first, mut second) = (FrameBatch::default(), FrameBatch::default());
        let long = Utf8Bytes::from("a".repeat(SHARED));
        let framed = |batch: &mut FrameBatch| {
            batch.text(&"before".into());
            batch.text(&long);
            batch.text(&"b".into());
        };
        framed(&mut first);
        framed(&mut second);
        let all = whole(first).repeat(2);
        let mut first = FrameBatch::default();
        framed(&mut first);
        let is_shared = |piece: &Bytes| piece.as_ptr() == long.as_ptr();
        assert!(first.pieces.iter().any(is_shared), "a large text is not copied");
        {
            let mut sending = std::pin::pin!(sink.send(first));
            assert!(futures_util::poll!(sending.as_mut()).is_pending());
        }
        let sending = tokio::spawn(async move {
            sink.send(second).await.unwrap();
            sink.end().await.unwrap();
        });
        let mut heard = Vec::new();
        from.read_to_end(&mut heard).await.unwrap();
        sending.await.unwrap();
        assert_eq!(heard, all);
    }

    #[tokio::test]
    async fn a_reason_fits_into_a_close_frame() {
        let bye = Bye {
            code: 1008,
            reason: "因".repeat(100),
            retry_after_ms: None,
        };
        let mut batch = FrameBatch::default();
        batch.close(&bye);
        let read = read(batch).await;
        let [Message::Close(Some(close))] = &read[..] else {
            panic!("{read:?}");
        };
        assert_eq!(u16::from(close.code), 1008);
        assert_eq!(close.reason.as_str(), "因".repeat(40));
    }
}
