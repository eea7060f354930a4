//! Signatures of thinking, which bind the model, the text, everything before the block, and the thinking
//! before it.
//!
//! A signature contains everything that is needed to check it: `made-up.MODEL.PREFIX.BEFORE.WORDS.NUMBER`,
//! hashes in hex.

use serde_json::Value;

use super::form::ThinkingForm;
use super::model::VendorModel;
use super::{blocks, refuse, rules};
use crate::vendors::{VendorRefusal, fingerprint};

const MARK: &str = "made-up";

/// A position in a conversation: the hash up to it, and the last thinking before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThinkingPosition {
    prefix: u64,
    before: u64,
}

impl ThinkingPosition {
    /// Continues behind a block that is not thinking.
    pub(super) fn pass(&mut self, role: &str, block: &Value) {
        let hash = fingerprint(self.prefix, role);
        self.prefix = fingerprint(hash, &blocks::bare(block).to_string());
    }

    /// Returns the signature of thinking at this position, and moves behind it.
    pub(super) fn sign(&mut self, model: &str, words: &str, number: u64) -> String {
        let Self { prefix, before } = *self;
        let words = fingerprint(0, words);
        let signature = format!("{MARK}.{model}.{prefix:x}.{before:x}.{words:x}.{number}");
        self.before = fingerprint(0, &signature);
        signature
    }
}

/// A signature, taken apart.
struct Signed<'a> {
    model: &'a str,
    prefix: u64,
    before: u64,
    words: u64,
}

impl<'a> Signed<'a> {
    fn of(signature: &'a str) -> Option<Self> {
        let rest = signature.strip_prefix(MARK)?.strip_prefix('.')?;
        let mut parts = rest.rsplitn(5, '.');
        let number: u64 = parts.next()?.parse().ok()?;
        let mut hash = || u64::from_str_radix(parts.next()?, 16).ok();
        let (words, before, prefix) = (hash()?, hash()?, hash()?);
        let model = parts.next()?;
        (number > 0).then_some(Self {
            model,
            prefix,
            before,
            words,
        })
    }
}

/// Checks every thinking block in order. Returns the position at the end, and the dropped blocks.
pub(super) fn check(
    body: &Value,
    model: &VendorModel,
    thinking: &ThinkingForm,
    enforced: bool,
) -> Result<(ThinkingPosition, Vec<String>), VendorRefusal> {
    let mut place = ThinkingPosition::default();
    let mut dropped = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        place.pass("tools", tool);
    }
    for block in blocks::of(&body["system"]) {
        place.pass("system", &block);
    }
    let messages: Vec<&Value> = body["messages"].as_array().into_iter().flatten().collect();
    let latest = messages
        .iter()
        .rposition(|message| message["role"] == "assistant");
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        for (index, block) in blocks::of(&message["content"]).iter().enumerate() {
            if !blocks::is_thinking(block) {
                place.pass(role, block);
                continue;
            }
            let name = format!("messages.{at}.content.{index}");
            let is_latest = latest == Some(at);
            if let Some(why) = checked(block, &name, is_latest, model, thinking, enforced, &mut place)? {
                dropped.push(format!("{name}: {why}"));
            }
        }
    }
    Ok((place, dropped))
}

/// Checks one block: kept, dropped for a reason, or refused.
fn checked(
    block: &Value,
    name: &str,
    is_latest: bool,
    model: &VendorModel,
    thinking: &ThinkingForm,
    enforced: bool,
    place: &mut ThinkingPosition,
) -> Result<Option<&'static str>, VendorRefusal> {
    if block["type"] == "redacted_thinking" {
        return Ok(None);
    }
    let signature = block["signature"].as_str().unwrap_or_default();
    let Some(signed) = Signed::of(signature) else {
        return Err(refuse(
            rules::SIGNATURE,
            format!("{name}: Invalid `signature` in `thinking` block"),
        ));
    };
    if is_latest && signed.words != fingerprint(0, block["thinking"].as_str().unwrap_or_default()) {
        let message = format!(
            "{name}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
        );
        return Err(refuse(rules::MODIFIED, message));
    }
    if !model.reads(signed.model) {
        return Ok(Some("model_binding_mismatch"));
    }
    // The first remaining thinking may lack its predecessor.
    let follows = place.before == 0 || place.before == signed.before;
    let checks = model.checks_prefixes() && (enforced || thinking.drops.is_some());
    if checks && !(follows && place.prefix == signed.prefix) {
        if thinking.drops == Some(true) {
            return Ok(Some("prefix_mismatch"));
        }
        let message = format!(
            "{name}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
        );
        return Err(refuse(rules::PREFIX, message));
    }
    place.before = fingerprint(0, signature);
    Ok(None)
}
