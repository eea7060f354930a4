//! A session that this process writes: opening and continuing it, the checks before the driver is asked, and
//! writing to it without opening it.

mod cut_off_output;
pub(crate) mod duplicate_message;
pub(crate) mod local_session;
pub(crate) mod message_size;
pub(crate) mod offline_writer;
pub(crate) mod opening;
pub(crate) mod picture_support;
pub(crate) mod recorded_redaction;
