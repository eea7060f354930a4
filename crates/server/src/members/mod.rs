//! Members of a server: the bounds of their sessions, and the calls in them that wait for a decision.

pub(crate) mod limit_bounds;
pub mod member_bounds;
pub(crate) mod person_settings;
pub(crate) mod trust;
pub(crate) mod waiting_calls;
