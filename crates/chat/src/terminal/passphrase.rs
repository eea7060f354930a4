//! Asks on the terminal for the passphrase of a key, or for a secret: hidden from the first moment on. A
//! passphrase is asked for up to three times.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::time::{Duration, Instant};

use agentx::identity::{KeyError, SecretKey};

use super::typed_ahead::CTRL_C;

const TRIES: usize = 3;
const ESC: u8 = 27;
/// The time in which the rest of a key comes that begins with Esc, such as an arrow.
const REST_OF_KEY: Duration = Duration::from_millis(100);

/// Reads an OpenSSH key that has a passphrase, and asks for the passphrase with `prompt`.
///
/// # Errors
/// Returns an error, in words, if there is no terminal to ask at, if the passphrase was wrong each time, or
/// if the key is invalid.
pub fn read_encrypted(file: &[u8], prompt: &str) -> Result<SecretKey, String> {
    if !io::stdin().is_terminal() {
        let what = "the key has a passphrase; run this command on a terminal, where AgentX can ask for it";
        return Err(what.to_owned());
    }
    // Input that is typed while a passphrase is tried is also hidden.
    let hidden = HiddenInput::begin().map_err(|error| error.to_string())?;
    let mut wrong = KeyError::WrongPassphrase;
    for _ in 0..TRIES {
        let passphrase = hidden.ask(prompt).map_err(|error| error.to_string())?;
        match SecretKey::from_encrypted_openssh(file, passphrase) {
            Err(error @ KeyError::WrongPassphrase) => {
                hidden
                    .say(&error.to_string())
                    .map_err(|error| error.to_string())?;
                wrong = error;
            }
            read => return read.map_err(|error| error.to_string()),
        }
    }
    Err(format!("{wrong}; it was wrong {TRIES} times"))
}

/// Asks for a value that is not shown while it is typed, for this long at most. Returns `None` if the person
/// cancels: with Esc, Ctrl-C, or an empty line.
///
/// # Errors
/// Returns a message if there is no terminal, or nobody answers.
pub fn ask_hidden(prompt: &str, patience: Duration) -> Result<Option<String>, String> {
    ask_hidden_after(Vec::new(), prompt, patience)
}

