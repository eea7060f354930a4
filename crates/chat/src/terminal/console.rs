//! Standard output and error behind two writers, with what is known about the terminal, so that every command
//! runs in a test as it does in a shell.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write};

use agentx::history::plain_json;
use agentx_terminal::Theme;
use serde::Serialize;

use crate::error::ChatError;
use crate::render::clean::printable;
use crate::render::style::AnsiStyle;
use crate::render::wrapped_text::wrap_lines;
use crate::terminal::dollars::add_dollars;
use crate::terminal::output::{self, standard_error, standard_output};

/// The error code of the system for writing to a terminal whose other end was closed.
const EIO: i32 = 5;

/// The width without a terminal, in columns.
const ELSEWHERE: usize = 100;
/// The most lines that are kept to be printed once.
const MOST_TOLD: usize = 1_000;

/// The output of a command, and the facts about its reader.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    has_written: bool,
    /// Lines that are not printed again.
    told: BTreeSet<String>,
    /// The text that was pasted at a question before the chat, which takes it into its line.
    pasted: String,
    /// The facts about the terminal.
    pub terminal: Terminal,
    /// The address of the server that the command works at; hints about sessions name it.
    pub server: Option<String>,
}

/// The facts about a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// Whether standard input is a terminal.
    pub input: bool,
    /// Whether standard output is a terminal.
    pub output: bool,
    /// Whether standard error is a terminal.
    pub error: bool,
    /// Whether the terminal can do more than print lines.
    pub capable: bool,
    /// Whether to print colours, if the stream is a terminal.
    pub color: bool,
    /// Whether words replace signs, and lines are only appended.
    pub(crate) words: bool,
    /// The number of columns, at least 20; 100 without a terminal.
    pub width: usize,
}

