//! `read`, `write`, `edit`: one file at a time.

mod change;
mod content_kind;
mod edit;
mod near_misses;
mod pager;
mod read;
mod write;

pub(crate) use change::{Changes, unified_diff};
pub(crate) use edit::EditTool;
pub(crate) use read::ReadTool;
pub(crate) use write::Write;
