//! Actions of callers in sessions. Each is checked against the rights of its caller here, whether it came as
//! a frame or as a request.

pub(crate) mod authorized_session;
pub(crate) mod call_decisions;
pub(crate) mod client_time;
pub(crate) mod command_frames;
pub(crate) mod earlier_restore;
pub(crate) mod file_commands;
pub(crate) mod files;
pub(crate) mod keyed_requests;
pub(crate) mod media;
pub(crate) mod request_terms;
pub(crate) mod sent_change;
pub(crate) mod session_actions;
pub(crate) mod session_changes;
