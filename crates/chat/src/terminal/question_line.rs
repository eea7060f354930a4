//! Reads the answer to a question that is asked before a chat opens, in every kind of terminal.

use std::io::BufRead as _;

use super::console::Console;
use super::typed_answer::{PersonAnswer, read_answer};
use crate::error::ChatError;

/// Reads one line from the person; `q` at the end of input. Pasted text does not count as an
/// answer, because a person may paste before they see the question: it becomes the first line of the chat.
pub(crate) fn answer(question: &str, console: &mut Console) -> Result<String, ChatError> {
    loop {
        let rows = console.wrapped(question);
        let question = format!("{} ", rows.trim_end());
        console.flush()?;
        let read = if console.terminal.capable {
            read_answer(&question)
        } else {
            console.out(&question)?;
            console.flush()?;
            read_plain_line()
        };
        match read.map_err(unread)? {
            PersonAnswer::Typed(line) => return Ok(line.trim().to_owned()),
            PersonAnswer::End => return Ok("q".to_owned()),
            PersonAnswer::Pasted(text) => {
                console.keep_paste(&text);
                console.out("A paste answers nothing here: the chat has it in its line.\n")?;
            }
        }
    }
}

/// Reads one line of a terminal that cannot tell a paste from keys.
fn read_plain_line() -> std::io::Result<PersonAnswer> {
    let mut line = String::new();
    Ok(match std::io::stdin().lock().read_line(&mut line)? {
        0 => PersonAnswer::End,
        // A key such as Esc leaves a character that is seen as `^[`.
        _ => PersonAnswer::Typed(line.replace(char::is_control, "")),
    })
}

fn unread(error: std::io::Error) -> ChatError {
    ChatError::Input {
        what: error.to_string(),
    }
}
