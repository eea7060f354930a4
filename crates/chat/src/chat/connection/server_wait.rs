//! Waits for a server and keeps the chat responsive: shows changes of the connection, keeps typed input, and
//! ends the wait on Ctrl-C.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use agentx::runtime::RuntimeError;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::mpsc;

use crate::chat::Chat;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::terminal::TerminalInput;

/// The time that an answer of this machine still has after the person has stopped waiting.
const MOMENT: Duration = Duration::from_secs(1);
/// The code of a wait that the person has ended.
pub(in crate::chat) const GAVE_UP: &str = "gave_up";
/// Maximum number of inputs that are kept during a wait; the rest waits in the terminal.
const KEPT: usize = 1024;

/// The input of a person, in order.
pub struct Inputs {
    source: mpsc::Receiver<TerminalInput>,
    kept: VecDeque<TerminalInput>,
}

impl Inputs {
    /// Returns the inputs of this source.
    pub fn new(source: mpsc::Receiver<TerminalInput>) -> Self {
        Self {
            source,
            kept: VecDeque::new(),
        }
    }

    /// The next input. Safe to drop while it waits.
    pub(in crate::chat) async fn next(&mut self) -> TerminalInput {
        match self.kept.pop_front() {
            Some(input) => input,
            None => self.source.recv().await.unwrap_or(TerminalInput::End),
        }
    }

    /// Returns the next input if it has already arrived.
    pub(in crate::chat) fn ready(&mut self) -> Option<TerminalInput> {
        self.kept.pop_front().or_else(|| self.source.try_recv().ok())
    }

    /// Takes everything that has arrived, except lines that were sent.
    pub(in crate::chat) fn take_typed(&mut self) -> Vec<TerminalInput> {
        let kept = std::mem::take(&mut self.kept).into_iter();
        let (lines, mut typed): (Vec<_>, Vec<_>) =
            kept.partition(|input| matches!(input, TerminalInput::Waited(_)));
        self.kept = lines.into();
        typed.extend(std::iter::from_fn(|| self.source.try_recv().ok()));
        typed
    }

    /// Returns whether one more may be kept.
    pub(in crate::chat) fn has_room(&self) -> bool {
        self.kept.len() < KEPT
    }

    /// Returns whether nothing is kept but lines that were sent.
    pub(in crate::chat) fn keeps_only_lines(&self) -> bool {
        self.kept
            .iter()
            .all(|input| matches!(input, TerminalInput::Waited(_)))
    }

    /// Keeps an input for later.
    pub fn keep(&mut self, input: TerminalInput) {
        self.kept.push_back(input);
    }

    /// Returns the source of the input, for a list that takes the keys while it is open.
    pub(in crate::chat) fn source(&mut self) -> &mut mpsc::Receiver<TerminalInput> {
        &mut self.source
    }

    /// The lines that are kept.
    pub(in crate::chat) fn lines(&self) -> impl Iterator<Item = &String> {
        self.kept.iter().filter_map(|input| match input {
            TerminalInput::Waited(line) => Some(line),
            _ => None,
        })
    }

    /// Takes the last of them back.
    pub(in crate::chat) fn take_last_line(&mut self) -> Option<String> {
        let at = self
            .kept
            .iter()
            .rposition(|input| matches!(input, TerminalInput::Waited(_)))?;
        match self.kept.remove(at)? {
            TerminalInput::Waited(line) => Some(line),
            _ => None,
        }
    }

    /// Takes all of them back.
    pub(in crate::chat) fn take_lines(&mut self) -> Vec<String> {
        let mut lines: Vec<String> = std::iter::from_fn(|| self.take_last_line()).collect();
        lines.reverse();
        lines
    }

    /// The next one that comes while those before it are kept.
    pub(in crate::chat) async fn newest(&mut self) -> TerminalInput {
        self.source.recv().await.unwrap_or(TerminalInput::End)
    }
}

impl Chat<'_> {
    /// Waits for the answer of a session or its runtime.
    ///
    /// # Errors
    /// Returns the error of the session or its runtime, and an error if the person does not want to wait any
    /// longer.
    pub(in crate::chat) async fn wait_for<T>(
        &mut self,
        work: impl Future<Output = Result<T, RuntimeError>>,
    ) -> Result<T, ChatError> {
        let mut work = pin!(work);
        loop {
            let keys = self.connection.company.is_possible()
                && self.display.has_editor()
                && self.composer.inputs.has_room();
            tokio::select! {
                biased;
                done = &mut work => return Ok(done?),
                news = self.connection.company.news() => {
                    self.display.tell_participants_update(news);
                    self.paint()?;
                }
                () = self.composer.draft.due() => self.keep_draft().await,
                exit = self.signals.next() => {
                    // An answer of this machine arrives in a moment, and then there is an agent to stop.
                    if !self.connection.company.is_possible()
                        && let Ok(done) = tokio::time::timeout(MOMENT, &mut work).await
                    {
                        self.signals.keep(exit);
                        return Ok(done?);
                    }
                    self.after_signal(exit);
                    return Err(gave_up());
                }
                input = self.composer.inputs.newest(), if keys => {
                    if is_enough(&input) {
                        if !is_control(&input, 'c') {
                            self.leaving = Some(Exit::Ok);
                        }
                        return Err(gave_up());
                    }
                    if let Some(input) = self.typed_while_away(input)? {
                        self.composer.inputs.kept.push_back(input);
                    }
                    self.keep_draft().await;
                    if self.leaving.is_some() {
                        return Err(gave_up());
                    }
                }
            }
        }
    }
}

/// Returns whether a person does not want to wait any longer.
fn is_enough(input: &TerminalInput) -> bool {
    is_control(input, 'c') || is_control(input, 'd') || *input == TerminalInput::End
}

/// Returns whether it is this letter with the control key.
fn is_control(input: &TerminalInput, letter: char) -> bool {
    let is_it =
        |key: &KeyEvent| key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(input, TerminalInput::Key(key) if is_it(key))
}

/// Returns the exit of a person who left while the chat waited for the server: what they gave up is not
/// a failure then.
pub(in crate::chat) fn exit_of_leaving(leaving: Option<Exit>, error: &ChatError) -> Option<Exit> {
    leaving.filter(|_| matches!(error, ChatError::Run { code, .. } if code == GAVE_UP))
}

fn gave_up() -> ChatError {
    ChatError::Run {
        exit: Exit::Interrupted,
        code: GAVE_UP.into(),
        message: "stopped waiting for an answer; the server may still carry out the last request".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_leaves_while_the_chat_waits_for_the_server_leaves_without_a_failure() {
        assert_eq!(exit_of_leaving(Some(Exit::Ok), &gave_up()), Some(Exit::Ok));
        assert_eq!(exit_of_leaving(None, &gave_up()), None, "they only gave up");
        let other = ChatError::ClosedOutput;
        assert_eq!(exit_of_leaving(Some(Exit::Ok), &other), None);
    }
}
