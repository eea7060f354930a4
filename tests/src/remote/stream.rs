//! Server-sent events, read as the standard says.

use std::collections::VecDeque;
use std::time::Duration;

use crate::remote::Lost;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its name.
    pub event: String,
    /// Its data.
    pub data: String,
}

/// An event stream while it lasts.
#[derive(Debug)]
pub struct Stream {
    response: reqwest::Response,
    rest: Vec<u8>,
    begun: Sent,
    whole: VecDeque<Sent>,
}

impl Stream {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self {
            response,
            rest: Vec::new(),
            begun: Sent::default(),
            whole: VecDeque::new(),
        }
    }

    /// The next event, a heartbeat too; an event that is not whole is none.
    ///
    /// # Errors
    /// If the connection is lost, ends, or nothing comes for `silence`.
    pub async fn next(&mut self, silence: Duration) -> Result<Sent, Lost> {
        loop {
            if let Some(sent) = self.whole.pop_front() {
                return Ok(sent);
            }
            let piece = tokio::time::timeout(silence, self.response.chunk()).await;
            match piece.map_err(|_| format!("nothing came for {silence:?}"))? {
                Ok(Some(piece)) => self.take(&piece),
                Ok(None) => return Err("it ended".into()),
                Err(error) => return Err(format!("{error:?}")),
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.line(line.trim_end_matches(['\n', '\r']));
        }
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let sent = std::mem::take(&mut self.begun);
            if sent != Sent::default() {
                self.whole.push_back(sent);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.begun.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.begun.event),
            "data" => {
                if !self.begun.data.is_empty() {
                    self.begun.data.push('\n');
                }
                self.begun.data.push_str(value);
            }
            _ => {}
        }
    }
}
