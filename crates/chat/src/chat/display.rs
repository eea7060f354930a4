//! What a person sees of a chat: the console, the screen or the lines on it, and what fills them.

use agentx::config::ThinkingDisplay;
use tokio::time::Instant;

use super::ChatInterface;
use super::pace::Pace;
use super::prompt::Prompt;
use super::status_row::StatusRow;
use crate::console::Console;
use crate::render::agents::AgentCast;
use crate::render::style::Paint;
use crate::render::transcript::TranscriptRenderer;

/// What a person sees.
pub(crate) struct Display<'a> {
    pub(super) console: &'a mut Console,
    pub(super) face: ChatInterface,
    pub(super) transcript: TranscriptRenderer,
    /// The agents beside the one that people talk to.
    pub(super) cast: AgentCast,
    /// The row above the line, as the person wants to read it.
    pub(super) status_row: StatusRow,
    /// What the terminal was asked about itself.
    pub(super) queries: TerminalQueries,
    /// The line that has not ended, where only whole ones are printed.
    pub(super) spoken: String,
    pub(super) prompt: Prompt,
    pub(super) pace: Pace,
}

/// Since when the terminal owes an answer; `None` where it was not asked, or has answered.
#[derive(Debug, Default)]
pub(super) struct TerminalQueries {
    /// What its background is.
    pub(super) background: Option<Instant>,
    /// What it is called.
    pub(super) name: Option<Instant>,
}

impl<'a> Display<'a> {
    /// A display on which nothing was shown yet.
    pub(super) fn new(
        console: &'a mut Console,
        face: ChatInterface,
        thinking: ThinkingDisplay,
        status_row: StatusRow,
    ) -> Self {
        let (style, width) = (console.out_style(), console.terminal.width);
        let mut transcript = TranscriptRenderer::new(style, width).with_costs();
        let mut cast = AgentCast::new(style, width);
        if matches!(face, ChatInterface::Editor { .. }) {
            // A screen has room for what runs.
            transcript = transcript.holding_calls();
        }
        transcript.set_thinking(thinking);
        cast.set_thinking(thinking);
        Self {
            console,
            face,
            transcript,
            cast,
            status_row,
            queries: TerminalQueries::default(),
            spoken: String::new(),
            prompt: Prompt::default(),
            pace: Pace::default(),
        }
    }

    /// The looks of what is printed.
    pub(super) fn style(&self) -> Paint {
        self.console.out_style()
    }

    /// How many columns there are.
    pub(super) fn width(&self) -> usize {
        self.console.terminal.width
    }

    /// Whether there is a line editor.
    pub(super) fn has_editor(&self) -> bool {
        matches!(self.face, ChatInterface::Editor { .. })
    }

    /// Writes a hint where the next words are written, if there is a line editor.
    pub(super) fn set_hint(&mut self, hint: &str) {
        if let ChatInterface::Editor { screen, .. } = &mut self.face {
            screen.set_hint(hint.to_owned());
        }
    }
}
