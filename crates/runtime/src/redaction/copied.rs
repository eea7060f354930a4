//! Checks that facts of a server differ from those of its mirror by a redaction alone.
//!
//! The mirror does not know the secrets, so it checks the form: the same events of the same kinds in the same
//! context, with `[secret NAME]` in the place of parts of texts. What stood in these places, the server alone
//! knows: one that replaces other words than secrets is not found out.

use std::collections::{BTreeMap, BTreeSet};

use agentx_session::Fact;
use agentx_types::{ActionId, BlobId, EnvironmentEvent, Vocabulary as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::recorded_text::{piece_text, recorded_texts, set_piece};
use super::values::{RedactedArea, SIGNATURES, is_named};
use crate::log::blobs::blobs_of;

/// The beginning of a replacement; the name and `]` follow.
const MARK: &str = "[secret ";

/// A fact that differs in another way than by a redaction.
#[derive(Debug)]
pub(crate) struct UnredactedChange {
    /// The number of the fact.
    pub(crate) seq: u64,
    /// The difference, as a part of a sentence.
    pub(crate) what: &'static str,
}

/// Checks all facts of a session against those from before. Returns the blobs that others replace; their
/// contents have to be compared too, with [`is_replacement`].
pub(crate) fn check_copied(
    before: &[Fact],
    after: &[Fact],
) -> Result<BTreeMap<BlobId, BlobId>, UnredactedChange> {
    let mut check = CopyCheck::default();
    for (was, is) in before.iter().zip(after) {
        let checked = check.fact(was, is);
        checked.map_err(|what| UnredactedChange { seq: was.seq, what })?;
    }
    let texts = |facts: &[Fact]| recorded_texts(facts.iter().map(|fact| &**fact));
    for (was, is) in texts(before).iter().zip(&texts(after)) {
        if !is_replacement(was.text(), is.text(), false) {
            return Err(UnredactedChange {
                seq: was.seq_at(0),
                what: "the text that begins there has other words",
            });
        }
    }
    Ok(check.renamed)
}

/// A summary of the facts seen so far.
#[derive(Default)]
struct CopyCheck {
    /// Blobs, with those that replace them.
    renamed: BTreeMap<BlobId, BlobId>,
    /// Model calls with a thought that changed: its signature becomes the end of a part.
    unsigned: BTreeSet<ActionId>,
}

impl CopyCheck {
    /// Checks one fact. The error says what differs.
    fn fact(&mut self, was: &Fact, is: &Fact) -> Result<(), &'static str> {
        if was == is {
            return Ok(());
        }
        let mut context = (**is).clone();
        context.event = was.event.clone();
        context.newer.clone_from(&was.newer);
        if context != **was {
            return Err("its time, its source or what it belongs to is another one");
        }
        if let Some(text) = piece_text(&was.event) {
            return self.piece(was, is, text);
        }
        if self.is_lost_signature(was, is) {
            return Ok(());
        }
        if was.event.tag() != is.event.tag() {
            return Err("its kind is another one");
        }
        // What only a newer version knows goes with a secret that an earlier one took out.
        let is_known = self.payload(was, &was.payload_json(), is, &is.payload_json());
        let is_reduced = || was.newer.is_some() && is.newer.is_none();
        if is_known
            || is_reduced() && self.payload(was, &was.event.payload_json(), is, &is.event.payload_json())
        {
            return Ok(());
        }
        Err("it differs in more than replaced texts")
    }

    fn piece(&mut self, was: &Fact, is: &Fact, text: &str) -> Result<(), &'static str> {
        let mut restored = is.event.clone();
        set_piece(&mut restored, text.to_owned());
        if restored != was.event {
            return Err("it is not a piece of the same text");
        }
        let now = piece_text(&is.event).unwrap_or_default();
        if !is_replacement(text, now, true) {
            return Err("its text has other words");
        }
        if matches!(was.event, EnvironmentEvent::ThinkingChunk(_)) {
            self.unsigned.extend(was.cause.clone());
        }
        Ok(())
    }

    /// Returns whether a signature of a thought that changed became the end of a part.
    fn is_lost_signature(&self, was: &Fact, is: &Fact) -> bool {
        let of_thought = |call: &ActionId| self.unsigned.contains(call);
        matches!(&was.event, EnvironmentEvent::ProviderPart(part) if part.attach)
            && matches!(is.event, EnvironmentEvent::PartEnd(_))
            && was.cause.as_ref().is_some_and(of_thought)
    }

    /// Returns whether a payload, as JSON, differs by replaced texts and renamed blobs alone.
    fn payload(&mut self, was: &Fact, was_json: &[u8], is: &Fact, is_json: &[u8]) -> bool {
        let read = |json: &[u8]| serde_json::from_slice::<Value>(json).ok();
        let (Some(mut was_value), Some(mut is_value)) = (read(was_json), read(is_json)) else {
            return false;
        };
        let (named, named_now) = (blobs_of(&was.event), blobs_of(&is.event));
        let gone: BTreeSet<&BlobId> = named.difference(&named_now).collect();
        let new: BTreeSet<&BlobId> = named_now.difference(&named).collect();
        self.note_renamed(&was_value, &is_value, &gone, &new);
        if !matches!(was.event, EnvironmentEvent::ProviderPart(_)) {
            return self.value(&was_value, &is_value, Some(RedactedArea::Payload));
        }
        // Around the data of the provider are fields of ours, which stay.
        let data = |value: &mut Value| value.get_mut("data").map(Value::take).unwrap_or_default();
        let (was_data, is_data) = (data(&mut was_value), data(&mut is_value));
        was_value == is_value && self.value(&was_data, &is_data, Some(RedactedArea::Provider))
    }

    /// Notes the blobs that have others in their places.
    fn note_renamed(&mut self, was: &Value, is: &Value, gone: &BTreeSet<&BlobId>, new: &BTreeSet<&BlobId>) {
        match (was, is) {
            (Value::String(was), Value::String(is)) => {
                let (was, is) = (BlobId::new(was), BlobId::new(is));
                if gone.contains(&was) && new.contains(&is) {
                    self.renamed.entry(was).or_insert(is);
                }
            }
            (Value::Array(was), Value::Array(is)) => {
                let pairs = was.iter().zip(is);
                pairs.for_each(|(was, is)| self.note_renamed(was, is, gone, new));
            }
            (Value::Object(was), Value::Object(is)) => {
                for (key, was) in was {
                    if let Some(is) = is.get(key) {
                        self.note_renamed(was, is, gone, new);
                    }
                }
            }
            _ => {}
        }
    }

    /// Compares two values. Texts of `None` stay as they are, except for names of blobs.
    fn value(&self, was: &Value, is: &Value, area: Option<RedactedArea>) -> bool {
        match (was, is) {
            (Value::String(was), Value::String(is)) => self.text(was, is, area.is_some()),
            (Value::Array(was), Value::Array(is)) => {
                was.len() == is.len() && was.iter().zip(is).all(|(was, is)| self.value(was, is, area))
            }
            (Value::Object(was), Value::Object(is)) => self.object(was, is, area),
            (Value::Number(was), Value::String(is)) if area == Some(RedactedArea::Free) => {
                is_replacement(&was.to_string(), is, false)
            }
            (was, is) => was == is,
        }
    }

    fn text(&self, was: &str, is: &str, is_searched: bool) -> bool {
        let renamed = self.renamed.iter().fold(was.to_owned(), |text, (blob, other)| {
            text.replace(blob.as_str(), other.as_str())
        });
        [was, renamed.as_str()]
            .into_iter()
            .any(|was| was == is || is_searched && is_replacement(was, is, false))
    }

    fn object(&self, was: &Map<String, Value>, is: &Map<String, Value>, area: Option<RedactedArea>) -> bool {
        let is_named = is_named(was);
        let fits = |(key, was): (&String, &Value)| {
            let inner = inner_area(area, key, was, is_named);
            is.get(key)
                .is_none_or(|is| self.value(was, is, inner) || key == "base64" && is_replaced_file(was, is))
        };
        if !was.iter().all(fits) {
            return false;
        }
        let lost: Vec<_> = was.iter().filter(|(key, _)| !is.contains_key(*key)).collect();
        let new: Vec<_> = is.iter().filter(|(key, _)| !was.contains_key(*key)).collect();
        let is_changed = || {
            is.iter()
                .any(|(key, is)| was.get(key).is_some_and(|was| was != is))
        };
        match area {
            _ if lost.is_empty() && new.is_empty() => true,
            // Names of fields are replaced too; two of them may become one.
            Some(RedactedArea::Free) => {
                let is_of = |(key, was): &(&String, &Value), (other, is): &(&String, &Value)| {
                    is_replacement(key, other, false) && self.value(was, is, area)
                };
                let has_other = |(key, _): &(&String, &Value)| {
                    new.iter().any(|(other, _)| is_replacement(key, other, false))
                };
                lost.iter().all(has_other) && new.iter().all(|new| lost.iter().any(|lost| is_of(lost, new)))
            }
            // A signature goes with the text that it signs.
            Some(RedactedArea::Provider) => {
                let is_signature = |(key, _): &(&String, &Value)| SIGNATURES.contains(&key.as_str());
                new.is_empty() && lost.iter().all(is_signature) && is_changed()
            }
            Some(RedactedArea::Payload) => {
                let is_signature = |(key, _): &(&String, &Value)| *key == "provider";
                new.is_empty() && lost.iter().all(is_signature) && is_changed()
            }
            None => false,
        }
    }
}

