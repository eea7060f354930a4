//! The setting of reminders: an agent may set some for its person with the tool `remind_me`.

use serde::{Deserialize, Serialize};

/// The setting of the tool `remind_me`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReminderSettings {
    /// The name of the person's time zone, such as `Europe/Berlin`; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub time_zone: String,
}
