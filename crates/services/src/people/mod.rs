//! The settings of persons: values within the operator's bounds, and prompts.

pub(crate) mod bounds;
pub(crate) mod field;
pub(crate) mod settings;
pub(crate) mod store;
