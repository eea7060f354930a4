//! The words with which a person leaves a chat.

/// Returns whether the line is a word that leaves the chat, such as `exit`, rather than a message.
pub(crate) fn is_exit(line: &str) -> bool {
    matches!(line.trim(), "exit" | "quit" | ":q" | ":q!" | ":wq" | ":wq!")
}

/// Returns whether the answer to a question is a wish to leave: such a word, or the command.
pub(crate) fn leaves(answer: &str) -> bool {
    is_exit(answer) || matches!(answer.trim(), "/quit" | "/exit")
}
