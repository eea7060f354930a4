//! Commands about the conversation of a session: its branches, its cost and its window, condensing,
//! rewinding, and messages that are sent into a run.

pub(super) mod branch;
pub(super) mod compact;
pub(super) mod full_text;
mod readable_items;
pub(super) mod rewinding;
pub(super) mod spending;
pub(super) mod steering;
mod stray_answer;
pub(super) mod window;
