//! The parts of a command that follows a run: what it prints, the run, and the questions to a person.

use agentx::runtime::View;
use agentx::types::{AgentStateId, RunId, RuntimeEvent};

use super::approver::Approver;
use super::first_notes::say_of_unheld;
use super::output_options::{Format, OutputOptions};
use super::run_start::AnswerOutput;
use super::shown_answer::ShownAnswer;
use crate::error::ChatError;
use crate::render::transcript::{TextRegion, TranscriptRenderer};
use crate::render::unheld_commands::UnheldNotice;
use crate::terminal::console::Console;

/// The output of a command.
pub(super) struct HeadlessOutput {
    pub(super) transcript: TranscriptRenderer,
    pub(super) format: Format,
    /// Whether each event is printed as it arrives.
    pub(super) frames: bool,
    /// The stream on which the words of an answer are printed, and the time.
    pub(super) words: AnswerOutput,
    pub(super) shown: ShownAnswer,
    pub(super) quiet: bool,
    /// Events up to here are not shown.
    pub(super) shown_from: u64,
    /// The notice about commands that nothing holds.
    unheld: UnheldNotice,
}

impl HeadlessOutput {
    pub(super) fn new(manner: OutputOptions, approver: &Approver, console: &Console) -> Self {
        Self {
            transcript: TranscriptRenderer::new(console.err_style(), console.terminal.width)
                .with_silent_end()
                .without_person(approver.lacks_terminal()),
            format: manner.format,
            frames: manner.view == View::Runtime && manner.format == Format::StreamJson,
            words: AnswerOutput::choose(manner, console),
            shown: ShownAnswer::default(),
            quiet: manner.quiet,
            shown_from: 0,
            unheld: UnheldNotice::default(),
        }
    }

    /// Tells that commands run without a sandbox, if this event is the first to show it and nothing told it
    /// before.
    pub(super) fn tell_of_unheld(
        &mut self,
        event: &RuntimeEvent,
        console: &mut Console,
    ) -> Result<(), ChatError> {
        if let Some(note) = self.unheld.event(event) {
            self.transcript.end_line();
            self.print(console)?;
            say_of_unheld(&note, console);
        }
        Ok(())
    }

    /// Writes the text since the last time.
    pub(super) fn print(&mut self, console: &mut Console) -> Result<(), ChatError> {
        for piece in self.transcript.take() {
            let is_answer = piece.region == TextRegion::Answer;
            if !is_answer {
                self.shown.end(console);
            }
            match self.words {
                AnswerOutput::Rendered if is_answer => self.shown.push(&piece.text, console),
                AnswerOutput::Printed if is_answer => console.out(&piece.text)?,
                AnswerOutput::AtTheEnd if is_answer => {}
                _ if self.quiet => {}
                _ => console.say(&piece.text),
            }
        }
        if self.format == Format::StreamJson {
            console.flush()?;
        }
        Ok(())
    }

    /// Writes the rest of an answer that has ended.
    pub(super) fn print_whole(&mut self, console: &mut Console) -> Result<(), ChatError> {
        self.print(console)?;
        self.shown.end(console);
        Ok(())
    }
}

/// The run that a command follows.
pub(super) struct FollowedRun {
    pub(super) id: RunId,
    /// The run that was there before the prompt.
    pub(super) earlier: Option<RunId>,
    /// The agent whose run it is, once it has said something.
    pub(super) agent: Option<AgentStateId>,
    /// Whether the command also waits for the queue after the run.
    pub(super) is_onward: bool,
}

impl FollowedRun {
    pub(super) fn new(id: RunId) -> Self {
        Self {
            id,
            earlier: None,
            agent: None,
            is_onward: false,
        }
    }
}

/// The questions of a run.
pub(super) struct RunQuestions {
    pub(super) approver: Approver,
    /// Whether a question from the model stays open when nobody can answer it.
    pub(super) stay_open: bool,
    /// Questions of events up to here were put before.
    pub(super) asked_until: u64,
}

impl RunQuestions {
    pub(super) fn new(approver: Approver) -> Self {
        Self {
            approver,
            stay_open: false,
            asked_until: 0,
        }
    }
}
