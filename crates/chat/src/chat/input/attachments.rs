//! The files that are attached to the messages of a chat.

use std::path::Path;

use agentx::runtime::cannot_see;
use agentx::types::ContentPart;

use crate::attach::{MISSING_FILE_HINT, MessageWithFiles, attached};
use crate::chat::Chat;

impl Chat<'_> {
    /// Returns the message with the files that it names, prepared for the current model.
    ///
    /// # Errors
    /// Returns an error if a file is missing or cannot go along, or the model takes no pictures, in words for the
    /// person.
    pub(in crate::chat) async fn attached(&mut self, text: &str) -> Result<Vec<ContentPart>, String> {
        let is_guarded = |path: &Path| self.settings.is_guarded(path);
        let MessageWithFiles {
            content,
            notes,
            missing,
            ..
        } = attached(text, &self.settings.workspace, is_guarded)?;
        if let Some(note) = missing.first() {
            return Err(format!("{note}\nhint: nothing was sent; {MISSING_FILE_HINT}"));
        }
        for note in notes {
            let note = self.display.style().dim(&format!("note: {note}"));
            self.display.transcript.print_notice(&note);
        }
        if !content.iter().any(|part| matches!(part, ContentPart::Image(_))) {
            return Ok(content);
        }
        // If the configuration cannot be read, the session reports the reason.
        let Ok(config) = self.agent_config().await else {
            return Ok(content);
        };
        match cannot_see(&config, &content, &self.place.runtime().models()) {
            Some(why) => Err(format!(
                "nothing was sent: {why}; choose another model with /model, or write the file name without @"
            )),
            None => Ok(content),
        }
    }
}
