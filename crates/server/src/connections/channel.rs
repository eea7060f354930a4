//! The kind of a connection. The port speaks plain HTTP, for browsers and scripts, and TLS with the server's
//! own key, for AgentX's clients; a server with a certificate speaks TLS with that alone.
//!
//! The first byte of a client shows which of the two it speaks: a TLS handshake record begins with 0x16, and
//! no HTTP request does (<https://www.rfc-editor.org/rfc/rfc8446#section-5.1>).

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_identity::{Binding, PublicKey, SecretKey};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connections::counted_read::poll_count;
use crate::connections::tls;
use crate::limits::size_limits::HEAD_BYTES;
use crate::server_error::ServerError;

/// The first byte of a TLS handshake.
pub(crate) const HANDSHAKE: u8 = 0x16;

/// The kind of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionChannel {
    /// Without TLS.
    #[default]
    Plain,
    /// TLS with a certificate.
    Certificate,
    /// TLS with the server's own key. The bytes are keying material of this connection alone.
    Keyed([u8; 32]),
}

impl ConnectionChannel {
    /// Returns whether the server has proved its key to the client on this connection.
    pub fn is_keyed(&self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// Returns the binding of a signature for this one connection.
    pub(crate) fn of_connection(&self) -> Binding {
        match self {
            Self::Keyed(exported) => Binding::Exporter(*exported),
            Self::Plain | Self::Certificate => Binding::None,
        }
    }

    /// Returns the binding of a signature for a token: requests share connections, so it is bound to the
    /// server and not to the connection.
    pub(crate) fn of_requests(&self, server: &PublicKey) -> Binding {
        match self {
            Self::Keyed(_) => Binding::ServerKey(*server),
            Self::Plain | Self::Certificate => Binding::None,
        }
    }
}

/// TLS acceptors for this key.
#[derive(Clone)]
pub(crate) enum TlsAcceptors {
    /// All of them, with this certificate.
    Certificate(TlsAcceptor),
    /// Accepts connections that begin with a handshake, with the server's own key.
    Keyed(TlsAcceptor),
}

/// A connection whose first request can be read.
pub(crate) enum OpenedConnection {
    Plain(TcpStream),
    Tls(Box<TlsStream<HandshakeByteLimit>>, ConnectionChannel),
}

impl TlsAcceptors {
    /// Creates the TLS acceptors of a server with this key.
    pub(crate) fn keyed(key: Arc<SecretKey>) -> Result<Self, ServerError> {
        tls::keyed_acceptor(key).map(Self::Keyed)
    }

    pub(crate) fn has_certificate(&self) -> bool {
        matches!(self, Self::Certificate(_))
    }

    /// Detects the protocol of a connection, and does the handshake. The caller limits the time.
    pub(crate) async fn open(&self, stream: TcpStream) -> std::io::Result<OpenedConnection> {
        match self {
            Self::Certificate(acceptor) => {
                let stream = handshake(acceptor, stream).await?;
                Ok(OpenedConnection::Tls(
                    Box::new(stream),
                    ConnectionChannel::Certificate,
                ))
            }
            Self::Keyed(acceptor) if begins_with_handshake(&stream).await? => {
                let stream = handshake(acceptor, stream).await?;
                let exported = stream.get_ref().1.export_keying_material(
                    [0; 32],
                    Binding::EXPORTER_LABEL.as_bytes(),
                    None,
                );
                let exported = exported.map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
                Ok(OpenedConnection::Tls(
                    Box::new(stream),
                    ConnectionChannel::Keyed(exported),
                ))
            }
            Self::Keyed(_) => Ok(OpenedConnection::Plain(stream)),
        }
    }
}

/// Waits for the first byte without consuming it.
pub(crate) async fn begins_with_handshake(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(first[0] == HANDSHAKE),
    }
}

async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> std::io::Result<TlsStream<HandshakeByteLimit>> {
    let bounded = HandshakeByteLimit {
        stream,
        left: Some(HEAD_BYTES),
    };
    let mut stream = acceptor.accept(bounded).await?;
    stream.get_mut().0.left = None;
    Ok(stream)
}

/// A connection that may send only a limited number of bytes during its handshake: otherwise an unknown
/// client could fill the memory.
pub(crate) struct HandshakeByteLimit {
    stream: TcpStream,
    /// The number of bytes that it may still send; `None` if there is no limit.
    left: Option<usize>,
}

impl AsyncRead for HandshakeByteLimit {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = ready!(poll_count(&mut self.stream, context, into))?;
        let Some(left) = &mut self.left else {
            return Poll::Ready(Ok(()));
        };
        match left.checked_sub(read) {
            Some(rest) => *left = rest,
            None => {
                let why = "the handshake is longer than a connection may send before it";
                return Poll::Ready(Err(Error::new(ErrorKind::InvalidData, why)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for HandshakeByteLimit {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
