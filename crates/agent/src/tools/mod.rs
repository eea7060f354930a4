//! Tools as the agent knows them: those that it serves itself, how it finds others, and arguments that do not
//! fit.

pub mod arguments;
pub mod ask_user;
pub(crate) mod delegation_tools;
pub(crate) mod described_tools;
pub(crate) mod nearest_argument;
pub(crate) mod own_tool_specs;
pub mod plan_mode;
pub(crate) mod recall;
pub mod remind_me;
pub(crate) mod tool_ranking;
pub mod tool_search;
pub mod wait;
pub(crate) mod web_tools;
