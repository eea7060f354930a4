//! Takes the input of a person: the line with its completion and attachments, and the keys and lines for the
//! other parts of the chat.

pub(super) mod attachments;
pub(super) mod complete;
pub(super) mod composer;
mod draft;
pub mod external_editor;
pub(crate) mod input_handling;
pub(super) mod menu;
pub(super) mod pasted_picture;
