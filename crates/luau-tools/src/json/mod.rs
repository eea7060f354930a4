//! Values outside of a VM: JSON as text and in the flat form in which threads exchange it, read and written
//! one piece at a time, so that no value keeps other runs waiting.

pub(crate) mod decode;
mod encode;
pub(crate) mod flat_part;
pub(crate) mod flat_value;
pub(crate) mod long_work;
pub(crate) mod reader;