impl Console {
    /// Creates the console of this process's standard streams.
    pub fn of_process() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let capable = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
        let output = io::stdout().is_terminal();
        let error = io::stderr().is_terminal();
        let known = if output || error {
            crossterm::terminal::size().ok()
        } else {
            None
        };
        let width = known
            .map_or(ELSEWHERE, |(columns, _)| usize::from(columns))
            .max(20);
        let color = capable && !is_set("NO_COLOR");
        let terminal = Terminal {
            input: io::stdin().is_terminal(),
            output,
            error,
            capable: capable && !is_set("ACCESSIBLE"),
            color: color && !is_set("ACCESSIBLE"),
            words: is_set("ACCESSIBLE"),
            width,
        };
        Self {
            out: Box::new(io::BufWriter::new(standard_output())),
            err: Box::new(standard_error()),
            has_written: false,
            told: BTreeSet::new(),
            pasted: String::new(),
            terminal,
            server: None,
        }
    }

    /// Prints only whole lines from now on, without colours, and with words instead of signs: for
    /// people who listen.
    pub(crate) fn use_words(&mut self) {
        (self.terminal.capable, self.terminal.color, self.terminal.words) = (false, false, true);
    }

    /// Keeps a text that was pasted before the chat has a line.
    pub(crate) fn keep_paste(&mut self, text: &str) {
        self.pasted.push_str(text);
    }

    /// Takes the text that was pasted before the chat had a line.
    pub(crate) fn take_paste(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.pasted)).filter(|text| !text.is_empty())
    }

    /// Returns the columns for standard output: text that another program reads is not narrowed to a
    /// terminal.
    pub fn out_width(&self) -> usize {
        if self.terminal.output {
            self.terminal.width
        } else {
            usize::MAX
        }
    }

    /// Returns the style of standard output, without colours if it is not a terminal.
    pub fn out_style(&self) -> AnsiStyle {
        AnsiStyle {
            color: self.terminal.color && self.terminal.output,
            words: self.terminal.words,
        }
    }

    /// Returns the theme of standard output: for the background that the terminal reports in `COLORFGBG`,
    /// otherwise for a dark background.
    pub fn theme(&self) -> Theme {
        if !self.out_style().color {
            return Theme::marked();
        }
        // `15;0` is white on black; the last number is the background.
        let background = std::env::var("COLORFGBG").ok();
        let number = background.and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
        match number {
            Some(7 | 9..=15) => Theme::light(),
            _ => Theme::dark(),
        }
    }

    /// Returns the style of standard error, without colours if it is not a terminal.
    pub fn err_style(&self) -> AnsiStyle {
        AnsiStyle {
            color: self.terminal.color && self.terminal.error,
            words: self.terminal.words,
        }
    }

    /// Writes text and flushes it. The text cannot drive the terminal: see [`printable`].
    pub fn out(&mut self, text: &str) -> Result<(), ChatError> {
        self.out_exact(&printable(text))
    }

    /// Writes the output of a terminal painter, which cleaned its texts.
    pub fn paint(&mut self, bytes: &str) -> Result<(), ChatError> {
        self.out_exact(bytes)
    }

    /// Writes such output to standard error, which is a terminal.
    pub(crate) fn say_painted(&mut self, bytes: &str) {
        let _ = self
            .err
            .write_all(bytes.as_bytes())
            .and_then(|()| self.err.flush());
    }

    /// Writes data unchanged, and flushes it.
    pub fn out_exact(&mut self, text: &str) -> Result<(), ChatError> {
        if text.is_empty() {
            return Ok(());
        }
        self.has_written = true;
        let written = self.out.write_all(text.as_bytes());
        let written = written.and_then(|()| self.out.flush());
        written.map_err(|error| self.write_error(error))
    }

    /// Returns the error for output that can no longer be written. A terminal whose other end was closed
    /// answers like a broken disk.
    fn write_error(&self, error: io::Error) -> ChatError {
        match error.raw_os_error() {
            Some(EIO) if self.terminal.output => ChatError::ClosedTerminal,
            _ => error.into(),
        }
    }

    /// Writes data as one line of JSON, not flushed.
    pub fn out_json(&mut self, value: &impl Serialize) -> Result<(), ChatError> {
        let line = serde_json::to_string(value).map_err(io::Error::from)?;
        self.has_written = true;
        let written = self.out.write_all(plain_json(&line).as_bytes());
        let written = written.and_then(|()| self.out.write_all(b"\n"));
        written.map_err(|error| self.write_error(error))
    }

    /// Writes data as JSON for people and programs.
    pub fn out_pretty(&mut self, value: &impl Serialize) -> Result<(), ChatError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.out_exact(&format!("{}\n", plain_json(&text)))
    }

    /// Writes data as [`Console::out_pretty`] does, with the dollars of each `cost`.
    pub fn out_with_dollars(&mut self, value: &impl Serialize) -> Result<(), ChatError> {
        let mut value = serde_json::to_value(value).map_err(io::Error::from)?;
        add_dollars(&mut value);
        self.out_pretty(&value)
    }

    /// Returns whether anything was written to standard output.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Flushes both streams.
    pub fn flush(&mut self) -> Result<(), ChatError> {
        self.out.flush().map_err(|error| self.write_error(error))
    }

    /// Waits until everything is written, to standard error too.
    pub fn finish(&mut self) -> Result<(), ChatError> {
        let written = self.out.flush().and_then(|()| output::finish());
        written.map_err(|error| self.write_error(error))
    }

    /// Returns whether standard output may still have a reader. A command that waits long before it writes
    /// notices `| head -1` in this way.
    #[cfg(unix)]
    pub fn is_read(&self) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        let out = io::stdout();
        let mut asked = [PollFd::new(std::os::fd::AsFd::as_fd(&out), PollFlags::empty())];
        let gone = poll(&mut asked, PollTimeout::ZERO).is_ok()
            && asked[0]
                .revents()
                .is_some_and(|found| found.contains(PollFlags::POLLERR));
        !gone
    }

    /// Returns `true`: this system cannot tell whether there is a reader.
    #[cfg(not(unix))]
    pub(crate) fn is_read(&self) -> bool {
        true
    }

    /// Prints a message to standard error, on a terminal in rows that fit; a line that does not end yet stays
    /// as it is. Control characters are shown as signs. A closed standard error is ignored.
    pub fn say(&mut self, text: &str) {
        let (lines, open) = text.split_at(text.rfind('\n').map_or(0, |at| at + 1));
        if self.terminal.error {
            self.say_exact(&(wrap_lines(lines, self.terminal.width) + open))
        } else {
            self.say_exact(text)
        }
    }

    /// Prints lines to standard error, as [`Console::say`] does, but none that was printed in this way
    /// before: several runs of one process have the same notes.
    pub fn say_once(&mut self, lines: &str) {
        let mut news = String::new();
        for line in lines.split_inclusive('\n') {
            let is_kept = self.told.len() < MOST_TOLD && self.told.insert(line.to_owned());
            if is_kept || !self.told.contains(line) {
                news.push_str(line);
            }
        }
        self.say(&news);
    }

    /// Prints streamed text to standard error unchanged.
    pub fn say_exact(&mut self, text: &str) {
        let _ = self
            .err
            .write_all(printable(text).as_bytes())
            .and_then(|()| self.err.flush());
    }

    /// Writes whole lines, on a terminal in rows that fit.
    pub fn out_lines(&mut self, lines: &str) -> Result<(), ChatError> {
        let rows = self.wrapped(lines);
        self.out(&rows)
    }

    /// Returns lines for standard output: on a terminal, wrapped to its width.
    pub(crate) fn wrapped(&self, lines: &str) -> String {
        if self.terminal.output {
            wrap_lines(lines, self.terminal.width)
        } else {
            lines.to_owned()
        }
    }

    /// The columns of the terminal.
    pub(crate) fn width(&self) -> usize {
        self.terminal.width
    }

    /// Writes an error and its hint to standard error.
    pub fn complain(&mut self, error: &ChatError) {
        self.say(&error.render_at(self.server.as_deref()));
    }
}
