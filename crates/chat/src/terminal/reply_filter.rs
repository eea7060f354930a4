//! Filters the replies of the terminal out of the input: its background colour and its name. The replies
//! arrive among the keys, immediately or late over ssh, and must never end up in the input line.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::TerminalInput;

/// Asks the terminal for the colour of its background (OSC 11).
pub(crate) const ASK: &str = "\u{1b}]11;?\u{7}";
/// Asks the terminal what it is (XTVERSION). Those that do not know the question say nothing.
pub(crate) const ASK_NAME: &str = "\u{1b}[>0q";
/// Maximum time that a chat waits for the reply before it shows the past messages.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// Maximum time between the beginning of the chat and the beginning of an answer; later, only a complete
/// answer is recognised.
const SOON: Duration = Duration::from_secs(5);
/// Maximum time that the sign which begins an answer, and which is also a key, waits for its continuation.
const SPLIT: Duration = Duration::from_millis(40);
/// Maximum time that an answer that has begun waits for its end.
const TORN: Duration = Duration::from_secs(1);
/// Maximum length of an answer.
const LONGEST: usize = 64;

/// The subject of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TerminalQuery {
    /// The background: `ESC ] 11 ; rgb : …`.
    Background,
    /// The name: `ESC P > | …`.
    Name,
}

/// Removes the terminal's answers from the keys.
#[derive(Debug)]
pub(crate) struct ReplyFilter {
    began: Instant,
    /// Keys that may be the beginning of an answer.
    held: Vec<KeyEvent>,
    /// The subject of the answer, and its text so far.
    text: Option<(TerminalQuery, String)>,
    /// The subjects that are already answered.
    came: Vec<TerminalQuery>,
}

impl ReplyFilter {
    /// Returns a filter for a terminal that is queried now.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            began: now,
            held: Vec::new(),
            text: None,
            came: Vec::new(),
        }
    }

    /// Returns the time to wait for the next key before [`ReplyFilter::give_up`]; `None` means no limit.
    pub(crate) fn patience(&self) -> Option<Duration> {
        match (self.held.is_empty(), &self.text) {
            (true, _) => None,
            (false, None) => Some(SPLIT),
            // The letter that begins a name is a key with Alt, and what follows comes with it.
            (false, Some((TerminalQuery::Name, text))) if text.is_empty() => Some(SPLIT),
            (false, Some(_)) => Some(TORN),
        }
    }

    /// Stops waiting for the rest of an answer: the held keys count as keys.
    pub(crate) fn give_up(&mut self) -> Vec<TerminalInput> {
        self.text = None;
        self.held.drain(..).map(TerminalInput::Key).collect()
    }

    /// Handles a key; returns the keys that it and the held ones result in.
    pub(crate) fn take(&mut self, key: KeyEvent, now: Instant) -> Vec<TerminalInput> {
        if key.kind == KeyEventKind::Release {
            return vec![TerminalInput::Key(key)];
        }
        let Some((subject, text)) = &mut self.text else {
            return self.begin(key, now);
        };
        let subject = *subject;
        let ends = match key.code {
            KeyCode::Char('\\') => true,
            KeyCode::Char('g') => key.modifiers == KeyModifiers::CONTROL,
            _ => false,
        };
        if ends && let Some(answer) = answered(subject, text) {
            self.came.push(subject);
            self.text = None;
            self.held.clear();
            return vec![answer];
        }
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(c) if plain && text.len() < LONGEST => {
                text.push(c);
                let fits = is_beginning(subject, text);
                self.held.push(key);
                if fits { Vec::new() } else { self.give_up() }
            }
            // The end in two pieces: the second one decides.
            KeyCode::Esc => {
                self.held.push(key);
                Vec::new()
            }
            _ => {
                self.held.push(key);
                self.give_up()
            }
        }
    }

    /// Begins an answer with `ESC ]` or `ESC P`, which come complete as one key or as two.
    fn begin(&mut self, key: KeyEvent, now: Instant) -> Vec<TerminalInput> {
        let after_escape = !self.held.is_empty();
        let subject = match key.code {
            KeyCode::Char(']') => Some(TerminalQuery::Background),
            KeyCode::Char('P') => Some(TerminalQuery::Name),
            _ => None,
        };
        let modifiers = key.modifiers - KeyModifiers::SHIFT;
        let is_sign = (after_escape && modifiers.is_empty()) || modifiers == KeyModifiers::ALT;
        if let Some(subject) = subject.filter(|subject| is_sign && !self.came.contains(subject)) {
            self.text = Some((subject, String::new()));
            self.held.push(key);
            return Vec::new();
        }
        let soon = self.came.len() < 2 && now.duration_since(self.began) < SOON;
        if key.code == KeyCode::Esc && !after_escape && soon {
            self.held.push(key);
            return Vec::new();
        }
        self.held.push(key);
        self.give_up()
    }
}

/// Returns the meaning of a complete answer.
fn answered(subject: TerminalQuery, text: &str) -> Option<TerminalInput> {
    match subject {
        TerminalQuery::Background => is_light(text).map(|is_light| TerminalInput::Background { is_light }),
        TerminalQuery::Name => text
            .strip_prefix(">|")
            .map(|name| TerminalInput::Named(name.to_owned())),
    }
}

