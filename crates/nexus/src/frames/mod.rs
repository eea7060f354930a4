//! The frames and documents of NEXUS and their counterparts here, as pure functions: no I/O, no clock, no
//! state. The facts about NEXUS that they follow are in `docs/NEXUS.md`.

pub mod commands;
pub mod history;
pub mod requests;
pub mod settings;
pub mod sse;
pub mod ui_frames;

use agentx_types::{MessageId, RunId};

/// The beginning and the end of the note that tells the model when a message was sent.
const TIME_NOTE: (&str, &str) = ("[Sent at ", " by the sender's clock.]");

/// Returns the run that an input opens: both are named after the `seq` of the input.
pub(crate) fn run_of_input(input: &MessageId) -> Option<RunId> {
    let seq = input.as_str().strip_prefix("msg_")?.parse().ok()?;
    Some(RunId::of_input(seq))
}

/// Returns the words of a person without the note about the time, which their client did not send.
fn without_time_note(text: &str) -> &str {
    let (begin, end) = TIME_NOTE;
    let at = text.rfind(begin).filter(|_| text.ends_with(end));
    at.map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::without_time_note;

    #[test]
    fn the_note_about_the_time_is_not_part_of_the_words() {
        for (text, words) in [
            (
                "hi[Sent at 2026-11-21 18:00:00+08:00 by the sender's clock.]",
                "hi",
            ),
            ("[Sent at x] hi", "[Sent at x] hi"),
            ("hi", "hi"),
            ("", ""),
        ] {
            assert_eq!(without_time_note(text), words);
        }
    }
}
