//! Places the breakpoints of the prompt cache. Everything up to a breakpoint may be read from the cache, and
//! is written to it. Four are allowed, three are used:
//!
//! - the end of the constant part of a session: tools, then system prompt;
//! - the end of the last message on the user's side: this call writes it, the next one reads it;
//! - the end of the message on the user's side before that: the last call wrote it, this one reads it, even
//!   if there are more blocks between the two than the twenty that the provider looks back.
//!
//! All three are kept for the same time: the API refuses a breakpoint of an hour behind one of 5 minutes.

use super::message_turn::MessageTurn;
use crate::json::{BorrowedJson, object};
use crate::wire_options::anthropic::CacheTtl;

/// Marks the end of the unchanging part.
pub(super) fn mark_prefix<'a>(
    system: &mut [BorrowedJson<'a>],
    tools: &mut [BorrowedJson<'a>],
    ttl: CacheTtl,
) {
    if let Some(last) = system.last_mut().or_else(|| tools.last_mut()) {
        mark(last, ttl);
    }
}

/// Marks the last two messages on the user's side.
pub(super) fn mark_conversation(turns: &mut [MessageTurn<'_>], ttl: CacheTtl) {
    const MARKED: usize = 2;
    let from_user = turns.iter_mut().rev().filter(|turn| turn.role == "user");
    for turn in from_user.take(MARKED) {
        if let Some(last) = turn.blocks.last_mut() {
            mark(last, ttl);
        }
    }
}

fn mark(block: &mut BorrowedJson<'_>, ttl: CacheTtl) {
    let mark = match ttl {
        CacheTtl::FiveMinutes => object! {"type": "ephemeral"},
        CacheTtl::Hour => object! {"type": "ephemeral", "ttl": "1h"},
    };
    block.set("cache_control", mark);
}
