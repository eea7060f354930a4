//! What a person sets for themselves: values within the operator's bounds, and prompts.

pub(crate) mod bounds;
pub(crate) mod field;
pub(crate) mod settings;
pub(crate) mod store;
