//! Renders events and data as text. The functions are pure, so that every line has a test without a screen.

pub mod agents;
pub mod answers;
pub mod approval;
pub(crate) mod approval_mode_word;
mod approval_notes;
pub mod approval_reply;
pub(crate) mod asked;
pub mod branches;
pub mod call_summary;
pub mod conversation;
pub(crate) mod diff;
pub(crate) mod form_reply;
pub(crate) mod line_fold;
pub(crate) mod names;
pub mod participants;
pub mod person_names;
mod proposed_change;
pub mod rewind;
pub mod rewind_list;
pub mod search_hits;
pub mod sessions;
pub(crate) mod speakers;
pub mod spending;
pub mod style;
pub mod table;
pub(crate) mod todo;
pub mod tool;
pub mod transcript;
pub(crate) mod unheld_commands;
pub mod units;
pub(crate) mod wait_times;
pub mod window;
pub mod wrapped_text;
pub mod written_call;

pub use agentx_terminal::clean;