/// Returns whether an answer may begin with this.
fn is_beginning(subject: TerminalQuery, text: &str) -> bool {
    let begin = match subject {
        TerminalQuery::Background => "11;rgb",
        TerminalQuery::Name => return text.starts_with(">|") || ">|".starts_with(text),
    };
    let Some(rest) = text.strip_prefix(begin) else {
        return begin.starts_with(text);
    };
    let digits = rest.strip_prefix("a:").or_else(|| rest.strip_prefix(':'));
    match digits {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit() || c == '/'),
        None => rest.is_empty() || rest == "a",
    }
}

/// Returns whether a colour such as `11;rgb:1e1e/1e1e/2e2e` is a light one.
fn is_light(text: &str) -> Option<bool> {
    let (_, colour) = text.strip_prefix("11;rgb")?.split_once(':')?;
    let parts: Vec<f64> = colour
        .split('/')
        .take(3)
        .filter_map(|part| {
            let most = 16_f64.powi(i32::try_from(part.len()).ok()?) - 1.0;
            Some(f64::from(u32::from_str_radix(part, 16).ok()?) / most)
        })
        .collect();
    let [red, green, blue] = parts[..] else {
        return None;
    };
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(c: char, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), modifiers)
    }

    /// Returns the keys that the reader makes of a terminal's bytes.
    fn keys(text: &str) -> Vec<KeyEvent> {
        let mut keys = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            keys.push(match c {
                '\u{1b}' => match chars.next() {
                    Some(next) => key(next, KeyModifiers::ALT),
                    None => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
                },
                '\u{7}' => key('g', KeyModifiers::CONTROL),
                c if c.is_ascii_uppercase() => key(c, KeyModifiers::SHIFT),
                c => key(c, KeyModifiers::NONE),
            });
        }
        keys
    }

    fn typed(answer: &mut ReplyFilter, keys: Vec<KeyEvent>) -> (String, Option<bool>) {
        let now = answer.began;
        let mut inputs: Vec<TerminalInput> = keys.into_iter().flat_map(|key| answer.take(key, now)).collect();
        inputs.extend(answer.give_up());
        let (mut text, mut light) = (String::new(), None);
        for input in inputs {
            match input {
                TerminalInput::Key(key) => text.push(key.code.as_char().unwrap_or('⎋')),
                TerminalInput::Background { is_light } => light = Some(is_light),
                TerminalInput::Named(name) => text.push_str(&format!("<{name}>")),
                _ => {}
            }
        }
        (text, light)
    }

    #[test]
    fn an_answer_is_taken_out_wherever_it_comes() {
        for (typed_text, expected) in [
            ("\u{1b}]11;rgb:ffff/FFFF/dddd\u{1b}\\", ("", Some(true))),
            ("hel\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{7}lo", ("hello", Some(false))),
            ("\u{1b}]11;rgba:ff/ff/ff/ff\u{1b}\\x", ("x", Some(true))),
            ("\u{1b}]x", ("]x", None)),
            ("\u{1b}]11;hello", ("]11;hello", None)),
            ("\u{1b}]11;rgb:12/34", ("]11;rgb:12/34", None)),
            ("11;rgb:ff/ff/ff", ("11;rgb:ff/ff/ff", None)),
            ("he\u{1b}P>|XTerm(390)\u{1b}\\llo", ("he<XTerm(390)>llo", None)),
            (
                "\u{1b}P>|foot 1.2\u{1b}\\\u{1b}]11;rgb:ff/ff/ff\u{7}x",
                ("<foot 1.2>x", Some(true)),
            ),
            ("\u{1b}Phi", ("Phi", None)),
            ("\u{1b}P>", ("P>", None)),
            ("P>|XTerm(390)", ("P>|XTerm(390)", None)),
        ] {
            let mut answer = ReplyFilter::new(Instant::now());
            let (text, light) = typed(&mut answer, keys(typed_text));
            assert_eq!((text.as_str(), light), expected, "{typed_text:?}");
        }
    }

    #[test]
    fn an_answer_that_comes_in_two_pieces_is_one_all_the_same() {
        let mut pieces = keys("\u{1b}");
        pieces.extend(keys("]11;rgb:ffff/ffff/ffff"));
        pieces.extend(keys("\u{1b}"));
        pieces.extend(keys("\\"));
        let mut answer = ReplyFilter::new(Instant::now());
        assert_eq!(typed(&mut answer, pieces), (String::new(), Some(true)));
    }

    #[test]
    fn a_name_in_pieces_is_one_all_the_same_and_the_key_alone_is_a_key() {
        let mut pieces = keys("\u{1b}");
        pieces.extend(keys("P>|XTerm(3"));
        pieces.extend(keys("90)\u{1b}"));
        pieces.extend(keys("\\"));
        let mut answer = ReplyFilter::new(Instant::now());
        assert_eq!(typed(&mut answer, pieces), ("<XTerm(390)>".into(), None));
        let now = answer.began;
        let again = answer.take(key('P', KeyModifiers::ALT), now);
        assert_eq!(again.len(), 1, "it is answered once");
        let mut answer = ReplyFilter::new(now);
        let held = answer.take(key('P', KeyModifiers::ALT | KeyModifiers::SHIFT), now);
        assert_eq!((held.len(), answer.patience()), (0, Some(SPLIT)));
        assert_eq!(answer.give_up().len(), 1);
    }

    #[test]
    fn escape_alone_is_escape() {
        let mut answer = ReplyFilter::new(Instant::now());
        let (text, light) = typed(&mut answer, keys("\u{1b}"));
        assert_eq!((text.as_str(), light), ("⎋", None));
        assert_eq!(answer.patience(), None, "nothing is held, so nothing wakes up");
    }
}
