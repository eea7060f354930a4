//! The place of a command: its workspace and session determine its directory for temporary files.

use std::path::Path;

/// The directories and the session of a command.
#[derive(Clone, Copy, Debug)]
pub struct CommandPlace<'a> {
    /// The directory that it may write.
    pub workspace: &'a Path,
    /// The session, whose commands in one workspace share a directory for temporary files.
    pub session: &'a str,
}
