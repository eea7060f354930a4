//! The text that the terminal of a shell has shown and nobody has read yet, and whether a program runs in it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::prompt_scanner::{PromptScanner, ShellPrompt, TerminalPiece};
use crate::bash::backlog::OutputBacklog;
use crate::bash::command_end::CommandEnd;
use crate::text::Decoder;

/// The output of a shell and its state. The task that reads the terminal writes it; calls read it.
#[derive(Debug)]
pub(super) struct ShellScreen {
    state: Mutex<ScreenState>,
    news: Notify,
}

#[derive(Debug)]
struct ScreenState {
    scanner: PromptScanner,
    decoder: Decoder,
    backlog: OutputBacklog,
    /// The number of the last command that began.
    number: u64,
    /// The prompt after the last command; `None` while it runs.
    prompt: Option<ShellPrompt>,
    end: Option<CommandEnd>,
    /// Bytes of output since the last command began.
    total: u64,
    /// Whether the output ends inside of a line, as after a question.
    in_line: bool,
}

/// The state of a shell, with the output that was not read before.
#[derive(Debug)]
pub(super) struct ScreenNews {
    pub(super) output: String,
    /// Bytes of output before it that are lost.
    pub(super) lost: u64,
    /// The prompt after the last command; `None` while it runs.
    pub(super) prompt: Option<ShellPrompt>,
    /// The end of the shell itself.
    pub(super) end: Option<CommandEnd>,
    /// Whether the output ends inside of a line, as after a question.
    pub(super) in_line: bool,
}

impl ShellScreen {
    /// Creates the screen of a shell whose prompts have this word. `most` is the number of bytes to keep.
    pub(super) fn new(word: &str, most: usize) -> Self {
        Self {
            state: Mutex::new(ScreenState {
                scanner: PromptScanner::new(word),
                decoder: Decoder::default(),
                backlog: OutputBacklog::new(most),
                number: 0,
                prompt: None,
                end: None,
                total: 0,
                in_line: false,
            }),
            news: Notify::new(),
        }
    }

    /// Takes bytes of the terminal. Returns the bytes of output since the last command began.
    pub(super) fn push(&self, bytes: &[u8]) -> u64 {
        let mut state = self.lock();
        let ScreenState {
            scanner,
            decoder,
            backlog,
            number,
            prompt,
            total,
            in_line,
            ..
        } = &mut *state;
        let mut text = String::new();
        scanner.push(bytes, |piece| match piece {
            TerminalPiece::Output(bytes) => {
                text.clear();
                decoder.push(bytes, &mut text);
                backlog.push(&text);
                *total += bytes.len() as u64;
                *in_line = !bytes.ends_with(b"\n");
            }
            // A key that interrupts a command which ends at the same moment makes a second prompt.
            TerminalPiece::Prompt(found) if found.number == *number => *prompt = Some(found),
            TerminalPiece::Prompt(_) => {}
        });
        let total = *total;
        drop(state);
        self.news.notify_waiters();
        total
    }

    /// Notes that the command of this number begins.
    pub(super) fn begin(&self, number: u64) {
        let mut state = self.lock();
        state.number = number;
        state.prompt = None;
        state.total = 0;
        state.in_line = false;
    }

    /// Notes the end of the shell.
    pub(super) fn finish(&self, end: CommandEnd) {
        self.lock().end.get_or_insert(end);
        self.news.notify_waiters();
    }

    /// Drops the output so far, such as the first prompt of a shell that is not set up yet.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        // Nobody reads it.
        let _ = state.backlog.take();
        state.in_line = false;
    }

    /// Takes the output since the last call, and returns the state.
    pub(super) fn take(&self) -> ScreenNews {
        let mut state = self.lock();
        let (output, lost) = state.backlog.take();
        ScreenNews {
            output,
            lost,
            prompt: state.prompt.clone(),
            end: state.end,
            in_line: state.in_line,
        }
    }

    /// Returns the prompt after the last command; `None` while it runs.
    pub(super) fn prompt(&self) -> Option<ShellPrompt> {
        self.lock().prompt.clone()
    }

    /// Returns the bytes of output since the last command began.
    pub(super) fn total(&self) -> u64 {
        self.lock().total
    }

    /// Returns whether the shell has ended.
    pub(super) fn is_over(&self) -> bool {
        self.lock().end.is_some()
    }

    /// Waits for output, a prompt or the end, unless there is some of it already.
    pub(super) async fn news(&self) {
        self.wait_until(|state| !state.backlog.is_empty() || state.prompt.is_some() || state.end.is_some())
            .await;
    }

    /// Waits until no command runs.
    pub(super) async fn rest(&self) {
        self.wait_until(|state| state.prompt.is_some() || state.end.is_some())
            .await;
    }

    async fn wait_until(&self, done: impl Fn(&ScreenState) -> bool) {
        loop {
            let news = self.news.notified();
            let mut news = std::pin::pin!(news);
            // From here on nothing is missed.
            news.as_mut().enable();
            if done(&self.lock()) {
                return;
            }
            news.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_prompt_of_an_earlier_command_ends_no_later_one() {
        let screen = ShellScreen::new("w", 100);
        screen.push(b"bash$ \x1b]777;agentx;w;0;0;/ws\x07");
        screen.rest().await;
        screen.clear();
        screen.begin(1);
        assert_eq!(screen.push(b"hi\x1b]777;agentx;w;0;130;/ws\x07"), 2);
        let news = screen.take();
        assert_eq!((news.output.as_str(), news.lost, news.in_line), ("hi", 0, true));
        assert!(news.prompt.is_none());
        screen.push(b"\n\x1b]777;agentx;w;1;3;/ws/a\x07");
        screen.news().await;
        let news = screen.take();
        let prompt = news.prompt.map(|prompt| (prompt.exit_code, prompt.directory));
        assert_eq!(prompt, Some((3, "/ws/a".to_owned())));
        assert!(!news.in_line && !screen.is_over());
        screen.finish(CommandEnd::Interrupted);
        assert!(screen.is_over());
    }
}
