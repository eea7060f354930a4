//! Commands of files in a chat: `/NAME` sends the text of a command or a skill.

use crate::chat::slash::prompt_commands;
use crate::chat::{Chat, ChatFlow};
use crate::error::ChatError;
use crate::render::clean::visible;

impl Chat<'_> {
    /// Handles a line that begins with `/` and names no built-in command. Sends the text of the command or
    /// skill with this name; if there is none, shows the error `what`.
    pub(in crate::chat) async fn prompt_command(
        &mut self,
        line: &str,
        what: &str,
    ) -> Result<ChatFlow, ChatError> {
        let found = match prompt_commands::message(line, self.settings) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let what = prompt_commands::with_similar(line, what, self.settings);
                self.display.transcript.print_notice(&what);
                return Ok(ChatFlow::Continue);
            }
            Err(refused) => {
                let refused = self.display.style().bad(&refused);
                self.display.transcript.print_notice(&refused);
                return Ok(ChatFlow::Continue);
            }
        };
        for note in &found.notes {
            let note = self.display.style().dim(&format!("note: {note}"));
            self.display.transcript.print_notice(&note);
        }
        self.composer.attaches_nothing = !found.attaches_files;
        let said = self.say(&found.text).await;
        self.composer.attaches_nothing = false;
        said
    }

    /// Returns whether a line names a command or a skill of a file.
    pub(in crate::chat) fn is_prompt_command(&self, line: &str) -> bool {
        !matches!(prompt_commands::message(line, self.settings), Ok(None))
    }

    /// Returns the help for a topic, with the commands of files.
    pub(in crate::chat) fn help(&self, topic: Option<&str>) -> String {
        let files = self.settings.prompt_files();
        prompt_commands::help_with_files(topic, &files, self.display.width())
    }

    /// Returns the names of the commands of files, each with its description and whether it takes words.
    pub(in crate::chat) fn prompt_command_names(&self) -> Vec<(String, String, bool)> {
        let files = self.settings.prompt_files();
        let usable = prompt_commands::usable(&files).into_iter();
        usable
            .map(|file| (file.name.clone(), visible(&file.description), file.takes_words()))
            .collect()
    }
}
