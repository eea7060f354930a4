//! Requests to the server that have no answer yet.
//!
//! A request keeps its token from the first sending to its answer, and the id of its frame follows from the
//! token: so the client finds the request when the answer comes over a later connection. The client sends
//! requests in the order in which they were made. If three connections are lost while a request waits, it
//! fails with an error that says that the server may have executed it.
//!
//! A server with too many frames refuses one and names a time. It has not executed the request, so this
//! sending does not count, and the client sends the request again at that time.

use std::collections::BTreeMap;

use agentx_types::wire::{ClientFrame, ClientRequest};

/// The maximum number of requests without an answer.
const MAX_PENDING: usize = 1024;
/// The maximum number of times that a request is sent: one that cost three connections does not get a fourth.
const MAX_SENDS: u32 = 3;
/// The prefix of the ids of their frames.
const PREFIX: &str = "r";

/// Requests without an answer, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    open: BTreeMap<u64, UnansweredRequest>,
}

/// A request without an answer.
#[derive(Debug)]
struct UnansweredRequest {
    request: ClientRequest,
    /// The number of times it was sent, except those that the server refused because it was busy.
    sends: u32,
    /// The time to send it again, if the server asked for a pause.
    later: Option<u64>,
}

impl PendingRequests {
    /// Adds a request.
    ///
    /// # Errors
    /// Returns an error if 1,024 requests are waiting: a front end that does not wait for answers is broken.
    pub(super) fn add(&mut self, token: u64, request: ClientRequest) -> Result<(), String> {
        if self.open.len() >= MAX_PENDING {
            return Err(format!("{MAX_PENDING} requests are already waiting for answers"));
        }
        self.open.insert(
            token,
            UnansweredRequest {
                request,
                sends: 0,
                later: None,
            },
        );
        Ok(())
    }

    /// Removes a request and returns the number of times it was sent.
    pub(super) fn remove(&mut self, token: u64) -> Option<u32> {
        self.open.remove(&token).map(|open| open.sends)
    }

    /// Returns the frame of a request and counts the sending.
    pub(super) fn send(&mut self, token: u64) -> Option<ClientFrame> {
        let open = self.open.get_mut(&token)?;
        open.sends += 1;
        open.later = None;
        Some(ClientFrame {
            id: format!("{PREFIX}{token}"),
            request: open.request.clone(),
        })
    }

    /// Returns the frames of all requests, in order.
    pub(super) fn send_all(&mut self) -> Vec<ClientFrame> {
        let tokens: Vec<u64> = self.open.keys().copied().collect();
        tokens.into_iter().filter_map(|token| self.send(token)).collect()
    }

    /// Postpones a request that the server refused because it was busy.
    pub(super) fn put_off(&mut self, token: u64, until: u64) {
        if let Some(open) = self.open.get_mut(&token) {
            // The server did nothing, so this sending does not count.
            open.sends -= 1;
            open.later = Some(until);
        }
    }

    /// The earliest time at which a request has to be sent again.
    pub(super) fn next_retry(&self) -> Option<u64> {
        self.open.values().filter_map(|open| open.later).min()
    }

    /// Returns the frames of the requests that are due.
    pub(super) fn send_due(&mut self, now: u64) -> Vec<ClientFrame> {
        let due = self
            .open
            .iter()
            .filter(|(_, open)| open.later.is_some_and(|later| now >= later));
        let due: Vec<u64> = due.map(|(token, _)| *token).collect();
        due.into_iter().filter_map(|token| self.send(token)).collect()
    }

    /// Removes the requests that were sent too often, and returns each with the number of times.
    pub(super) fn remove_exhausted(&mut self) -> Vec<(u64, u32)> {
        let spent = self.open.iter().filter(|(_, open)| open.sends >= MAX_SENDS);
        let spent: Vec<(u64, u32)> = spent.map(|(token, open)| (*token, open.sends)).collect();
        for (token, _) in &spent {
            self.open.remove(token);
        }
        spent
    }

    /// Removes all requests, and returns each with the number of times it was sent.
    pub(super) fn drain(&mut self) -> Vec<(u64, u32)> {
        let open = std::mem::take(&mut self.open);
        open.into_iter()
            .map(|(token, open)| (token, open.sends))
            .collect()
    }

    /// The token of the request whose frame has this id.
    pub(super) fn token_of(id: &str) -> Option<u64> {
        id.strip_prefix(PREFIX)?.parse().ok()
    }
}
