//! `/copy`: the last answer, or one of its code blocks, to the clipboard of the terminal.

use agentx::history::transcript::transcript;
use agentx::types::{ContentPart, Role};
use agentx_terminal::code_blocks;

use crate::chat::{Chat, ChatInterface, ConversationSite};
use crate::clipboard::{self, LONGEST};
use crate::error::ChatError;
use crate::render::units::counted;
use crate::terminal::tmux;

impl Chat<'_> {
    /// `/copy`
    pub(super) async fn copy(&mut self, block: Option<usize>) -> Result<String, ChatError> {
        // A terminal that shows only text would show the sequence.
        let terminal = &self.display.console.terminal;
        if !terminal.output || !terminal.capable {
            return Ok("/copy needs a terminal that takes control sequences; `agentx sessions show` prints the conversation".to_owned());
        }
        let Some(answer) = self.last_answer().await? else {
            return Ok("there is no answer yet".to_owned());
        };
        let blocks = code_blocks(&answer);
        let (text, what) = match block {
            None => (answer, "the last answer".to_owned()),
            Some(number) => match number.checked_sub(1).and_then(|at| blocks.get(at)) {
                Some(code) => (code.clone(), format!("code block {number}")),
                None => {
                    let has = counted(blocks.len(), "code block");
                    return Ok(format!(
                        "there is no code block {number}: the last answer has {has}"
                    ));
                }
            },
        };
        if text.len() > LONGEST {
            return Ok(format!(
                "{what} has {} bytes, and terminals take at most {LONGEST}; /export writes the session to a file",
                text.len()
            ));
        }
        self.copy_to_clipboard(&text)?;
        let lines = counted(text.lines().count(), "line");
        let more = match (block, blocks.len()) {
            (Some(_), _) | (None, 0) => String::new(),
            (None, count) => format!("\n/copy N copies one of its {}", counted(count, "code block")),
        };
        Ok(format!(
            "sent {what} ({lines}) to the clipboard of your terminal{more}"
        ))
    }

    fn copy_to_clipboard(&mut self, text: &str) -> Result<(), ChatError> {
        let bytes = clipboard::sequence(text, tmux::is_around());
        match &mut self.display.face {
            ChatInterface::Editor { screen, .. } => screen.tell(&bytes),
            ChatInterface::Lines { .. } => self.display.console.paint(&bytes)?,
        }
        Ok(())
    }

    /// The text of the last answer of the agent that people talk to.
    async fn last_answer(&mut self) -> Result<Option<String>, ChatError> {
        let ConversationSite::Open { session, .. } = &self.connection.site else {
            return Ok(None);
        };
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let whole = self.wait_for(transcript(&*runtime, &id)).await?;
        let answers = whole.entries.iter().rev();
        let mut texts = answers
            .filter(|entry| entry.message.role == Role::Assistant && entry.agent.is_none())
            .map(|entry| {
                let parts = entry.message.content.iter().filter_map(ContentPart::as_text);
                parts.collect::<String>()
            });
        Ok(texts.find(|text| !text.trim().is_empty()))
    }
}
