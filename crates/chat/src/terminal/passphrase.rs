//! Asks on the terminal for the passphrase of a key, or for a secret: hidden from the first moment on. A passphrase
//! is asked for up to three times.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::time::{Duration, Instant};

use agentx::identity::{KeyError, SecretKey};

const TRIES: usize = 3;
const CTRL_C: u8 = 3;

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
    // Input that is typed while a passphrase is tried is hidden, too.
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

/// Asks for a value that is not shown while it is typed, for this long at most.
///
/// # Errors
/// Returns a message if there is no terminal, nobody answers, or the person presses Ctrl-C.
pub fn ask_hidden(prompt: &str, patience: Duration) -> Result<String, String> {
    let hidden = HiddenInput::begin().map_err(|error| error.to_string())?;
    let until = Instant::now() + patience;
    hidden
        .ask_until(prompt, Some(until))
        .map_err(|error| error.to_string())
}

/// Hides typed text on the terminal until this is dropped.
struct HiddenInput;

impl HiddenInput {
    /// Hides typed text from now on, before the question is printed: people begin to type when they see the
    /// question.
    fn begin() -> io::Result<Self> {
        crossterm::terminal::enable_raw_mode().map(|()| Self)
    }

    /// Asks, and reads a line. Ctrl-C ends the question, and the terminal is put back before the program
    /// ends.
    fn ask(&self, prompt: &str) -> io::Result<String> {
        self.ask_until(prompt, None)
    }

    /// The same, until some time.
    fn ask_until(&self, prompt: &str, until: Option<Instant>) -> io::Result<String> {
        let input = Typed {
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
        // If the terminal is gone, there is nothing to restore.
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

/// The typed text, up to Ctrl-C: the library would end the program with it and leave the terminal in raw
/// mode.
struct Typed {
    terminal: File,
    until: Option<Instant>,
}

impl Typed {
    /// Waits for a key, as long as there is time.
    #[cfg(unix)]
    fn wait(&self) -> io::Result<()> {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        let Some(until) = self.until else { return Ok(()) };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let terminal = std::os::fd::AsFd::as_fd(&self.terminal);
            match poll(&mut [PollFd::new(terminal, PollFlags::POLLIN)], left) {
                Ok(0) => return Err(io::Error::other("nobody answered")),
                Ok(_) => return Ok(()),
                // Another size of the terminal, for example.
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cfg(not(unix))]
    fn wait(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Typed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        let count = self.terminal.read(bytes)?;
        match bytes.get(..count) {
            Some(typed) if typed.contains(&CTRL_C) => Err(io::Error::other("interrupted")),
            _ => Ok(count),
        }
    }
}
