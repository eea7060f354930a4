//! Keys that were typed before the question for a hidden value was on the screen. People type on, and other
//! programs send a command and its answer together, so these keys are the beginning of the value. They must
//! not reach the line of the chat, which shows them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::TerminalInput;

/// The byte of Ctrl-C, which cancels the question, as Esc does.
pub(super) const CTRL_C: u8 = 3;
/// The byte of the key that deletes a character.
const DELETE: u8 = 127;

/// Separates the inputs into the bytes of an answer, up to the end of its line, and those that are not typed,
/// such as another size of the terminal. Keys behind the end of the line are dropped: they may be the second
/// line of a value.
pub(crate) fn split_answer(inputs: Vec<TerminalInput>) -> (Vec<u8>, Vec<TerminalInput>) {
    let (mut answer, mut others) = (Vec::new(), Vec::new());
    for input in inputs {
        match input {
            TerminalInput::Key(key) => push_line(&mut answer, &bytes_of_key(&key)),
            TerminalInput::Paste(text) => push_line(&mut answer, text.as_bytes()),
            other => others.push(other),
        }
    }
    (answer, others)
}

/// Appends bytes up to the end of the line.
fn push_line(answer: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        if answer.last().is_some_and(|last| ends_line(*last)) {
            return;
        }
        answer.push(*byte);
    }
}

fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | CTRL_C)
}

/// Returns the bytes that a terminal in raw mode sends for a key; none for keys without a meaning in a value.
fn bytes_of_key(key: &KeyEvent) -> Vec<u8> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if key.kind == KeyEventKind::Release => Vec::new(),
        KeyCode::Enter => vec![b'\r'],
        KeyCode::Backspace => vec![DELETE],
        KeyCode::Esc => vec![CTRL_C],
        KeyCode::Char(char) if is_control && char.is_ascii_alphabetic() => {
            vec![char.to_ascii_lowercase() as u8 & 0x1f]
        }
        KeyCode::Char(char) if !is_control && !key.modifiers.contains(KeyModifiers::ALT) => {
            char.to_string().into_bytes()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<TerminalInput> {
        let key = |char| match char {
            '\r' => KeyCode::Enter,
            char => KeyCode::Char(char),
        };
        let keys = text
            .chars()
            .map(|char| KeyEvent::new(key(char), KeyModifiers::NONE));
        keys.map(TerminalInput::Key).collect()
    }

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> TerminalInput {
        TerminalInput::Key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn an_answer_that_was_typed_early_ends_with_its_line_and_nothing_of_it_remains() {
        let mut inputs = keys("made-üp\rsecond line\r");
        inputs.insert(2, TerminalInput::Resize(80, 24));
        let (answer, others) = split_answer(inputs);
        assert_eq!(answer, "made-üp\r".as_bytes());
        assert_eq!(others, [TerminalInput::Resize(80, 24)]);
    }

    #[test]
    fn a_part_of_an_answer_is_continued_by_the_next_keys() {
        let mut inputs = keys("ma");
        inputs.push(TerminalInput::Paste("de".into()));
        inputs.push(pressed(KeyCode::Backspace, KeyModifiers::NONE));
        inputs.push(pressed(KeyCode::Left, KeyModifiers::NONE));
        assert_eq!(split_answer(inputs).0, b"made\x7f");
        let pasted = vec![TerminalInput::Paste("one\ntwo\n".into())];
        assert_eq!(split_answer(pasted).0, b"one\n");
        assert_eq!(split_answer(Vec::new()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn esc_and_ctrl_c_cancel_also_when_they_come_early() {
        for cancel in [
            pressed(KeyCode::Esc, KeyModifiers::NONE),
            pressed(KeyCode::Char('c'), KeyModifiers::CONTROL),
        ] {
            let mut inputs = keys("made-up");
            inputs.push(cancel);
            inputs.extend(keys("more"));
            assert_eq!(split_answer(inputs).0, b"made-up\x03");
        }
    }
}
