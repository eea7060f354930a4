//! Replaces the secrets in facts that are recorded already. Each fact keeps its number: a secret that lies in
//! several pieces of a text is replaced in the first, and taken out of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use agentx_secrets::{Redactor, SecretPlace};
use agentx_session::Fact;
use agentx_types::{ActionId, BlobId, EnvironmentEvent, PartEnd, Vocabulary as _};
use serde_json::Value;

use super::content::redact_input;
use super::event::redact_event;
use super::recorded_text::{is_piece, recorded_texts, set_piece};
use crate::log::blobs::{blobs_of, exact_blobs_of};

/// Facts without their secrets.
#[derive(Debug, Default)]
pub(crate) struct ReplacedFacts {
    /// The facts that changed, in order.
    pub(crate) facts: Vec<Fact>,
    /// The names of the secrets.
    pub(crate) names: BTreeSet<String>,
    /// Events with a secret in a place that cannot be replaced.
    pub(crate) unreplaced: Vec<u64>,
}

/// The facts that change without the secrets, and with blobs in place of others.
pub(crate) fn replaced_facts(
    redactor: &Redactor,
    facts: &[Fact],
    blobs: &BTreeMap<BlobId, BlobId>,
) -> ReplacedFacts {
    let mut done = ReplacedFacts::default();
    let pieces = pieces_without(redactor, facts, &mut done.names);
    let mut unsigned = UnsignedThoughts::default();
    for fact in facts {
        let event = if unsigned.loses_signature(fact, pieces.contains_key(&fact.seq)) {
            Some(PartEnd {}.into())
        } else if is_piece(&fact.event) {
            pieces.get(&fact.seq).map(|text| {
                let mut event = fact.event.clone();
                set_piece(&mut event, text.clone());
                event
            })
        } else {
            whole_without(redactor, fact, blobs, &mut done)
        };
        if let Some(event) = event {
            let mut changed = (**fact).clone();
            (changed.event, changed.newer) = (event, None);
            done.facts.push(Arc::new(changed));
        }
    }
    done
}

/// The pieces of texts that change, by their events.
fn pieces_without(
    redactor: &Redactor,
    facts: &[Fact],
    names: &mut BTreeSet<String>,
) -> BTreeMap<u64, String> {
    let mut changed = BTreeMap::new();
    for text in recorded_texts(facts.iter().map(|fact| &**fact)) {
        let places = redactor.find(text.text());
        names.extend(places.iter().map(|place| place.name.clone()));
        for (seq, range) in text.pieces() {
            changed.extend(piece_without(text.text(), range, &places).map(|piece| (seq, piece)));
        }
    }
    changed
}

/// A piece of a text without the secrets; `None` if it has no part of one.
fn piece_without(text: &str, range: Range<usize>, places: &[SecretPlace]) -> Option<String> {
    let touched = |place: &&SecretPlace| place.start < range.end && place.end > range.start;
    let mut places = places.iter().filter(touched).peekable();
    places.peek()?;
    let (mut without, mut at) = (String::new(), range.start);
    for place in places {
        without.push_str(text.get(at..place.start.max(at)).unwrap_or_default());
        if place.start >= range.start {
            without.push_str(&format!("[secret {}]", place.name));
        }
        at = place.end.min(range.end);
    }
    without.push_str(text.get(at..range.end).unwrap_or_default());
    Some(without)
}

/// An event without its secrets and with other blobs; `None` if it stays as it is.
fn whole_without(
    redactor: &Redactor,
    fact: &Fact,
    blobs: &BTreeMap<BlobId, BlobId>,
    done: &mut ReplacedFacts,
) -> Option<EnvironmentEvent> {
    let mut event = with_blobs(&fact.event, blobs).unwrap_or_else(|| fact.event.clone());
    if let EnvironmentEvent::UserMessage(message) = &mut event {
        redact_input(Some(redactor), &mut message.content);
    }
    redact_event(redactor, &mut event);
    if event.tag() != fact.event.tag() {
        done.unreplaced.push(fact.seq);
        return None;
    }
    let payload = fact.payload_json();
    let payload = String::from_utf8_lossy(&payload);
    let is_in_newer = fact.newer.is_some() && redactor.may_find_in(&payload);
    if event == fact.event && !is_in_newer {
        return None;
    }
    let places = redactor.find(&payload).into_iter();
    done.names.extend(places.map(|place| place.name));
    Some(event)
}

/// Returns an event with its blobs replaced; `None` if it has none of them. Contents that are of use only
/// unchanged keep their ids.
fn with_blobs(event: &EnvironmentEvent, blobs: &BTreeMap<BlobId, BlobId>) -> Option<EnvironmentEvent> {
    let exact = exact_blobs_of(event);
    let named = blobs_of(event);
    let is_replaced = |blob: &&BlobId| blobs.contains_key(*blob) && !exact.contains(*blob);
    let replaced: Vec<&BlobId> = named.iter().filter(is_replaced).collect();
    if replaced.is_empty() {
        return None;
    }
    let mut value: Value = serde_json::from_slice(&event.payload_json()).ok()?;
    for blob in replaced {
        if let Some(other) = blobs.get(blob) {
            rename(&mut value, blob.as_str(), other.as_str());
        }
    }
    EnvironmentEvent::from_json(event.tag(), &value.to_string()).ok()
}

