//! The envelope around a request of a client: `{"type":…,"id":…,"payload":{…}}`.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::value::RawValue;

use super::ClientRequest;
use crate::Vocabulary as _;
use crate::vocabulary::PayloadOf;

/// A frame of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientFrame {
    /// The id for its answer; chosen by the client, at most 64 characters.
    pub id: String,
    /// The request.
    pub request: ClientRequest,
}

#[derive(Deserialize)]
struct RawClientFrame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: String,
    #[serde(default)]
    payload: Option<Box<RawValue>>,
}

/// Reads a frame only from an object. A derived implementation would also accept an array of its fields.
struct OfObject;

impl<'de> Visitor<'de> for OfObject {
    type Value = RawClientFrame<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `type`, `id` and `payload`")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        RawClientFrame::deserialize(MapAccessDeserializer::new(fields))
    }
}

impl Serialize for ClientFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frame = serializer.serialize_struct("ClientFrame", 3)?;
        frame.serialize_field("type", self.request.tag())?;
        frame.serialize_field("id", &self.id)?;
        frame.serialize_field("payload", &PayloadOf(&self.request))?;
        frame.end()
    }
}

impl<'de> Deserialize<'de> for ClientFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = deserializer.deserialize_map(OfObject)?;
        let nothing = || RawValue::from_string("{}".to_owned());
        let payload = match frame.payload {
            Some(payload) => payload,
            None => nothing().map_err(serde::de::Error::custom)?,
        };
        if !payload.get().starts_with('{') {
            return Err(serde::de::Error::custom("the payload is not an object"));
        }
        let request = ClientRequest::from_parts(&frame.kind, &payload).map_err(serde::de::Error::custom)?;
        Ok(Self {
            id: frame.id,
            request,
        })
    }
}
