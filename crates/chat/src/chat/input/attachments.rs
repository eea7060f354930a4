//! The files that are attached to the messages of a chat.

use std::path::Path;

use agentx::runtime::{cannot_see, do_not_fit, larger_than_window};
use agentx::types::{AgentConfig, ContentPart};

use crate::attach::crowded_out::{CROWDED_OUT, crowds_out};
use crate::attach::{MessageWithFiles, attached_as_typed};
use crate::chat::{Chat, ConversationSite};

/// The hint for a message that is not sent, because it names a missing file.
const HINT: &str = "nothing was sent; correct the name, or enter the line again to send it without the file";
/// The hint for a message that is not sent, because it is larger than the window of the model.
const SMALLER: &str = "nothing was sent; write the name without @, and the agent reads what it needs, or \
                       enter the line again to send it";

/// A message that was not sent because of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusedMessage {
    text: String,
    /// The notes about its missing files and its size. With the same ones, the same message is sent.
    notes: Vec<String>,
}

impl Chat<'_> {
    /// Returns the message with the files that it names, prepared for the current model.
    ///
    /// # Errors
    /// Returns an error if a file is missing or cannot go along, or the model takes no pictures, in words for
    /// the person. A message of which files are missing, or that is larger than the model's window, is not
    /// refused a second time.
    pub(in crate::chat) async fn attached(&mut self, text: &str) -> Result<Vec<ContentPart>, String> {
        let refused_before = self.composer.refused.take();
        let mut refused = RefusedMessage {
            text: text.to_owned(),
            notes: Vec::new(),
        };
        let prepared = self.prepared(text, refused_before, &mut refused).await;
        self.composer.refused = prepared.is_err().then_some(refused);
        prepared
    }

    /// Prepares a message, and keeps in `refused` which files it misses, and whether it is too large.
    async fn prepared(
        &mut self,
        text: &str,
        refused_before: Option<RefusedMessage>,
        refused: &mut RefusedMessage,
    ) -> Result<Vec<ContentPart>, String> {
        let is_guarded = |path: &Path| self.settings.is_guarded(path);
        // Pasted text is somebody else's: it attaches no files.
        let typed = if self.composer.attaches_nothing {
            String::new()
        } else {
            self.composer.editor.typed(text)
        };
        let MessageWithFiles {
            content,
            notes,
            missing,
            ..
        } = attached_as_typed(text, &typed, &self.settings.workspace, is_guarded)?;
        let too_large = self.larger_than_window(&content).await;
        let hint = if too_large.is_some() { SMALLER } else { HINT };
        refused.notes = missing;
        refused.notes.extend(too_large);
        if !refused.notes.is_empty() && refused_before.as_ref() != Some(&*refused) {
            return Err(format!("{}\nhint: {hint}", refused.notes.join("\n")));
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
        if let Some(why) = cannot_see(&config, &content, &self.place.runtime().models()) {
            return Err(format!(
                "nothing was sent: {why}; choose another model with /model, or write the file name without @"
            ));
        }
        if let Some(why) = do_not_fit(&config, &content) {
            return Err(format!("nothing was sent: {why}"));
        }
        if self.crowds_out_pictures(&config, &content).await {
            let note = self.display.style().dim(&format!("note: {CROWDED_OUT}"));
            self.display.transcript.print_notice(&note);
        }
        Ok(content)
    }

    /// Returns a warning if a message with files is larger than the window of the model.
    async fn larger_than_window(&mut self, content: &[ContentPart]) -> Option<String> {
        // Most messages have no files; the configuration is read only for one that has.
        if content.len() < 2 {
            return None;
        }
        let config = self.agent_config().await.ok()?;
        larger_than_window(&config, content)
    }

    /// Returns whether the pictures of a message leave no room in a request for all that the last one had.
    async fn crowds_out_pictures(&mut self, config: &AgentConfig, content: &[ContentPart]) -> bool {
        let ConversationSite::Open { session, .. } = &self.connection.site else {
            return false;
        };
        let session = session.id().clone();
        let runtime = self.place.shared();
        let last = self
            .wait_for(async { runtime.context(&session, None).await })
            .await;
        last.is_ok_and(|last| crowds_out(config, content, last.body.len()))
    }
}