/// The same; the answer begins with these bytes, which were typed before the question was there.
pub(crate) fn ask_hidden_after(
    typed: Vec<u8>,
    prompt: &str,
    patience: Duration,
) -> Result<Option<String>, String> {
    let hidden = HiddenInput::begin().map_err(|error| error.to_string())?;
    let until = Instant::now() + patience;
    match hidden.ask_until(prompt, typed, Some(until)) {
        Ok(typed) => Ok(Some(typed).filter(|typed| !typed.is_empty())),
        Err(error) if is_cancelled(&error) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The person pressed Esc or Ctrl-C instead of answering.
#[derive(Debug)]
struct PassphraseCancelled;

impl fmt::Display for PassphraseCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for PassphraseCancelled {}

fn is_cancelled(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<PassphraseCancelled>())
}

/// Hides typed text on the terminal until this is dropped.
struct HiddenInput {
    /// Whether the terminal was in raw mode already; then it stays in it.
    was_hidden: bool,
}

impl HiddenInput {
    /// Hides typed text from now on, before the question is printed: people begin to type when they see the
    /// question.
    fn begin() -> io::Result<Self> {
        let was_hidden = crossterm::terminal::is_raw_mode_enabled()?;
        crossterm::terminal::enable_raw_mode()?;
        Ok(Self { was_hidden })
    }

    /// Asks, and reads a line. Esc and Ctrl-C end the question, and the terminal is put back before the
    /// program ends.
    fn ask(&self, prompt: &str) -> io::Result<String> {
        self.ask_until(prompt, Vec::new(), None)
    }

    /// The same, until some time. The answer begins with the bytes that were `typed` already.
    fn ask_until(&self, prompt: &str, typed: Vec<u8>, until: Option<Instant>) -> io::Result<String> {
        let input = TypedText {
            typed: typed.into_iter(),
            terminal: File::open("/dev/tty")?,
            until,
        };
        let config = rpassword::ConfigBuilder::new()
            .input_reader(input)
            .output_file_path("/dev/tty");
        let asked = rpassword::prompt_password_with_config(prompt, config.build());
        self.say("")?;
        asked
    }

    /// Writes a line. The terminal does not return to its beginning by itself now.
    fn say(&self, line: &str) -> io::Result<()> {
        let mut terminal = File::options().write(true).open("/dev/tty")?;
        write!(terminal, "{line}\r\n")
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if !self.was_hidden {
            // If the terminal is gone, there is nothing to restore.
            let _ = crossterm::terminal::disable_raw_mode();
        }
    }
}

/// The typed text, up to Esc or Ctrl-C. The library would end the program with Ctrl-C and leave the terminal
/// in raw mode, and wait for another key after Esc.
struct TypedText {
    /// The bytes that were typed before the question.
    typed: std::vec::IntoIter<u8>,
    terminal: File,
    until: Option<Instant>,
}

impl TypedText {
    /// Waits for a key, as long as there is time.
    fn wait(&self) -> io::Result<()> {
        let Some(until) = self.until else { return Ok(()) };
        if self.has_input(until)? {
            return Ok(());
        }
        Err(io::Error::other("nobody answered"))
    }

    /// Waits for typed text until some time. Returns whether there is some.
    #[cfg(unix)]
    fn has_input(&self, until: Instant) -> io::Result<bool> {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let terminal = std::os::fd::AsFd::as_fd(&self.terminal);
            match poll(&mut [PollFd::new(terminal, PollFlags::POLLIN)], left) {
                Ok(ready) => return Ok(ready > 0),
                // Another size of the terminal, for example.
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cfg(not(unix))]
    fn has_input(&self, _: Instant) -> io::Result<bool> {
        Ok(true)
    }
}

impl Read for TypedText {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(first) = bytes.first_mut() else {
            return Ok(0);
        };
        if let Some(byte) = self.typed.next() {
            *first = byte;
            return if byte == CTRL_C {
                Err(io::Error::other(PassphraseCancelled))
            } else {
                Ok(1)
            };
        }
        self.wait()?;
        let count = self.terminal.read(bytes)?;
        let typed = bytes.get(..count).unwrap_or_default();
        let is_escape = typed.last() == Some(&ESC) && !self.has_input(Instant::now() + REST_OF_KEY)?;
        if is_escape || typed.contains(&CTRL_C) {
            return Err(io::Error::other(PassphraseCancelled));
        }
        Ok(count)
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::os::fd::OwnedFd;

    use super::*;

    /// Reads a line of these keys, which come at once, and of nothing else.
    fn asked(keys: &[u8]) -> io::Result<String> {
        asked_after(b"", keys)
    }

    /// The same after these keys, which were typed before the question.
    fn asked_after(typed: &[u8], keys: &[u8]) -> io::Result<String> {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(keys).unwrap();
        let input = TypedText {
            typed: Vec::from(typed).into_iter(),
            terminal: File::from(OwnedFd::from(reader)),
            until: Some(Instant::now() + Duration::from_secs(60)),
        };
        let config = rpassword::ConfigBuilder::new()
            .input_reader(input)
            .output_discard();
        let asked = rpassword::read_password_with_config(config.build());
        // Until here somebody may still type.
        drop(writer);
        asked
    }

    #[test]
    fn esc_and_ctrl_c_cancel_and_an_arrow_does_not() {
        for keys in [&b"\x1b"[..], b"made-up\x1b", b"made-up\x03", b"\x03"] {
            assert!(is_cancelled(&asked(keys).unwrap_err()), "{keys:?}");
        }
        assert_eq!(asked(b"made\x1b[D-up\r").unwrap(), "made-up");
        assert_eq!(asked(b"made-up\r").unwrap(), "made-up");
    }

    #[test]
    fn what_was_typed_before_the_question_is_the_beginning_of_the_answer() {
        assert_eq!(asked_after(b"made\x7f\x7f", b"de-up\r").unwrap(), "made-up");
        assert_eq!(asked_after("made-üp\r".as_bytes(), b"").unwrap(), "made-üp");
        assert!(is_cancelled(&asked_after(b"made-up\x03", b"\r").unwrap_err()));
    }
}
