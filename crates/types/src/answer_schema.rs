//! The schema of a run's answer. A person or a program gives it with an input, or a file with an agent; the
//! agent ends the run only with an answer that fits, and a model that has a mode for it is sent the schema.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The default number of times that a model is asked again after an answer that does not fit.
pub const ANSWER_REPAIRS: u32 = 2;

/// The largest number of times. A schema with a larger number is refused, and in an old log it counts as this
/// number.
pub const MAX_ANSWER_REPAIRS: u32 = 10;

/// Maximum size of a schema that comes from outside, in bytes of JSON.
pub const MAX_SCHEMA_BYTES: usize = 256 << 10;

/// The schema of the answer that ends a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerSchema {
    /// The JSON Schema (2020-12 unless it names another version).
    pub schema: Value,
    /// Maximum number of times in one run that the model is asked again because its answer does not fit: at
    /// most [`MAX_ANSWER_REPAIRS`]. The default is 2.
    #[serde(default = "default_repairs")]
    pub repairs: u32,
}

impl AnswerSchema {
    /// This schema, with at most [`ANSWER_REPAIRS`] repairs.
    ///
    /// ```
    /// use agentx_types::AnswerSchema;
    /// let answer = AnswerSchema::new(serde_json::json!({"type": "object"}));
    /// assert_eq!(answer.repairs, 2);
    /// ```
    pub fn new(schema: Value) -> Self {
        Self {
            schema,
            repairs: ANSWER_REPAIRS,
        }
    }
}

fn default_repairs() -> u32 {
    ANSWER_REPAIRS
}
