//! Pages as the model reads them, and what it does on them.
//!
//! `frames` fetches the accessibility trees, `accessibility` reads their nodes, `outline` makes lines of
//! them, `elements` gives elements numbers that last as long as their document, `scripts` are the functions
//! that run in a page, and `actions` clicks, types and selects.

mod accessibility;
mod actions;
mod elements;
mod frames;
mod outline;
mod scripts;

pub(crate) use actions::{FieldText, PageActions};
pub(crate) use elements::{PageElement, PageElements};
pub(crate) use frames::read_frames;
pub(crate) use outline::{PageOutline, outline};
