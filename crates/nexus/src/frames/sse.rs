//! A parser of the server's own streams of events, which arrive in pieces of any length.

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamedEvent {
    /// The kind.
    pub event: String,
    /// The JSON of the frame.
    pub data: String,
}

/// Puts pieces together to events.
#[derive(Debug, Default)]
pub struct StreamedEvents {
    pieces: Vec<u8>,
    /// The number of bytes in which no event ends.
    looked_at: usize,
}

impl StreamedEvents {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.pieces.extend_from_slice(piece);
    }

    /// Returns the next complete event. Blocks without an event, such as the pause before a reconnection, are
    /// skipped.
    pub fn next_event(&mut self) -> Option<StreamedEvent> {
        loop {
            let rest = self.pieces.get(self.looked_at..).unwrap_or_default();
            let Some(end) = rest.windows(2).position(|bytes| bytes == b"\n\n") else {
                self.looked_at = self.pieces.len().saturating_sub(1);
                return None;
            };
            let end = self.looked_at + end;
            let event = read_block(&String::from_utf8_lossy(&self.pieces[..end]));
            self.pieces.drain(..end + 2);
            self.looked_at = 0;
            if event.is_some() {
                return event;
            }
        }
    }
}

fn read_block(block: &str) -> Option<StreamedEvent> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(StreamedEvent {
        event: field("event")?.to_owned(),
        data: field("data").unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_in_pieces_of_any_length() {
        let stream = "retry: 1000\n\nid: 4.0\nevent: text_chunk\ndata: {\"chunk\":\"你好\"}\n\n\
                      event: ping\ndata: {}\n\n";
        for length in 1..stream.len() {
            let (mut events, mut found) = (StreamedEvents::default(), Vec::new());
            for piece in stream.as_bytes().chunks(length) {
                events.push(piece);
                found.extend(std::iter::from_fn(|| events.next_event()));
            }
            let names: Vec<(&str, &str)> = found
                .iter()
                .map(|found| (found.event.as_str(), found.data.as_str()))
                .collect();
            assert_eq!(
                names,
                [("text_chunk", "{\"chunk\":\"你好\"}"), ("ping", "{}")],
                "{length}"
            );
        }
    }
}
