//! From events and data to text: pure functions, so that every line on the screen has a test without a screen.

pub mod answers;
pub mod approval;
pub mod branches;
pub mod cast;
pub mod company;
pub mod conversation;
pub(crate) mod diff;
pub mod fitted;
pub mod found;
pub(crate) mod names;
pub mod result;
pub mod rewind;
pub mod sessions;
pub mod spending;
pub mod style;
pub mod table;
pub(crate) mod todo;
pub mod tool;
pub mod transcript;
pub mod units;
pub(crate) mod voices;
pub mod window;
pub mod written_call;

pub use agentx_terminal::clean;
