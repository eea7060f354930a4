//! Bounded numbers in queries: what is beyond the bound is a mistake, and the description says the bound.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// How many items are wanted: 1 to `MOST`, and `USUAL` where nobody says.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Limit<const USUAL: u64, const MOST: u64>(u64);

impl<const USUAL: u64, const MOST: u64> Limit<USUAL, MOST> {
    /// The number.
    pub(crate) fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const USUAL: u64, const MOST: u64> Default for Limit<USUAL, MOST> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<const USUAL: u64, const MOST: u64> TryFrom<u64> for Limit<USUAL, MOST> {
    type Error = String;

    fn try_from(limit: u64) -> Result<Self, String> {
        if (1..=MOST).contains(&limit) {
            Ok(Self(limit))
        } else {
            Err(format!("a limit is from 1 to {MOST}"))
        }
    }
}

impl<const USUAL: u64, const MOST: u64> JsonSchema for Limit<USUAL, MOST> {
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