/// Replaces an id in all texts of a value: it may also be in the middle of one.
fn rename(value: &mut Value, id: &str, other: &str) {
    match value {
        Value::String(text) if text.contains(id) => *text = text.replace(id, other),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, id, other)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, id, other)),
        _ => {}
    }
}

/// Model calls whose latest thought had a secret, each with whether that thought is over: its signature no
/// longer fits.
#[derive(Default)]
struct UnsignedThoughts(BTreeMap<ActionId, bool>);

impl UnsignedThoughts {
    /// Returns whether a fact is data that belongs to a thought with a replaced secret.
    fn loses_signature(&mut self, fact: &Fact, is_replaced: bool) -> bool {
        use EnvironmentEvent as E;
        let Some(call) = &fact.cause else { return false };
        match &fact.event {
            E::ThinkingChunk(_) if is_replaced => {
                self.0.insert(call.clone(), false);
            }
            E::ThinkingChunk(_) => {
                if self.0.get(call) == Some(&true) {
                    self.0.remove(call);
                }
            }
            E::ProviderPart(part) if part.attach => {
                if let Some(is_over) = self.0.get_mut(call) {
                    *is_over = true;
                    return true;
                }
            }
            E::PartEnd(_) => {
                if let Some(is_over) = self.0.get_mut(call) {
                    *is_over = true;
                }
            }
            E::UsageReport(_) => {}
            _ => {
                self.0.remove(call);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use agentx_secrets::{Origin, SecretSet};
    use agentx_types::{
        Envelope, ProviderPart, SessionId, SessionTitled, Source, TextChunk, ThinkingChunk, Timestamp,
    };
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        let mut set = SecretSet::default();
        assert!(set.add("KEY", Origin::Person, "made-up-value"));
        Redactor::new(&set)
    }

    fn facts(events: Vec<EnvironmentEvent>) -> Vec<Fact> {
        let fact = |(seq, event)| {
            Arc::new(Envelope {
                seq,
                index: None,
                at: Timestamp(0),
                source: Source::Environment,
                session_id: SessionId::new("ses_1"),
                agent_state_id: None,
                run_id: None,
                cause: Some(ActionId::new("act_1")),
                event,
                newer: None,
            })
        };
        (1..).zip(events).map(fact).collect()
    }

    fn text(text: &str) -> EnvironmentEvent {
        TextChunk { text: text.into() }.into()
    }

    fn thinking(text: &str) -> EnvironmentEvent {
        ThinkingChunk { text: text.into() }.into()
    }

    fn changed(events: Vec<EnvironmentEvent>) -> Vec<(u64, EnvironmentEvent)> {
        let done = replaced_facts(&redactor(), &facts(events), &BTreeMap::new());
        done.facts
            .iter()
            .map(|fact| (fact.seq, fact.event.clone()))
            .collect()
    }

    #[test]
    fn a_secret_in_several_pieces_is_replaced_in_the_first_of_them() {
        let events = vec![
            text("it is ma"),
            text("de-up-"),
            text("value, so"),
            text(" be it"),
        ];
        let expected = vec![(1, text("it is [secret KEY]")), (2, text("")), (3, text(", so"))];
        assert_eq!(changed(events), expected);
    }

    #[test]
    fn two_secrets_in_one_piece_are_replaced() {
        let events = vec![text("made-up-value made-up-value!")];
        assert_eq!(changed(events), [(1, text("[secret KEY] [secret KEY]!"))]);
    }

    #[test]
    fn only_the_signature_of_a_thought_with_a_secret_goes() {
        let signature = |data: &str| -> EnvironmentEvent {
            ProviderPart {
                api: "anthropic".into(),
                attach: true,
                data: json!({ "signature": data }),
            }
            .into()
        };
        let events = vec![
            thinking("the key is made-up-"),
            thinking("value"),
            thinking(", it seems"),
            signature("first"),
            PartEnd {}.into(),
            thinking("nothing is secret here"),
            signature("second"),
        ];
        let expected = vec![
            (1, thinking("the key is [secret KEY]")),
            (2, thinking("")),
            (4, PartEnd {}.into()),
        ];
        assert_eq!(changed(events), expected);
    }

    #[test]
    fn a_whole_event_keeps_its_kind_and_names_the_secret() {
        let titled = |title: &str| SessionTitled {
            title: title.into(),
            by: None,
        };
        let before = facts(vec![titled("about made-up-value").into()]);
        let done = replaced_facts(&redactor(), &before, &BTreeMap::new());
        assert_eq!(done.facts.len(), 1);
        assert_eq!(
            done.facts[0].event,
            EnvironmentEvent::from(titled("about [secret KEY]"))
        );
        assert_eq!(done.names.iter().collect::<Vec<_>>(), ["KEY"]);
        let again = replaced_facts(&redactor(), &done.facts, &BTreeMap::new());
        assert!(again.facts.is_empty(), "{again:?}");
    }
}
