//! Closes a connection whose peer no longer reads, or for whose peers the server holds too much. A response
//! body cannot notice that: it is not polled while its earlier bytes are waiting.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::connections::held_bytes::{GRACE, HeldShare};

/// A stream that fails when the peer has taken none of the written bytes for too long.
pub(crate) struct StallTimeout<S> {
    inner: S,
    patience: Duration,
    /// Runs while written bytes wait for the peer.
    waiting: Option<Pin<Box<Sleep>>>,
    held: Option<HeldWatch>,
}

/// Watches the bytes that the server holds for this connection.
struct HeldWatch {
    share: HeldShare,
    /// Whether bytes of this connection are counted.
    counts: bool,
    /// Runs while they are.
    check: Pin<Box<Sleep>>,
}

impl<S> StallTimeout<S> {
    pub(crate) fn new(inner: S, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            waiting: None,
            held: None,
        }
    }

    /// Counts the bytes that wait for the peer in this share.
    pub(crate) fn counted(mut self, share: HeldShare) -> Self {
        self.held = Some(HeldWatch {
            share,
            counts: false,
            check: Box::pin(sleep(GRACE)),
        });
        self
    }

    /// Judges the outcome of writing `bytes` bytes.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        bytes: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Some(held) = &mut self.held {
            let sent = match &written {
                Poll::Ready(Ok(sent)) => *sent,
                Poll::Ready(Err(_)) => bytes,
                Poll::Pending => 0,
            };
            held.note(bytes.saturating_sub(sent));
            if written.is_pending() {
                held.poll_excess(cx)?;
            }
        }
        self.judge(cx, written)
    }

    fn judge<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer no longer reads",
        )))
    }
}

impl HeldWatch {
    /// Notes how many bytes wait for the peer.
    fn note(&mut self, bytes: usize) {
        if bytes > 0 && !self.counts {
            self.check.as_mut().reset(Instant::now() + GRACE);
        }
        if bytes > 0 || self.counts {
            self.share.set_unsent(bytes);
        }
        self.counts = bytes > 0;
    }

    /// Polls the regular check of whether the server holds too much for this peer.
    ///
    /// # Errors
    /// Returns an error if the connection has to be closed.
    fn poll_excess(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            if let Some(reason) = self.share.excess() {
                tracing::info!(reason, "a connection that takes too little is closed");
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
            if self.check.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            self.check.as_mut().reset(Instant::now() + GRACE);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.written(cx, bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        let length = bytes.iter().map(|piece| piece.len()).sum();
        self.written(cx, length, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.judge(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.judge(cx, ended)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::sync::Arc;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;
    use crate::connections::held_bytes::HeldBytes;
    use crate::settings::options::HeldBounds;

    /// One reader takes nothing of much, and another one of the same address little of it.
    #[tokio::test(start_paused = true)]
    async fn a_reader_of_too_much_is_closed_before_its_patience_ends() {
        let bounds = HeldBounds {
            each: 100 << 10,
            all: 1 << 20,
        };
        let all = Arc::new(HeldBytes::new(bounds));
        let long = Duration::from_secs(3600);
        let open = || {
            let (near, far) = duplex(4);
            (
                StallTimeout::new(near, long).counted(all.share("10.0.0.1".into())),
                far,
            )
        };
        let ((mut first, _far), (mut second, mut reader)) = (open(), open());
        let slow = tokio::spawn(async move { first.write_all(&[0; 80 << 10]).await });
        tokio::task::yield_now().await;
        let fast = tokio::spawn(async move { second.write_all(&[0; 80 << 10]).await });
        tokio::task::yield_now().await;
        let closed = slow.await.unwrap().unwrap_err();
        assert_eq!(closed.kind(), io::ErrorKind::TimedOut);
        reader.read_exact(&mut [0; 80 << 10]).await.unwrap();
        fast.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_takes_nothing_is_given_up_and_who_takes_little_is_not() {
        let (near, mut far) = duplex(4);
        let mut near = StallTimeout::new(near, Duration::from_millis(50));
        let reading = tokio::spawn(async move {
            let mut taken = [0; 2];
            for _ in 0..8 {
                far.read_exact(&mut taken).await.unwrap();
            }
            far
        });
        near.write_all(&[0; 16]).await.unwrap();
        let far = reading.await.unwrap();
        let stalled = near.write_all(&[0; 16]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }
}
