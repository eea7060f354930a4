//! Sessions that are stored: found, read, changed, exported and imported without a chat in them.

pub mod anchors;
pub mod branches;
pub mod cache_why;
pub mod export;
pub mod import;
pub mod redacting;
pub(crate) mod refused_calls;
pub mod secret_scan;
pub mod seen_notes;
pub mod sessions_here;
pub mod spending;
pub mod stored_sessions;
