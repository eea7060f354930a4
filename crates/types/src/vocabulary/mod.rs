//! Writes and reads event enums: one tag, one payload struct a variant, and a place for tags that this
//! version does not know.

#[cfg(feature = "schema")]
mod event_schema;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

#[cfg(feature = "schema")]
pub use event_schema::Payloads;
#[cfg(feature = "schema")]
pub(crate) use event_schema::{alternatives, tagged};

pub use crate::newer::Unreadable;

/// A closed set of events, each with a frozen tag.
pub trait Vocabulary: Sized {
    /// Every tag that this version knows, in the order of the enum.
    const TAGS: &'static [&'static str];

    /// The tag of this event.
    fn tag(&self) -> &str;

    /// Writes the payload alone.
    ///
    /// # Errors
    /// Returns the errors of the serializer.
    fn serialize_payload<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads an event from its two parts. A tag that this version does not know is kept unchanged.
    ///
    /// # Errors
    /// Returns an error if the tag is known but the payload is not of its shape.
    fn from_parts(tag: &str, payload: &RawValue) -> Result<Self, serde_json::Error> {
        Self::from_json(tag, payload.get())
    }

    /// The same for a payload that nobody has checked to be JSON yet.
    ///
    /// # Errors
    /// Returns an error if the payload is not JSON, or the tag is known but the payload is not of its shape.
    fn from_json(tag: &str, payload: &str) -> Result<Self, serde_json::Error>;

    /// The same for what a newer version may have written: an unknown word is read as the least specific one,
    /// and an event with more in it that this version does not know is kept unchanged. Requests are read by
    /// [`Vocabulary::from_json`] instead, because a guess at a request would serve nobody.
    ///
    /// # Errors
    /// Returns an error if the payload is not JSON, or the tag is known but the payload is not of its shape.
    fn read(tag: &str, payload: &str) -> Result<DecodedEvent<Self>, serde_json::Error> {
        let error = match Self::from_json(tag, payload) {
            Ok(event) => return Ok(DecodedEvent { event, newer: None }),
            Err(error) => error,
        };
        let whole = || -> Result<_, serde_json::Error> {
            Ok(UnknownEvent {
                tag: tag.to_owned(),
                payload: serde_json::from_str(payload)?,
            })
        };
        match Self::from_newer(tag, payload) {
            Ok(event) => Ok(DecodedEvent {
                event,
                newer: Some(Box::new(whole()?)),
            }),
            Err(Unreadable::Newer) => Ok(DecodedEvent {
                event: Self::unknown(whole()?),
                newer: None,
            }),
            Err(Unreadable::Wrong) => Err(error),
        }
    }

    /// An event that this version makes nothing of.
    fn unknown(event: UnknownEvent) -> Self;

    /// Reads a known event with words of a newer version.
    #[doc(hidden)]
    fn from_newer(tag: &str, payload: &str) -> Result<Self, Unreadable>;

    /// The payload as JSON text.
    fn payload_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        // Payloads are plain data with string keys; writing them to memory has no way to fail.
        let _ = self.serialize_payload(&mut serde_json::Serializer::new(&mut out));
        out
    }
}

/// An event as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedEvent<E> {
    /// The event as this version reads it.
    pub event: E,
    /// The event as a newer version wrote it, if this version would write `event` differently.
    pub newer: Option<Box<UnknownEvent>>,
}

/// An event of a newer version, kept as it came and passed on.
#[derive(Clone, Debug)]
pub struct UnknownEvent {
    /// The tag.
    pub tag: String,
    /// The payload, unchanged.
    pub payload: Box<RawValue>,
}

impl PartialEq for UnknownEvent {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag && self.payload.get() == other.payload.get()
    }
}

/// The two parts of an event on the wire.
#[derive(Deserialize)]
pub(crate) struct EventParts<'a> {
    #[serde(borrow)]
    pub(crate) event: Cow<'a, str>,
    pub(crate) payload: Box<RawValue>,
}

/// Serialises the payload of an event without its tag.
pub(crate) struct PayloadOf<'a, E>(pub(crate) &'a E);

impl<E: Vocabulary> Serialize for PayloadOf<'_, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_payload(serializer)
    }
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* pub enum $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $tag:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $enum {
            $($(#[$vdoc])* $variant($variant),)*
            /// An event of a newer version, kept unchanged.
            Unknown($crate::UnknownEvent),
        }

        impl $crate::Vocabulary for $enum {
            const TAGS: &'static [&'static str] = &[$($tag,)*];

            fn tag(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $tag,)*
                    Self::Unknown(event) => &event.tag,
                }
            }

            fn serialize_payload<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::Serialize as _;
                match self {
                    $(Self::$variant(payload) => payload.serialize(serializer),)*
                    Self::Unknown(event) => event.payload.serialize(serializer),
                }
            }

            fn from_json(tag: &str, payload: &str) -> Result<Self, serde_json::Error> {
                Ok(match tag {
                    $($tag => Self::$variant(serde_json::from_str(payload)?),)*
                    _ => Self::Unknown($crate::UnknownEvent { tag: tag.to_owned(), payload: serde_json::from_str(payload)? }),
                })
            }

            fn unknown(event: $crate::UnknownEvent) -> Self {
                Self::Unknown(event)
            }

            fn from_newer(tag: &str, payload: &str) -> Result<Self, $crate::vocabulary::Unreadable> {
                Ok(match tag {
                    $($tag => Self::$variant($crate::newer::payload(payload)?),)*
                    _ => return Err($crate::vocabulary::Unreadable::Wrong),
                })
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                use $crate::Vocabulary as _;
                let mut frame = serializer.serialize_struct(stringify!($enum), 2)?;
                frame.serialize_field("event", self.tag())?;
                frame.serialize_field("payload", &$crate::vocabulary::PayloadOf(self))?;
                frame.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let parts = $crate::vocabulary::EventParts::deserialize(deserializer)?;
                let read = <Self as $crate::Vocabulary>::read(&parts.event, parts.payload.get());
                read.map(|read| read.event).map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl $crate::Payloads for $enum {
            const NAME: &'static str = stringify!($enum);

            fn payloads(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($tag, generator.subschema_for::<$variant>()),)*]
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $enum {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($enum).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::vocabulary::tagged::<Self>(generator, "event")
            }
        }

        $(impl From<$variant> for $enum {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })*
    };
}

/// Reads a present value, even `null`: `Some` stays `Some`, so that a fact that was read back is the same to
/// the byte.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Payload structs of a vocabulary: public data with one derive list.
macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* })*) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$doc])*
        pub struct $name {
            $($(#[$fdoc])* pub $field: $ty,)*
        }
    )*};
}

pub(crate) use {payloads, vocabulary};
