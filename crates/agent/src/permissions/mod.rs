//! The permissions of calls: the subject of a call, and the rules about it.

pub mod approval;
pub(crate) mod call_subject;
pub mod link_targets;
pub mod remembered_rule;
pub(crate) mod rule_options;
pub(crate) mod rule_origin;
pub(crate) mod rule_words;
pub mod search_scopes;
pub mod unmatchable_rules;
pub(crate) mod wildcards;
