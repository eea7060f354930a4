//! `/copy`: the last answer, or one of its code blocks, to the clipboard of the terminal.

use agentx::history::transcript::transcript;
use agentx::types::{ContentPart, Role};
use agentx_terminal::code_blocks;

use crate::chat::{Chat, ChatInterface, ConversationSite};
use crate::error::ChatError;
use crate::render::units::counted;
use crate::terminal::clipboard::{self, LONGEST};
use crate::terminal::tmux;

/// The part of an answer to copy.
pub(in crate::chat) struct CopiedPart {
    text: String,
    what: String,
    /// The number of code blocks in the answer that could be copied instead.
    other_blocks: usize,
}

impl CopiedPart {
    /// The answer, or one of its code blocks.
    ///
    /// # Errors
    /// Returns an error if the answer has no such block, or the text is longer than terminals take.
    pub(in crate::chat) fn of(answer: String, block: Option<usize>) -> Result<Self, ChatError> {
        let mut blocks = code_blocks(&answer);
        let count = blocks.len();
        let part = match block {
            None => Self {
                text: answer,
                what: "the last answer".to_owned(),
                other_blocks: count,
            },
            Some(number) if (1..=count).contains(&number) => Self {
                text: blocks.swap_remove(number - 1),
                what: format!("code block {number}"),
                other_blocks: 0,
            },
            Some(number) => {
                let has = counted(count, "code block");
                return Err(ChatError::usage(
                    format!("there is no code block {number}: the last answer has {has}"),
                    "/copy alone copies the whole answer",
                ));
            }
        };
        if part.text.len() > LONGEST {
            Err(ChatError::usage(
                format!(
                    "{} has {} bytes, and terminals take at most {LONGEST}",
                    part.what,
                    part.text.len()
                ),
                "/export writes the session to a file",
            ))
        } else {
            Ok(part)
        }
    }
}

impl Chat<'_> {
    /// Runs `/copy`.
    pub(super) async fn copy(&mut self, block: Option<usize>) -> Result<String, ChatError> {
        self.check_clipboard()?;
        match self.last_answer().await? {
            Some(answer) => self.copy_part(CopiedPart::of(answer, block)?),
            None => Err(ChatError::usage("there is no answer yet", "send a message first")),
        }
    }

    /// Copies it, and describes what was copied.
    pub(in crate::chat) fn copy_part(&mut self, part: CopiedPart) -> Result<String, ChatError> {
        self.check_clipboard()?;
        let CopiedPart {
            text,
            what,
            other_blocks,
        } = part;
        self.copy_to_clipboard(&text)?;
        let lines = counted(text.lines().count(), "line");
        let more = hint_of_blocks(other_blocks);
        Ok(format!(
            "sent {what} ({lines}) to the clipboard of your terminal{more}"
        ))
    }

    /// Refuses to copy without a terminal, which has the clipboard.
    fn check_clipboard(&self) -> Result<(), ChatError> {
        let terminal = &self.display.console.terminal;
        // A terminal that shows only text would show the sequence.
        if terminal.output && terminal.capable {
            return Ok(());
        }
        Err(ChatError::usage(
            "/copy needs a terminal that takes control sequences",
            "`agentx sessions show` prints the conversation",
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

/// Returns the line that names the command for the code blocks of a copied answer, if it has any.
fn hint_of_blocks(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "\n/copy 1 copies only its code block".to_owned(),
        count => format!("\n/copy N copies one of its {}", counted(count, "code block")),
    }
}

#[cfg(test)]
mod tests {
    use super::hint_of_blocks;

    #[test]
    fn the_command_for_code_blocks_fits_their_number() {
        assert_eq!(hint_of_blocks(0), "");
        assert_eq!(hint_of_blocks(1), "\n/copy 1 copies only its code block");
        assert_eq!(hint_of_blocks(2), "\n/copy N copies one of its 2 code blocks");
    }
}
