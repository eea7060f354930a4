//! Titles of sessions: every log takes one from the first message, and titles that people give have a maximum
//! length.

use std::borrow::Cow;

use crate::api::RuntimeError;

/// Maximum length of a title that a person gives, in characters.
pub const MAX_TITLE_CHARS: usize = 200;

/// Maximum length of a title that is taken from the first message.
const TITLE_CHARS: usize = 60;

/// The text around the time at which a message was sent: the last part of a message, for the model alone.
pub(crate) const TIME_NOTE: (&str, &str) = ("[Sent at ", " by the sender's clock.]");

/// Checks the length of a title that a person gives.
///
/// # Errors
/// Returns an error if it is too long.
pub fn check_title(title: &str) -> Result<(), RuntimeError> {
    match title.chars().count() {
        count if count > MAX_TITLE_CHARS => Err(RuntimeError::Refused(format!(
            "the title has {count} characters; it may have {MAX_TITLE_CHARS}"
        ))),
        _ => Ok(()),
    }
}

/// The first line of a message that is not blank, cut to the length of a title.
///
/// ```
/// assert_eq!(agentx_runtime::title_from("\n  Fix the tests\nand more"), "Fix the tests");
/// let timed = "Fix the tests[Sent at 2026-11-21 18:00:00+08:00 by the sender's clock.]";
/// assert_eq!(agentx_runtime::title_from(timed), "Fix the tests");
/// ```
pub fn title_from(text: &str) -> String {
    let line = without_time(text)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let line = &*as_typed(line);
    if line.chars().nth(TITLE_CHARS).is_none() {
        return line.to_owned();
    }
    let cut = line.char_indices().nth(TITLE_CHARS - 1);
    let cut = cut.map_or(line, |(end, _)| &line[..end]);
    format!("{}…", cut.trim_end())
}

/// Returns the text of a message without the time at which it was sent.
fn without_time(text: &str) -> &str {
    let (before, after) = TIME_NOTE;
    match text.rfind(before) {
        Some(at) if text.ends_with(after) => &text[..at],
        _ => text,
    }
}

/// Returns whether a message is a command that a person ran themselves, and no words to the agent. A title
/// that is taken from one gives way to the first words.
///
/// ```
/// assert!(agentx_runtime::is_own_command("<ran_by_the_person command=\"ls\">\na.txt\nexit 0\n</ran_by_the_person>"));
/// assert!(!agentx_runtime::is_own_command("run ls"));
/// ```
pub fn is_own_command(text: &str) -> bool {
    text.trim_start().starts_with("<ran_by_")
}

/// The first line of a message: a command that a person ran themselves as they typed it, which the message
/// holds between tags.
fn as_typed(line: &str) -> Cow<'_, str> {
    let ran = line
        .starts_with("<ran_by_")
        .then(|| line.split_once(" command=\""))
        .flatten();
    match ran {
        Some((_, command)) => format!("!{}", command.strip_suffix("\">").unwrap_or(command)).into(),
        None => line.into(),
    }
}
