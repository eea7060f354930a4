//! `read`, `write`, `edit`: one file at a time.

mod change;
mod edit;
mod kind;
mod near;
mod pager;
mod read;
mod write;

pub(crate) use change::{Changes, unified_diff};
pub(crate) use edit::Edit;
pub(crate) use read::Read;
pub(crate) use write::Write;
