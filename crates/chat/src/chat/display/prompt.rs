//! The prompt of a chat that reads lines. It has its own row while the chat waits for a line, and other
//! output begins below it.

use crate::chat::{Chat, ChatInterface, PROMPT};

/// The text on the last row of a terminal that prints lines.
#[derive(Debug, Default)]
pub(in crate::chat) struct Prompt {
    /// The prompt, and what the person has typed behind it.
    stands: bool,
    /// A line of the chat's own that has not ended.
    is_inside: bool,
}

impl Prompt {
    /// The person has ended the line.
    pub(in crate::chat) fn answered(&mut self) {
        self.stands = false;
    }

    /// Returns a text to print, with the prompt behind it if the chat waits for a line.
    fn with_prompt(&mut self, text: String, waits: bool) -> String {
        let mut all = String::with_capacity(text.len() + 4);
        if self.stands && !text.is_empty() {
            all.push('\n');
            self.stands = false;
        }
        if !text.is_empty() {
            self.is_inside = !text.ends_with('\n');
            all.push_str(&text);
        }
        let own = PROMPT.trim_end();
        if waits && !text.is_empty() && all.trim_end().ends_with(own) {
            // A question has a separate prompt.
            all.truncate(all.trim_end().len());
            all.push(' ');
            (self.stands, self.is_inside) = (true, false);
        }
        if waits && !self.stands {
            if self.is_inside {
                all.push('\n');
            }
            all.push_str(PROMPT);
            (self.stands, self.is_inside) = (true, false);
        }
        all
    }

    /// The last text: the shell's own prompt begins a row.
    pub(in crate::chat) fn leave(&mut self, text: String) -> String {
        if self.stands { format!("\n{text}") } else { text }
    }
}

impl Chat<'_> {
    /// Returns the prompt to print before a line is read. A screen reader gets it in words, and a pipe gets
    /// none.
    pub(in crate::chat) fn prompted(&mut self, text: String) -> String {
        let terminal = &self.display.console.terminal;
        let is_seen = matches!(self.display.face, ChatInterface::Lines { eager: true })
            && terminal.output
            && !terminal.words;
        let is_free = !self.status.is_busy() || self.question().is_some();
        let waits = is_seen && is_free && self.programs.running.is_none() && !self.composer.ended;
        self.display.prompt.with_prompt(text, waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_stands_on_a_row_of_its_own_while_the_chat_waits() {
        let mut prompt = Prompt::default();
        let mut out = prompt.with_prompt("hello\n".into(), true);
        out += &prompt.with_prompt(String::new(), true);
        prompt.answered();
        out += &prompt.with_prompt("an answer".into(), false);
        out += &prompt.with_prompt(String::new(), true);
        out += &prompt.with_prompt("news\n".into(), true);
        assert_eq!(out, "hello\n› an answer\n› \nnews\n› ");
        let asked = prompt.with_prompt("\nallow? y · n ›\n".into(), true);
        assert_eq!(asked, "\n\nallow? y · n › ");
        assert_eq!(prompt.leave(String::new()), "\n");
        prompt.answered();
        assert_eq!(prompt.leave("end\n".into()), "end\n");
    }
}
