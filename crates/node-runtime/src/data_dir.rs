//! The data directory: made for its owner alone before anything in it is opened for writing. A front end
//! calls this first, for its own message about a directory that cannot be used.
//!
//! This crate keeps the following in it. docs/STORAGE.md lists all files.
//!
//! | name | content |
//! | --- | --- |
//! | `sessions.db` | all sessions, as [`crate::open_log`] opens them |
//! | `memory.db` | memories over sessions ([`crate::open_memories`]) |
//! | `flows.db` | values of tools of files, and the keys of their calls |
//! | `commands/PID.STARTED` | the commands that this program runs, which the next program ends if it is killed |
//! | `secrets.json` | values that a person marked as secret |
//! | `people/ID.json` | settings of a person of a server |

use std::io;

use agentx_config::Settings;

/// Makes the data directory. Takes the access of other users to an existing one from them, and says so in the
/// log.
///
/// # Errors
/// Returns an error if the directory cannot be made, or if other users can change files in it and its mode
/// has to stay ([`Settings::make_data_dir`]).
pub fn make_data_dir(settings: &Settings) -> io::Result<()> {
    if let Some(mode) = settings.make_data_dir()? {
        tracing::warn!(
            path = %settings.data_dir.display(),
            "others had access to the data directory (mode {mode:04o}); now only its owner has"
        );
    }
    Ok(())
}
