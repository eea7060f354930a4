//! `read`, `write`, `edit`: one file at a time.

mod change;
mod content_kind;
mod edit;
mod near_misses;
mod notebook;
mod pager;
mod read;
mod saved_files;
mod write;

pub(crate) use change::{EditLock, unified_diff};
#[cfg(feature = "query")]
pub(crate) use content_kind::special;
pub(crate) use edit::EditTool;
pub use notebook::{LARGEST_NOTEBOOK, is_named_as_notebook, notebook_markdown};
pub use read::LONGEST_PICTURE_SIDE;
pub(crate) use read::ReadTool;
pub use saved_files::SavedFiles;
pub(crate) use write::WriteTool;
