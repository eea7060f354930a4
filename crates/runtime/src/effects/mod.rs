//! Acting: a committed action becomes an effect in the world, and the effect's events come back. Driver,
//! tools and reactors build on this module, so it depends on none of them.

pub(crate) mod actions;
pub(crate) mod call_slots;
pub(crate) mod captured_effect;
pub(crate) mod commands;
pub(crate) mod condenser;
pub(crate) mod effect;
pub(crate) mod model_reply;
pub(crate) mod nested_calls;
