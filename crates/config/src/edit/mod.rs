//! Changes to a person's files: rules and keys are set, added and removed, and everything else that the
//! person wrote stays. The commands `agentx config` and `agentx approvals` call these functions, and so does
//! a chat that keeps a rule.

pub(crate) mod add_rule;
pub(crate) mod command_mistakes;
pub(crate) mod key_text;
pub(crate) mod mcp_server;
pub(crate) mod own_change;
pub(crate) mod remove_rule;
pub(crate) mod set;
pub(crate) mod set_in_braces;
pub(crate) mod text_places;
pub(crate) mod unset;
