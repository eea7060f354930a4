//! A connection that ends while its client still sends. If a socket is closed with unread bytes, the system
//! resets the connection, and the client may lose the answer. So after our side is shut down, incoming bytes
//! are discarded for a short time (RFC 9112, 9.6).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::connections::counted_read::poll_count;

/// The number of bytes that are discarded in one read.
const PIECE: usize = 2 * 1024;
/// The number of pieces that are read before others get a turn.
const TURN: usize = 32;

/// The largest number of bytes to discard: the longest body that the server takes. A client that sends more
/// may lose the answer.
const MOST: usize = 16 << 20;

/// A stream that lingers when it is shut down, if `lingers` returns true by then.
pub(crate) struct Lingering<S, F> {
    inner: S,
    lingers: F,
    time: Duration,
    ends: Option<Pin<Box<Sleep>>>,
    thrown_away: usize,
}

impl<S, F: Fn() -> bool> Lingering<S, F> {
    /// Lingers for at most `time`.
    pub(crate) fn new(inner: S, time: Duration, lingers: F) -> Self {
        Self {
            inner,
            lingers,
            time,
            ends: None,
            thrown_away: 0,
        }
    }
}

impl<S: AsyncRead + Unpin, F: Unpin> AsyncRead for Lingering<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, F: Fn() -> bool + Unpin> AsyncWrite for Lingering<S, F> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.ends.is_none() {
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
            if !(this.lingers)() {
                return Poll::Ready(Ok(()));
            }
        }
        let time = this.time;
        let ends = this.ends.get_or_insert_with(|| Box::pin(sleep(time)));
        if ends.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        for _ in 0..TURN {
            let mut piece = [0; PIECE];
            let mut piece = ReadBuf::new(&mut piece);
            let read = ready!(poll_count(&mut this.inner, cx, &mut piece)).unwrap_or_default();
            this.thrown_away += read;
            if read == 0 || this.thrown_away > MOST {
                return Poll::Ready(Ok(()));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn who_still_sends_is_read_to_the_end_where_that_is_asked_for() {
        let (near, mut far) = duplex(64);
        let mut near = Lingering::new(near, Duration::from_secs(60), || true);
        let sending = tokio::spawn(async move {
            far.write_all(&[0; 100_000]).await.unwrap();
            let mut answer = String::new();
            far.read_to_string(&mut answer).await.unwrap();
            answer
        });
        near.write_all(b"no").await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(sending.await.unwrap(), "no");
    }

    #[tokio::test]
    async fn who_sends_for_ever_is_not_read_for_ever_and_others_not_at_all() {
        // The other side stays connected and silent, so only the time limit ends the first, and nothing would
        // end the second.
        let (near, _far) = duplex(64);
        let mut near = Lingering::new(near, Duration::from_millis(20), || true);
        near.shutdown().await.unwrap();
        let (other, _far) = duplex(64);
        let mut other = Lingering::new(other, Duration::MAX, || false);
        other.shutdown().await.unwrap();
    }
}
