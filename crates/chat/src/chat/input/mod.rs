//! What a person types: the line, its completion and attachments, and where each key and line goes.

pub(super) mod attachments;
pub(super) mod complete;
pub(super) mod composer;
mod draft;
pub mod external_editor;
pub(crate) mod input_handling;
pub(super) mod menu;
pub(super) mod pasted_picture;
