//! From events and data to text: pure functions, so that every line on the screen has a test without a screen.

pub(crate) mod answers;
pub(crate) mod approval;
pub(crate) mod branches;
pub(crate) mod cast;
pub(crate) mod company;
pub(crate) mod conversation;
pub(crate) mod diff;
pub(crate) mod fitted;
pub(crate) mod names;
pub(crate) mod result;
pub(crate) mod rewind;
pub(crate) mod sessions;
pub(crate) mod spending;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod todo;
pub(crate) mod tool;
pub(crate) mod transcript;
pub(crate) mod units;
pub(crate) mod voices;
pub(crate) mod window;
pub(crate) mod written_call;

pub(crate) use agentx_terminal::clean;
