//! The reply of the test server to one request: status, headers, framing, and actions in order, including
//! protocol violations.

use std::time::Duration;

use crate::Gate;

/// The reply of the server to one request.
#[derive(Clone, Debug)]
pub struct ServerReply {
    status: u16,
    headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) before: Option<Act>,
    pub(crate) acts: Vec<Act>,
}

#[derive(Clone, Debug)]
pub(crate) enum Framing {
    /// `content-length` of the sent bytes, or a false one.
    Length(Option<usize>),
    Chunked,
    UntilClose,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send(Vec<u8>),
    Drip(Vec<u8>, usize),
    Flood(u8, usize),
    Stall(Gate),
    Wait(Duration),
    Reset,
    HalfClose,
    Close,
}

impl ServerReply {
    /// Creates a reply without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            framing: Framing::Length(None),
            before: None,
            acts: Vec::new(),
        }
    }

    /// Creates a whole body of this type.
    pub fn body(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::status(status)
            .header("content-type", content_type)
            .then(body)
    }

    /// Creates a whole JSON body.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::body(status, "application/json", body.to_string())
    }

    /// Creates the beginning of an event stream; [`Self::then`] adds its contents.
    pub fn stream() -> Self {
        Self {
            framing: Framing::Chunked,
            ..Self::status(200).header("content-type", "text/event-stream")
        }
    }

    /// Creates the beginning of an event stream of AWS; [`Self::then`] adds its frames.
    pub fn frames() -> Self {
        Self {
            framing: Framing::Chunked,
            ..Self::status(200).header("content-type", "application/vnd.amazon.eventstream")
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Frames the body by the end of the connection.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }

    /// Sets a `content-length` of this many bytes, regardless of the sent ones.
    #[must_use]
    pub fn claiming_length(mut self, length: usize) -> Self {
        self.framing = Framing::Length(Some(length));
        self
    }

    /// Waits at `gate` before it sends anything.
    #[must_use]
    pub fn wait_at(mut self, gate: &Gate) -> Self {
        self.before = Some(Act::Stall(gate.clone()));
        self
    }

    /// Sends nothing for this time before everything else.
    #[must_use]
    pub fn waiting(mut self, pause: Duration) -> Self {
        self.before = (!pause.is_zero()).then_some(Act::Wait(pause));
        self
    }

    /// Resets the connection before it sends anything.
    pub fn reset() -> Self {
        Self {
            before: Some(Act::Reset),
            ..Self::status(200)
        }
    }

    /// Closes the connection before it sends anything.
    pub fn close() -> Self {
        Self {
            before: Some(Act::Close),
            ..Self::status(200)
        }
    }

    /// Adds bytes to send.
    #[must_use]
    pub fn then(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.act(Act::Send(bytes.into()))
    }

    /// Then sends bytes in pieces of `size`, each flushed on its own.
    #[must_use]
    pub fn then_drip(self, bytes: impl Into<Vec<u8>>, size: usize) -> Self {
        self.act(Act::Drip(bytes.into(), size.max(1)))
    }

    /// Then sends one byte `count` times.
    #[must_use]
    pub fn then_flood(self, byte: u8, count: usize) -> Self {
        self.act(Act::Flood(byte, count))
    }

    /// Then sends nothing until `gate` is open or the client is gone.
    #[must_use]
    pub fn then_stall(self, gate: &Gate) -> Self {
        self.act(Act::Stall(gate.clone()))
    }

    /// Then resets the connection.
    #[must_use]
    pub fn then_reset(self) -> Self {
        self.act(Act::Reset)
    }

    /// Then shuts down its sending side and still reads.
    #[must_use]
    pub fn then_half_close(self) -> Self {
        self.act(Act::HalfClose)
    }

    /// Then closes the connection, regardless of the announced length.
    #[must_use]
    pub fn then_close(self) -> Self {
        self.act(Act::Close)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    pub(crate) fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Test\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let sent = || self.acts.iter().map(Act::len).sum();
        head.push_str(&match self.framing {
            Framing::Length(length) => format!("content-length: {}\r\n\r\n", length.unwrap_or_else(sent)),
            Framing::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
            Framing::UntilClose => "connection: close\r\n\r\n".to_owned(),
        });
        head
    }
}

impl Act {
    fn len(&self) -> usize {
        match self {
            Self::Send(bytes) | Self::Drip(bytes, _) => bytes.len(),
            Self::Flood(_, count) => *count,
            Self::Stall(_) | Self::Wait(_) | Self::Reset | Self::HalfClose | Self::Close => 0,
        }
    }
}
