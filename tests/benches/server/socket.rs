//! A WebSocket client that costs next to nothing, because it shares two cores with the measured server. It
//! reads all available bytes at once, finds the frames in place and copies only an incomplete one. It trusts
//! the server to frame correctly.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// The number of bytes in one read.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Close,
    Ping,
    Other,
}

/// A connection.
pub(crate) struct Socket {
    stream: TcpStream,
    /// The beginning of a frame that is not whole yet.
    rest: Vec<u8>,
}

impl Socket {
    /// Connects and asks for a WebSocket. A small `receive_buffer` is for a reader that is to be felt soon
    /// once it stops.
    pub(crate) async fn connect(
        address: SocketAddr,
        path: &str,
        receive_buffer: Option<u32>,
    ) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        let mut stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             sec-websocket-protocol: agentx.v1\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        let end = loop {
            if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        if !head.starts_with(b"HTTP/1.1 101") {
            return Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()));
        }
        let rest = head.split_off(end);
        Ok(Self { stream, rest })
    }

    /// Says a text.
    pub(crate) async fn say(&mut self, text: &str) -> io::Result<()> {
        self.write(0x81, text.as_bytes()).await
    }

    /// Answers a ping.
    pub(crate) async fn pong(&mut self) -> io::Result<()> {
        self.write(0x8a, &[]).await
    }

    /// A mask of zeros leaves the bytes as they are.
    async fn write(&mut self, first: u8, payload: &[u8]) -> io::Result<()> {
        let length = payload.len();
        let mut frame = vec![first];
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short), _) if short < 126 => frame.push(0x80 | short),
            (_, Ok(long)) => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&long.to_be_bytes());
            }
            _ => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).await
    }

    /// Waits until there is something, and gives every whole frame of it to `take`. `false` at the end.
    pub(crate) async fn read(
        &mut self,
        scratch: &mut [u8],
        mut take: impl FnMut(Kind, &[u8]),
    ) -> io::Result<bool> {
        if !self.rest.is_empty() {
            let used = frames(&self.rest, &mut take);
            self.rest.drain(..used);
            if used > 0 {
                return Ok(true);
            }
        }
        self.stream.readable().await?;
        let count = match self.stream.try_read(scratch) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        let mut bytes = &scratch[..count];
        // What is missing of a frame that has begun comes first; what follows is read in place again.
        if !self.rest.is_empty() {
            self.rest.extend_from_slice(bytes);
            let used = frames(&self.rest, &mut take);
            self.rest.drain(..used);
            return Ok(true);
        }
        bytes = &bytes[frames(bytes, &mut take)..];
        self.rest.extend_from_slice(bytes);
        Ok(true)
    }
}

/// Gives every whole frame to `take`. Returns how many bytes they had.
fn frames(bytes: &[u8], take: &mut impl FnMut(Kind, &[u8])) -> usize {
    let mut used = 0;
    while let Some((kind, payload, end)) = frame(&bytes[used..]) {
        take(kind, payload);
        used += end;
    }
    used
}

fn frame(bytes: &[u8]) -> Option<(Kind, &[u8], usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (start, length) = match second & 0x7f {
        126 => {
            let length = bytes.get(2..4)?;
            (4, usize::from(u16::from_be_bytes(length.try_into().ok()?)))
        }
        127 => {
            let length = bytes.get(2..10)?;
            (
                10,
                usize::try_from(u64::from_be_bytes(length.try_into().ok()?)).ok()?,
            )
        }
        short => (2, usize::from(short)),
    };
    let kind = match first & 0x0f {
        1 => Kind::Text,
        8 => Kind::Close,
        9 => Kind::Ping,
        _ => Kind::Other,
    };
    let payload = bytes.get(start..start + length)?;
    Some((kind, payload, start + length))
}
