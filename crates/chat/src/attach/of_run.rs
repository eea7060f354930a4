//! The files that the prompt of a run names. No person sees what is attached, so a run is stricter than a
//! chat.

use agentx::config::Settings;

use super::{MISSING_FILE_HINT, MessageWithFiles, attached};
use crate::error::ChatError;

/// Returns the words of a prompt and the files that they name with `@`. A missing file is an error, as in a
/// chat. Files that may hold secrets are never attached: a script may have put other people's words into the
/// prompt.
///
/// # Errors
/// Returns an error if a file is missing, cannot be attached, or may hold secrets.
pub fn attached_by_run(typed: &str, settings: &Settings) -> Result<MessageWithFiles, ChatError> {
    let refused = |what| ChatError::Input { what };
    let found = attached(typed, &settings.workspace, |path| settings.is_guarded(path)).map_err(refused)?;
    if let Some(secret) = found.files.iter().find(|file| settings.is_guarded(file)) {
        let secret = secret.display();
        return Err(ChatError::usage(
            format!("{secret} may hold secrets, and `agentx run` never attaches such files"),
            "write the name without @, and the agent asks before it reads the file; or attach it in a chat",
        ));
    }
    if !found.missing.is_empty() {
        return Err(ChatError::usage(found.missing.join("; "), MISSING_FILE_HINT));
    }
    Ok(found)
}
