//! Reads that count their bytes: a connection of an unknown client may send only a limited number.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads into `buffer`, and returns the number of bytes that came.
pub(crate) fn poll_count<S: AsyncRead + Unpin>(
    stream: &mut S,
    cx: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<usize>> {
    let before = buffer.filled().len();
    ready!(Pin::new(stream).poll_read(cx, buffer))?;
    Poll::Ready(Ok(buffer.filled().len() - before))
}
