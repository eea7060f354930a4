//! Places cache points. Everything before a point may be read from the cache, and is written to it. Four are
//! allowed; three are used, in the same places as at Anthropic's own API: behind the constant part of a
//! session, and behind the last two messages of the user's side.
//!
//! | models | places |
//! | --- | --- |
//! | Claude | `system`, else `tools`; messages with texts or results |
//! | Nova | `system`; messages with texts alone |
//! | others | none |
//!
//! <https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html> has the fields of each model.
//! Nova refuses a point in `tools` ("#/toolConfig/tools/18: extraneous key [cachePoint] is not permitted",
//! <https://github.com/NousResearch/hermes-agent/issues/97281>) and behind results of tools
//! ("#/messages/6/content/0: extraneous key [cachePoint] is not permitted",
//! <https://github.com/zeroclaw-labs/zeroclaw/issues/8720>). Other models refuse any
//! (<https://github.com/zeroclaw-labs/zeroclaw/pull/7315>). After a refusal the run continues without points.

use super::family::ConverseFamily;
use super::messages::ConverseTurn;
use crate::json::{BorrowedJson, object};
use crate::wire_options::anthropic::CacheTtl;

/// Marks the end of the part that does not change. The order of a request is tools, system, messages.
pub(super) fn mark_prefix<'a>(
    family: ConverseFamily,
    system: &mut Vec<BorrowedJson<'a>>,
    tools: &mut Vec<BorrowedJson<'a>>,
    ttl: CacheTtl,
) {
    let takes_any = is_cached(family);
    if takes_any && !system.is_empty() {
        system.push(point(family, ttl));
    } else if family == ConverseFamily::Claude && !tools.is_empty() {
        tools.push(point(family, ttl));
    }
}

/// Marks the last two messages of the user's side in which the model takes a point.
pub(super) fn mark_conversation(family: ConverseFamily, turns: &mut [ConverseTurn<'_>], ttl: CacheTtl) {
    const MARKED: usize = 2;
    if !is_cached(family) {
        return;
    }
    let takes_it = |turn: &&mut ConverseTurn<'_>| {
        let is_text = turn.blocks.iter().all(|block| block.has("text"));
        turn.role == "user" && (is_text || family == ConverseFamily::Claude)
    };
    for turn in turns.iter_mut().rev().filter(takes_it).take(MARKED) {
        turn.blocks.push(point(family, ttl));
    }
}

/// Returns whether models of the family take cache points.
fn is_cached(family: ConverseFamily) -> bool {
    matches!(
        family,
        ConverseFamily::Claude | ConverseFamily::Nova | ConverseFamily::Nova2
    )
}

/// Only Claude keeps a part for an hour.
fn point<'a>(family: ConverseFamily, ttl: CacheTtl) -> BorrowedJson<'a> {
    let point = match ttl {
        CacheTtl::Hour if family == ConverseFamily::Claude => object! {"type": "default", "ttl": "1h"},
        CacheTtl::Hour | CacheTtl::FiveMinutes => object! {"type": "default"},
    };
    object! {"cachePoint": point}
}
