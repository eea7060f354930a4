//! A WebSocket by hand, byte for byte, to send what no client would send.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::BOUND;
use crate::remote::{Lost, Who};

/// Text in a frame.
pub const TEXT: u8 = 1;
/// Bytes in a frame.
pub const BINARY: u8 = 2;
/// The end of a connection.
pub const CLOSE: u8 = 8;
/// A sign of life that is asked for.
pub const PING: u8 = 9;

/// The header of a frame of a client that has `length` bytes, masked with zeros: the payload is sent as it
/// is.
pub fn header(opcode: u8, is_last: bool, length: u64) -> Vec<u8> {
    let first = opcode | if is_last { 0x80 } else { 0 };
    let mut header = vec![first];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ ..126), _) => header.push(0x80 | short),
        (_, Ok(middle)) => {
            header.push(0x80 | 126);
            header.extend(middle.to_be_bytes());
        }
        _ => {
            header.push(0x80 | 127);
            header.extend(length.to_be_bytes());
        }
    }
    header.extend([0; 4]);
    header
}

/// A whole frame of a client.
pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = header(opcode, true, payload.len() as u64);
    frame.extend(payload);
    frame
}

/// A connection.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    rest: Vec<u8>,
}

/// The end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The frames that came before.
    pub frames: Vec<Value>,
    /// The close code, if there was one.
    pub code: Option<u16>,
}

impl Raw {
    /// Connects and says nothing.
    ///
    /// # Panics
    /// Panics if nobody listens.
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("somebody listens");
        Self {
            stream,
            rest: Vec::new(),
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Returns an error if nobody takes them.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let sent = timeout(BOUND, self.stream.write_all(bytes)).await;
        sent.map_err(|_| "it does not take them")?
            .map_err(|error| error.to_string())
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Returns an error if nobody takes it.
    pub async fn say(&mut self, frame: &Value) -> Result<(), Lost> {
        self.send(&self::frame(TEXT, frame.to_string().as_bytes())).await
    }

    /// Reads the head of an HTTP answer.
    ///
    /// # Errors
    /// Returns an error if none comes.
    pub async fn head(&mut self, within: Duration) -> Result<String, Lost> {
        loop {
            if let Some(end) = self.rest.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.rest.drain(..end + 4).collect();
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            self.more(within).await?;
        }
    }

    async fn more(&mut self, within: Duration) -> Result<(), Lost> {
        let read = timeout(within, self.stream.read_buf(&mut self.rest)).await;
        match read {
            Err(_) => Err(format!("nothing for {within:?}")),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(0)) => Err("it ended".into()),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Asks for a WebSocket with these headers beside those that have to be there.
    ///
    /// # Errors
    /// Returns an error if there is no answer.
    pub async fn upgrade(&mut self, version: u8, headers: &str) -> Result<String, Lost> {
        let request = format!(
            "GET /v1/socket HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: {version}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        self.send(request.as_bytes()).await?;
        self.head(BOUND).await
    }

    /// A connection whose first frame has been read.
    ///
    /// # Panics
    /// Panics if it does not come about.
    pub async fn dial(address: SocketAddr) -> (Self, Value) {
        let mut raw = Self::connect(address).await;
        let head = raw.upgrade(13, "sec-websocket-protocol: agentx.v1\r\n").await;
        let head = head.expect("an answer");
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        let hello = raw.frame(BOUND).await.expect("a frame");
        (raw, hello["payload"].clone())
    }

    /// A connection that has said who it is.
    ///
    /// # Panics
    /// Panics if it is not let in.
    pub async fn enter(address: SocketAddr, who: &Who) -> Self {
        let (mut raw, hello) = Self::dial(address).await;
        let mut answer = who.answer(&hello);
        answer["client"] = "raw".into();
        let frame = json!({"type": "authenticate", "id": "me", "payload": answer});
        raw.say(&frame).await.expect("it listens");
        let accepted = raw.frame(BOUND).await.expect("an answer");
        assert_eq!(accepted["event"], "accepted", "{accepted}");
        raw
    }

    /// The next text frame as JSON.
    ///
    /// # Errors
    /// Returns an error if no frame comes in time, with the code if the connection is closed.
    pub async fn frame(&mut self, within: Duration) -> Result<Value, Lost> {
        loop {
            let (opcode, payload) = self.next(within).await?;
            match opcode {
                TEXT => return serde_json::from_slice(&payload).map_err(|error| error.to_string()),
                CLOSE => return Err(format!("closed {:?}", code_of(&payload))),
                _ => {}
            }
        }
    }

    async fn next(&mut self, within: Duration) -> Result<(u8, Vec<u8>), Lost> {
        loop {
            if let Some((opcode, from, to)) = self.whole() {
                let frame: Vec<u8> = self.rest.drain(..to).collect();
                return Ok((opcode, frame[from..].to_vec()));
            }
            self.more(within).await?;
        }
    }

    /// Returns the start and the end of the first frame, if it is complete. What a server sends is not
    /// masked.
    fn whole(&self) -> Option<(u8, usize, usize)> {
        let opcode = self.rest.first()? & 0x0f;
        let short = usize::from(*self.rest.get(1)? & 0x7f);
        let (length, from) = match short {
            126 => {
                let bytes = self.rest.get(2..4)?.try_into().ok()?;
                (usize::from(u16::from_be_bytes(bytes)), 4)
            }
            127 => {
                let bytes = self.rest.get(2..10)?.try_into().ok()?;
                (usize::try_from(u64::from_be_bytes(bytes)).ok()?, 10)
            }
            short => (short, 2),
        };
        let to = from + length;
        (self.rest.len() >= to).then_some((opcode, from, to))
    }

    /// Waits until the server has ended it.
    ///
    /// # Errors
    /// Returns an error if it does not within that time.
    pub async fn ends(&mut self, within: Duration) -> Result<Ended, Lost> {
        let mut ended = Ended::default();
        let reading = async {
            loop {
                match self.next(2 * within).await {
                    Ok((TEXT, payload)) => ended
                        .frames
                        .push(serde_json::from_slice(&payload).unwrap_or_default()),
                    Ok((CLOSE, payload)) => ended.code = code_of(&payload),
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        };
        if timeout(within, reading).await.is_err() {
            return Err(format!("it is not ended within {within:?}: {ended:?}"));
        }
        Ok(ended)
    }

    /// Whatever HTTP says at last, to the end of the connection.
    ///
    /// # Errors
    /// Returns an error if it does not end within that time.
    pub async fn rest(&mut self, within: Duration) -> Result<String, Lost> {
        let reading = async { while self.more(2 * within).await.is_ok() {} };
        let is_over = timeout(within, reading).await.is_ok();
        let text = String::from_utf8_lossy(&self.rest).into_owned();
        if is_over { Ok(text) } else { Err(text) }
    }
}

fn code_of(payload: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(payload.get(..2)?.try_into().ok()?))
}
