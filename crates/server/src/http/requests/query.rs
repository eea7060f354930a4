//! Types of query parameters: bounded numbers (a number out of bounds is an error, and the description has
//! the bound), and lists.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::{Deserialize, Deserializer};

/// The number of items of a page: 1 to `MOST`, with the default `USUAL`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct PageLimit<const USUAL: u64, const MOST: u64>(u64);

impl<const USUAL: u64, const MOST: u64> PageLimit<USUAL, MOST> {
    /// Returns the number.
    pub(crate) fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const USUAL: u64, const MOST: u64> Default for PageLimit<USUAL, MOST> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<const USUAL: u64, const MOST: u64> TryFrom<u64> for PageLimit<USUAL, MOST> {
    type Error = String;

    fn try_from(limit: u64) -> Result<Self, String> {
        if (1..=MOST).contains(&limit) {
            Ok(Self(limit))
        } else {
            Err(format!("a limit is from 1 to {MOST}"))
        }
    }
}

impl<const USUAL: u64, const MOST: u64> JsonSchema for PageLimit<USUAL, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL, "description": "How many are wanted."})
    }
}

/// Values with commas between them; nothing between two of them is not a value.
#[derive(Clone, Debug)]
pub(crate) struct CommaList<T>(pub(crate) Vec<T>);

impl<T> Default for CommaList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for CommaList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let values = text.split(',').filter(|value| !value.is_empty());
        let values = values.map(|value| T::deserialize(value.into_deserializer()));
        values.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn a_list_has_commas_between_its_values() {
        let list = |text: &str| {
            serde_json::from_value::<CommaList<String>>(text.into())
                .unwrap()
                .0
        };
        assert_eq!(list("a,b"), ["a", "b"]);
        assert_eq!(list("a,,"), ["a"]);
        assert_eq!(list(""), [""; 0]);
    }
}
