//! The connection to a database: a socket that brings a bounded number of bytes, plain or with TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::address::DatabasePlace;

/// The protocol in a TLS handshake, for servers that speak TLS from the first byte.
const ALPN: &[u8] = b"postgresql";

/// A socket of any kind.
pub(crate) trait RawSocket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> RawSocket for S {}

/// A socket that brings at most so many bytes: a row is held in memory as a whole, and may have a gigabyte.
pub(crate) struct BoundedSocket {
    inner: Box<dyn RawSocket>,
    left: usize,
}

impl BoundedSocket {
    /// Connects to a database.
    ///
    /// # Errors
    /// Returns an error if nothing listens there.
    pub(crate) async fn dial(place: &DatabasePlace, most: usize) -> io::Result<Self> {
        let inner: Box<dyn RawSocket> = match place {
            DatabasePlace::Tcp { host, port } => {
                let host = host.trim_matches(['[', ']']);
                let stream = TcpStream::connect((host, *port)).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            #[cfg(unix)]
            DatabasePlace::Unix(path) => Box::new(UnixStream::connect(path).await?),
            #[cfg(not(unix))]
            DatabasePlace::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { inner, left: most })
    }
}

impl AsyncRead for BoundedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            let what = "the answer is too large: ask for fewer columns or shorter values";
            return Poll::Ready(Err(io::Error::other(what)));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        self.left = self.left.saturating_sub(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BoundedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Encrypts a connection, and checks the certificate of the server as other programs of this machine do.
pub(crate) struct Encryption {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Encryption {
    /// Returns the encryption for the server of this name. Reading the certificates of this machine blocks
    /// for milliseconds.
    ///
    /// # Errors
    /// Returns an error if the machine has no certificates, or the name cannot be in one.
    pub(crate) fn with(host: &str) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(Vec::new(), provider.clone());
        let verifier = verifier.map_err(|error| format!("this machine has no certificates: {error}"))?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: name.map_err(|error| error.to_string())?,
        })
    }
}

/// An encrypted connection.
pub(crate) struct EncryptedSocket(tokio_rustls::client::TlsStream<BoundedSocket>);

impl TlsConnect<BoundedSocket> for Encryption {
    type Stream = EncryptedSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedSocket>> + Send>>;

    fn connect(self, socket: BoundedSocket) -> Self::Future {
        Box::pin(async move {
            let encrypted = self.connector.connect(self.name, socket).await?;
            Ok(EncryptedSocket(encrypted))
        })
    }
}

impl TlsStream for EncryptedSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for EncryptedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_socket_brings_so_many_bytes_and_no_more() {
        let (mut theirs, ours) = tokio::io::duplex(1 << 10);
        let mut socket = BoundedSocket {
            inner: Box::new(ours),
            left: 100,
        };
        theirs.write_all(&[7; 200]).await.unwrap();
        let mut read = vec![0; 64];
        socket.read_exact(&mut read).await.unwrap();
        let error = socket.read_to_end(&mut read).await.unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        assert!(read.len() <= 64 + 200, "what came before is there");
    }
}