/// The purpose of a field of an object with this purpose; see [`is_named`].
fn inner_area(area: Option<RedactedArea>, key: &str, was: &Value, is_named: bool) -> Option<RedactedArea> {
    let area = area?;
    if area == RedactedArea::Provider && (was.is_object() || was.is_array()) {
        return Some(area);
    }
    area.of_field(key, was, is_named)
}

/// Returns whether a text that is attached as base64 differs by replaced parts alone.
fn is_replaced_file(was: &Value, is: &Value) -> bool {
    let text = |value: &Value| {
        let bytes = STANDARD.decode(value.as_str()?).ok()?;
        String::from_utf8(bytes).ok()
    };
    match (text(was), text(is)) {
        (Some(was), Some(is)) => is_replacement(&was, &is, false),
        _ => false,
    }
}

/// Returns whether a text is another one with `[secret NAME]` in the place of parts that are not empty. With
/// `may_begin_later`, its beginning may be missing too: a secret that begins in an earlier piece is replaced
/// there.
pub(crate) fn is_replacement(was: &str, is: &str, may_begin_later: bool) -> bool {
    if was == is {
        return true;
    }
    let kept = kept_parts(is);
    let [first, middle @ .., last] = kept.as_slice() else {
        return may_begin_later && was.ends_with(is);
    };
    let rest = if may_begin_later {
        was.split_once(*first).map(|(_, rest)| rest)
    } else {
        was.strip_prefix(*first)
    };
    // The first place of each part leaves most of the text for the later ones.
    let rest = middle.iter().try_fold(rest, |rest, part| {
        let (_, rest) = without_first(rest?)?.split_once(*part)?;
        Some(Some(rest))
    });
    let end = rest.flatten().and_then(without_first);
    end.is_some_and(|end| end.ends_with(*last))
}

