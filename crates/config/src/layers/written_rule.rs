//! A rule as it is written in a file.

use agentx_types::{FolderId, Rule};

use crate::origin::SettingOrigin;

/// A rule with its position in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenRule {
    /// The rule.
    pub value: Rule,
    /// The place of its definition.
    pub origin: SettingOrigin,
    /// The folder at the rule's `workspace` when an answer kept the rule; `None` if a person wrote the rule.
    pub folder: Option<FolderId>,
}
