//! Wishes that are under way: each is sent until it is answered, by as many connections as that takes, within
//! a bound.
//!
//! A wish keeps its token from the first sending to its answer, and the id of its frame follows from it: an
//! answer that comes by a later connection is found. Wishes are sent in the order in which they were made.
//! One that was sent three times and cost the connection each time is answered with an error that says that
//! it may or may not have been done.
//!
//! A server that has too many frames refuses one with a time: it did nothing, so that sending does not count,
//! and the wish is sent again then.

use std::collections::BTreeMap;

use agentx_types::wire::{ClientFrame, ClientRequest};

/// The number of wishes that may be under way.
const MOST: usize = 1024;
/// How often one is sent: what kills three connections is not sent by a fourth.
const SENDS: u32 = 3;
/// What the ids of their frames begin with.
const PREFIX: &str = "r";

/// Wishes that are under way, in their order.
#[derive(Debug, Default)]
pub(super) struct OpenWishes {
    open: BTreeMap<u64, OpenWish>,
}

/// A wish that has no answer yet.
#[derive(Debug)]
struct OpenWish {
    request: ClientRequest,
    /// How often it was sent, without the times at which the server did nothing.
    sends: u32,
    /// When it is sent again: the server wants it later.
    later: Option<u64>,
}

impl OpenWishes {
    /// Takes a wish in. It is refused if 1,024 wait already: a front end that does not wait for answers is
    /// broken.
    pub(super) fn add(&mut self, token: u64, request: ClientRequest) -> Result<(), String> {
        if self.open.len() >= MOST {
            return Err(format!("{MOST} requests are already waiting for answers"));
        }
        self.open.insert(
            token,
            OpenWish {
                request,
                sends: 0,
                later: None,
            },
        );
        Ok(())
    }

    /// Takes a wish out, and says how often it was sent.
    pub(super) fn remove(&mut self, token: u64) -> Option<u32> {
        self.open.remove(&token).map(|open| open.sends)
    }

    /// The frame of one of them, to be sent now.
    pub(super) fn send(&mut self, token: u64) -> Option<ClientFrame> {
        let open = self.open.get_mut(&token)?;
        open.sends += 1;
        open.later = None;
        Some(ClientFrame {
            id: format!("{PREFIX}{token}"),
            request: open.request.clone(),
        })
    }

    /// The frames of all of them, in order.
    pub(super) fn send_all(&mut self) -> Vec<ClientFrame> {
        let tokens: Vec<u64> = self.open.keys().copied().collect();
        tokens.into_iter().filter_map(|token| self.send(token)).collect()
    }

    /// The server did nothing about it, and wants it at this time.
    pub(super) fn put_off(&mut self, token: u64, until: u64) {
        if let Some(open) = self.open.get_mut(&token) {
            // It was not heard, so it does not count.
            open.sends -= 1;
            open.later = Some(until);
        }
    }

    /// When the next one has to be sent again.
    pub(super) fn until(&self) -> Option<u64> {
        self.open.values().filter_map(|open| open.later).min()
    }

    /// The frames of those whose time has come.
    pub(super) fn send_due(&mut self, now: u64) -> Vec<ClientFrame> {
        let due = self
            .open
            .iter()
            .filter(|(_, open)| open.later.is_some_and(|later| now >= later));
        let due: Vec<u64> = due.map(|(token, _)| *token).collect();
        due.into_iter().filter_map(|token| self.send(token)).collect()
    }

    /// Those that are not sent again, and how often they were.
    pub(super) fn cut(&mut self) -> Vec<(u64, u32)> {
        let spent = self.open.iter().filter(|(_, open)| open.sends >= SENDS);
        let spent: Vec<(u64, u32)> = spent.map(|(token, open)| (*token, open.sends)).collect();
        for (token, _) in &spent {
            self.open.remove(token);
        }
        spent
    }

    /// Takes all of them out, and says how often each was sent.
    pub(super) fn drain(&mut self) -> Vec<(u64, u32)> {
        let open = std::mem::take(&mut self.open);
        open.into_iter()
            .map(|(token, open)| (token, open.sends))
            .collect()
    }

    /// The wish that the frame with this id was.
    pub(super) fn token_of(id: &str) -> Option<u64> {
        id.strip_prefix(PREFIX)?.parse().ok()
    }
}
