//! The handlers of routes, by topic.

pub(crate) mod agents;
pub(crate) mod blobs;
pub(crate) mod commands;
pub(crate) mod events_query;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod lists;
pub(crate) mod memories;
pub(crate) mod messages;
pub(crate) mod person_config;
pub(crate) mod push;
pub(crate) mod session_actions;
pub(crate) mod session_lookup;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod stream;
pub(crate) mod tokens;
pub(crate) mod upkeep;
pub(crate) mod webhooks;
