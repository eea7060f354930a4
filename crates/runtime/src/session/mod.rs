//! A session that this process writes: how it is opened and continued, what is checked before the driver is
//! asked, and how it is written to without being opened.

mod cut_off_output;
pub(crate) mod duplicate_message;
pub(crate) mod local_session;
pub(crate) mod offline_writer;
pub(crate) mod opening;
pub(crate) mod picture_support;
pub(crate) mod recorded_redaction;