/// A text without its first character.
fn without_first(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    chars.next()?;
    Some(chars.as_str())
}

/// The parts of a text around its replacements: one more than there are replacements.
fn kept_parts(text: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(MARK)) {
        let mark = at + found;
        let name = text.get(mark + MARK.len()..).unwrap_or_default();
        let behind = name.trim_start_matches(is_of_name);
        let is_named = behind.len() < name.len();
        if let (true, Some(rest)) = (is_named, behind.strip_prefix(']')) {
            parts.extend(text.get(from..mark));
            at = text.len() - rest.len();
            from = at;
        } else {
            at = mark + 1;
        }
    }
    parts.extend(text.get(from..));
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentx_secrets::{Origin, Redactor, SecretSet};
    use agentx_types::{Envelope, SessionId, Source, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::redaction::replaced_facts;

    fn facts(events: &[(&str, Value)]) -> Vec<Fact> {
        let fact = |(seq, (tag, payload)): (u64, &(&str, Value))| {
            Arc::new(Envelope {
                seq,
                index: None,
                at: Timestamp(0),
                source: Source::Environment,
                session_id: SessionId::new("ses_1"),
                agent_state_id: None,
                run_id: None,
                cause: Some(ActionId::new("act_1")),
                event: EnvironmentEvent::from_json(tag, &payload.to_string()).unwrap(),
                newer: None,
            })
        };
        (1..).zip(events).map(fact).collect()
    }

    fn user(part: &Value) -> (&'static str, Value) {
        let payload = json!({"message_id": "msg_1", "content": [part], "mode": "queue"});
        ("user_message", payload)
    }

    fn result(text: &str, details: &Value) -> (&'static str, Value) {
        let result = json!([{"type": "text", "text": text}]);
        let payload = json!({"tool_call_id": "call_1", "result": result, "is_error": false, "status": "success", "details": details});
        ("tool_result", payload)
    }

    /// A conversation with a made-up secret in every kind of place.
    fn conversation() -> Vec<(&'static str, Value)> {
        vec![
            user(&json!({"type": "text", "text": "it is 8204175936, or [secret OTHER]"})),
            user(
                &json!({"type": "file", "media_type": "text/plain", "source": {"base64": STANDARD.encode("8204175936\n")}}),
            ),
            ("thinking_chunk", json!({"text": "so 82041"})),
            ("thinking_chunk", json!({"text": "75936 it"})),
            ("thinking_chunk", json!({"text": " is"})),
            (
                "provider_part",
                json!({"api": "anthropic", "attach": true, "data": {"signature": "c2ln"}}),
            ),
            ("text_chunk", json!({"text": "8204"})),
            ("text_chunk", json!({"text": "1759"})),
            ("text_chunk", json!({"text": "36 8204175936!"})),
            (
                "provider_part",
                json!({"api": "openai_chat", "attach": false, "data": {"reasoning_details": [
                    {"type": "reasoning.text", "text": "It is 8204175936.", "signature": "c2ln"},
                ]}}),
            ),
            result(
                "the pin 8204175936 in b3_aa",
                &json!({"blob": "b3_aa", "pin": 8_204_175_936_u64, "8204175936": [1]}),
            ),
            ("session_titled", json!({"title": "about 8204175936"})),
        ]
    }

    #[test]
    fn everything_that_a_redaction_does_is_one() {
        let before = facts(&conversation());
        let mut set = SecretSet::default();
        assert!(set.add("PIN", Origin::Person, "8204175936"));
        let blobs = BTreeMap::from([(BlobId::new("b3_aa"), BlobId::new("b3_bb"))]);
        let done = replaced_facts(&Redactor::new(&set), &before, &blobs);
        let mut after = before.clone();
        for fact in done.facts {
            let at = after.iter().position(|known| known.seq == fact.seq).unwrap();
            after[at] = fact;
        }
        // Only ` is` has no part of the secret.
        let same = before.iter().zip(&after).filter(|(was, is)| was == is);
        assert_eq!(same.map(|(was, _)| was.seq).collect::<Vec<_>>(), [5]);
        assert_eq!(check_copied(&before, &after).unwrap(), blobs);
        assert!(
            check_copied(&after, &before).is_err(),
            "and not the other way round"
        );
    }

    #[test]
    fn other_changes_are_refused() {
        let text = |text: &str| user(&json!({"type": "text", "text": text}));
        let piece = |text: &str| ("text_chunk", json!({ "text": text }));
        let provider = |data: Value| ("provider_part", json!({"api": "a", "attach": true, "data": data}));
        let titled = |title: &str| ("session_titled", json!({ "title": title }));
        for (was, is) in [
            (vec![text("pay 100 to Ada")], vec![text("pay 900 to Eve")]),
            (
                vec![text("pay 100 to Ada")],
                vec![text("pay [secret PIN] to Eve")],
            ),
            (vec![text("pay 100")], vec![text("pay [secret PIN] 100")]),
            (vec![text("pay 100")], vec![text("pay [secret ]")]),
            (vec![text("pay 100")], vec![text("pay")]),
            (vec![text("pay 100")], vec![titled("pay 100")]),
            (vec![piece("pay 1"), piece("00")], vec![piece("pay 1"), piece("")]),
            (
                vec![piece("pay 1"), piece("00")],
                vec![piece("pay 100"), piece("")],
            ),
            (
                vec![piece("pay"), piece(" 1")],
                vec![piece("pay"), piece(" 1[secret PIN]")],
            ),
            (
                vec![provider(json!({"signature": "c2ln"}))],
                vec![provider(json!({}))],
            ),
            (
                vec![provider(json!({"signature": "c2ln"}))],
                vec![("part_end", json!({}))],
            ),
            (
                vec![result("hm", &json!({"exit_code": 1}))],
                vec![result("hm", &json!({"exit_code": 0}))],
            ),
            (
                vec![result("hm", &json!({"exit_code": 1}))],
                vec![result("hm", &json!({}))],
            ),
        ] {
            let (before, after) = (facts(&was), facts(&is));
            assert!(check_copied(&before, &after).is_err(), "{was:?} {is:?}");
        }
        let before = facts(&[text("pay 100")]);
        let mut later = (*before[0]).clone();
        later.at.0 += 1;
        assert!(check_copied(&before, &[Arc::new(later)]).is_err());
    }

    /// A word of a fixed set, a name of a tool or a person decides what a session does; no secret is there.
    #[test]
    fn words_that_are_no_texts_stay() {
        let call = json!({"tool_call_id": "call_1", "name": "read", "input": {}});
        let access = json!({"person": "own_2", "role": "approve", "by": "own_1"});
        let wheel = json!({"seat": {"person": "own_2", "client": "laptop"}, "reason": "released"});
        let tools = json!({"change": {"approval": "deny", "tools": [{"name": "bash", "access": "run"}]}});
        let allowed = json!({"decision": "deny", "rule": {"tool": "bash", "effect": "allow"}});
        let result = json!({"tool_call_id": "call_1", "status": "denied"});
        let ends = facts(&[("part_end", json!({}))]);
        for (payload, field) in [
            (&call, "/name"),
            (&access, "/person"),
            (&access, "/role"),
            (&wheel, "/seat/client"),
            (&tools, "/change/approval"),
            (&tools, "/change/tools/0/name"),
            (&tools, "/change/tools/0/access"),
            (&allowed, "/decision"),
            (&allowed, "/rule/tool"),
            (&result, "/status"),
            (&json!({"stop_reason": "refusal"}), "/stop_reason"),
            (&json!({"source": "memory"}), "/source"),
        ] {
            let mut replaced = payload.clone();
            *replaced.pointer_mut(field).unwrap() = json!("[secret PIN]");
            let (was, is) = (payload.to_string(), replaced.to_string());
            let mut check = CopyCheck::default();
            assert!(check.payload(&ends[0], was.as_bytes(), &ends[0], was.as_bytes()));
            assert!(
                !check.payload(&ends[0], was.as_bytes(), &ends[0], is.as_bytes()),
                "{field}"
            );
        }
    }

    #[test]
    fn texts_beside_them_are_replaced() {
        let tool = |text: &str| json!({"tools": [{"name": "bash", "access": "run", "description": text}]});
        let file = |text: &str| json!({"content": [{"type": "file", "name": text, "source": {"url": text}}]});
        let check = CopyCheck::default();
        let (was, is) = ("it is 8204175936", "it is [secret PIN]");
        for (was, is) in [(tool(was), tool(is)), (file(was), file(is))] {
            assert!(check.value(&was, &is, Some(RedactedArea::Payload)), "{was}");
        }
    }

    #[test]
    fn replacements_are_found_in_any_order() {
        for (was, is) in [
            ("a b a b", "a [secret X] b"),
            ("a b a b", "[secret X] b"),
            ("xx", "[secret X][secret Y]"),
            ("äö", "ä[secret X:y/1]"),
            ("see [secret X] and b", "see [secret X] and [secret Y]"),
        ] {
            assert!(is_replacement(was, is, false), "{was} {is}");
        }
        for (was, is) in [
            ("x", "[secret X][secret Y]"),
            ("", "[secret X]"),
            ("ab", "[secret X]ab"),
        ] {
            assert!(!is_replacement(was, is, true), "{was} {is}");
        }
        assert!(is_replacement("lue, so", ", so", true) && !is_replacement("lue, so", ", so", false));
    }
}
