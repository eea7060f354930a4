//! The settings of a server: those that it starts with, and those that it reads again while it runs.

pub(crate) mod live_settings;
pub(crate) mod member_settings;
pub(crate) mod options;
pub(crate) mod reload;
pub(crate) mod settings_source;
