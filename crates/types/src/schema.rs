//! JSON Schemas of the wire format, for descriptions of the protocol that are generated from the types. They
//! are written by hand for types with a hand-written wire form: envelopes and frames here, ids, events with
//! their tags and the content of messages beside their types. The rest is derived.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

pub use crate::message_content::text_or_parts_schema as text_or_parts;
pub use crate::vocabulary::Payloads;
use crate::vocabulary::alternatives;
use crate::wire::{ClientFrame, ClientRequest, Person, SUBPROTOCOL, ServerNotice};
use crate::{
    ActionId, AgentStateId, Envelope, EnvironmentEvent, RunId, RuntimeEvent, SessionId, Source, Timestamp,
    UiEvent,
};

/// The fields that every event carries besides its own.
struct EnvelopeFields;

impl JsonSchema for EnvelopeFields {
    fn schema_name() -> Cow<'static, str> {
        "Frame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The context of an event.",
            "properties": {
                "seq": {"type": "integer", "minimum": 1, "description": "Its place in the session. Derived events carry that of the event that they come from."},
                "index": {"type": ["integer", "null"], "minimum": 0, "description": "For derived events: which of those that come from the same `seq`, from 0."},
                "at": generator.subschema_for::<Timestamp>(),
                "source": generator.subschema_for::<Source>(),
                "session_id": generator.subschema_for::<SessionId>(),
                "agent_state_id": generator.subschema_for::<Option<AgentStateId>>(),
                "run_id": generator.subschema_for::<Option<RunId>>(),
                "cause": generator.subschema_for::<Option<ActionId>>(),
            },
            "required": ["seq", "at", "source", "session_id"],
        })
    }
}

impl<E: Payloads + JsonSchema> JsonSchema for Envelope<E> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Frame", E::NAME.trim_end_matches("Event")).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (context, event) = (
            generator.subschema_for::<EnvelopeFields>(),
            generator.subschema_for::<E>(),
        );
        json_schema!({"description": "An event with its context.", "allOf": [context, event]})
    }
}

/// Returns whether a payload has required fields; if not, the payload itself is optional.
fn needs_payload(generator: &SchemaGenerator, payload: &Value) -> bool {
    let name = payload["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let fields = name.and_then(|name| generator.definitions().get(name)?.get("required"));
    fields.is_some()
}

impl JsonSchema for ClientFrame {
    fn schema_name() -> Cow<'static, str> {
        "ClientFrame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut alternatives = alternatives::<ClientRequest>(generator, "type");
        for alternative in &mut alternatives {
            if !needs_payload(generator, &alternative["properties"]["payload"]) {
                alternative["required"] = json!(["type"]);
            }
        }
        json_schema!({
            "type": "object",
            "description": "A frame of a client.",
            "properties": {"id": {"type": "string", "maxLength": 64, "description": "The id for its answer; chosen by the client."}},
            "required": ["id"],
            "oneOf": alternatives,
        })
    }
}

/// The whole protocol as one JSON Schema (2020-12): a definition for each frame, event and value.
///
/// A document is one frame of either side. Which frames are possible follows from the side that sends it, and
/// from a subscription's view.
pub fn protocol_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let frames = [
        generator.subschema_for::<ClientFrame>(),
        generator.subschema_for::<ServerNotice>(),
        generator.subschema_for::<Envelope<EnvironmentEvent>>(),
        generator.subschema_for::<Envelope<RuntimeEvent>>(),
        generator.subschema_for::<Envelope<UiEvent>>(),
    ];
    // The answer to an accepted `authenticate`; no frame refers to it.
    generator.subschema_for::<Person>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SUBPROTOCOL,
        "description": "The frames of AgentX, version 1: docs/PROTOCOL.md.",
        "anyOf": frames,
        "$defs": generator.take_definitions(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vocabulary as _;

    #[test]
    fn a_vocabulary_has_an_alternative_for_each_tag() {
        let mut generator = SchemaGenerator::default();
        let schema = EnvironmentEvent::json_schema(&mut generator);
        let alternatives = schema.get("oneOf").and_then(Value::as_array).map(Vec::len);
        assert_eq!(alternatives, Some(EnvironmentEvent::TAGS.len() + 1));
        assert!(generator.definitions().contains_key("UserMessage"));
        assert_eq!(Envelope::<UiEvent>::schema_name(), "UiFrame");
    }
}
