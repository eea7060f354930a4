//! Updates of the status: the row above the input line, a notice when a long run ends, and the colours that
//! fit the terminal's background.

use agentx::config::{Notice, ThemeChoice};
use agentx::runtime::RuntimeError;
use agentx::types::{ApprovalMode, RunStatus, RuntimeEvent};
use agentx_terminal::Theme;
use tokio::time::{Duration, Instant};

use crate::chat::{Chat, ChatInterface, ConversationSite};
use crate::error::ChatError;
use crate::render::approval_mode_word::{mode_sentence, mode_word};
use crate::render::clean::visible;
use crate::render::units;
use crate::session_status::TICK;
use crate::terminal::{self, TerminalInput, reply_filter, tmux};

/// The time between two notes that the chat is still waiting.
const ALOUD: Duration = Duration::from_secs(30);

/// The time between two checks whether a job of the user has ended, while nothing else happens.
const OWN_JOBS: Duration = Duration::from_secs(1);

impl Chat<'_> {
    /// Reads, at the end of a run, the cost and whether an input waits. An input that was dropped with a
    /// stopped run begins no new run.
    pub(in crate::chat) async fn refresh_status(&mut self) -> Result<(), ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(());
        };
        let shows = self.display.has_editor();
        if !(self.status.is_in_doubt() || shows && self.status.is_stale()) {
            return Ok(());
        }
        let session = session.clone();
        let state = match self.wait_for(async { session.state().await }).await {
            Ok(state) => state,
            // The server repeats it when it is back.
            Err(ChatError::Runtime(RuntimeError::Unreachable { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        let before = self.status.activity.approval();
        self.status.update(&state);
        let now = self.status.activity.approval();
        let asked_less = matches!(before, ApprovalMode::Auto | ApprovalMode::AcceptEdits);
        if asked_less && now.strictness() > before.strictness() {
            // A server restores the mode when the program that set it is gone, or when another one drives.
            let what = match before {
                ApprovalMode::Auto => "calls",
                _ => "edits",
            };
            let (mode, word) = (mode_sentence(now), mode_word(before));
            let line = format!(
                "· {what} no longer run without asking: {mode}; `/approve-mode {word}` sets that again"
            );
            self.display.transcript.note(&self.display.style().warn(&line));
        }
        if !self.status.is_in_doubt() {
            return Ok(());
        }
        let last_run = state.run.as_ref();
        if state.queued.is_empty() && last_run.is_none_or(|run| run.status.is_final()) {
            self.status.clear_waiting(last_run.map(|run| &run.run_id));
        }
        Ok(())
    }

    /// Returns the interval at which time alone changes the screen.
    pub(in crate::chat) fn ticks(&self) -> Option<Duration> {
        let moves = self.status.activity.moves();
        match self.display.face {
            ChatInterface::Editor { .. } => {
                let rest = self.display.pace.rest(Instant::now());
                let rest = rest.or(moves.then_some(TICK));
                let rest = rest.or(self.programs.jobs.has_own().then_some(OWN_JOBS));
                let pause = self.approvals.attention.rest(Instant::now());
                pause
                    .map(|pause| rest.map_or(pause, |rest| rest.min(pause)))
                    .or(rest)
            }
            ChatInterface::Lines { .. } => (moves && self.display.console.terminal.words).then_some(ALOUD),
        }
    }

    /// The text of the status row.
    pub(in crate::chat) fn status_text(&mut self) -> String {
        self.tell_of_own_jobs();
        if let Some(own) = &self.programs.running {
            let width = self.display.width();
            return own.status(Instant::now(), width, self.display.style());
        }
        let session = match &self.connection.site {
            ConversationSite::Open { session, .. } => session.id().as_str(),
            ConversationSite::New(_) => "",
        };
        let mut stand = self.status.activity.summary(session);
        let catalog = &self.settings.catalog;
        stand.decisions.auto_approve = self.approvals.auto_approve;
        if self.place.remote().is_none() {
            self.display
                .status_row
                .sandbox(stand.decisions.approval)
                .clone_into(&mut stand.place.sandbox);
        }
        stand.model.is_assumed =
            catalog.assumes_window(&stand.model.provider, &stand.model.name, stand.model.window);
        self.display.status_row.tell(&stand);
        if let Some(what) = self.display.status_row.complaint() {
            let line = self.display.style().warn(&visible(&what));
            self.display.transcript.note(&line);
        }
        let thought = self.display.transcript.thought_words();
        let (text, columns) = (
            self.display.status_row.text(&stand) + &self.programs.jobs.row(),
            self.display.width(),
        );
        let style = self.display.style();
        let row = self
            .status
            .activity
            .row(Instant::now(), thought.as_deref(), (&text, columns), style);
        if row.is_empty() {
            // Before the first message, there are only jobs to report.
            style.dim(self.programs.jobs.row().trim_start_matches(" · "))
        } else if self.connection.company.is_cut_off() {
            // Without a connection the activity is unknown.
            style.dim(&format!("no connection · {text}"))
        } else {
            row
        }
    }

    /// Tells a screen reader about a long activity at intervals.
    pub(in crate::chat) fn announce_long_activity(&mut self) {
        if self.display.console.terminal.words
            && matches!(self.display.face, ChatInterface::Lines { .. })
            && let Some(what) = self.status.activity.waits_for(Instant::now(), None)
        {
            self.display
                .transcript
                .note(&format!("still {}", what.replace(" · ", ", ")));
        }
    }

    /// Tells a screen reader about activities that begin or end.
    pub(in crate::chat) fn say_aloud(&mut self, event: &RuntimeEvent, is_of_another: bool) {
        if !self.display.console.terminal.words || is_of_another {
            return;
        }
        match event {
            RuntimeEvent::RunStarted(_) => {
                let model = self.status.activity.summary("").model.name;
                self.display.transcript.aside(&format!("waiting for {model}"));
            }
            RuntimeEvent::RunFinished(run) if run.status == RunStatus::Completed => {
                self.display
                    .transcript
                    .aside("done; type a message and press Enter");
            }
            RuntimeEvent::RunFinished(_) => self.display.transcript.aside("type a message and press Enter"),
            _ => {}
        }
    }

    /// Notifies the person if a long run has ended or asks something, because they may be elsewhere.
    pub(in crate::chat) fn call_if_long(&mut self, event: &RuntimeEvent, is_of_another: bool) {
        let what = match event {
            RuntimeEvent::RunFinished(run) if !is_of_another => match run.status {
                RunStatus::Completed => "done",
                _ => "ended",
            },
            RuntimeEvent::ApprovalRequested(_) => "needs your decision",
            _ => return,
        };
        let took = self.status.activity.run_time(Instant::now());
        let chat = &self.settings.chat;
        if took < chat.notify_after {
            return;
        }
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let text = format!("agentx {what} after {}", units::duration(millis));
        let in_tmux = tmux::is_around();
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face {
            screen.tell(&notice(chat.notice, &text, in_tmux));
        }
    }

    /// Asks the terminal what it is, and for its background, if that decides about colours.
    pub(in crate::chat) fn ask_terminal(&mut self) {
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face
            && terminal::may_be_asked()
        {
            screen.tell(reply_filter::ASK_NAME);
            self.display.queries.name = Some(Instant::now());
        }
        let chat = &self.settings.chat;
        let in_tmux = tmux::is_around();
        let knows = |term: String| term != "linux" && (in_tmux || !term.starts_with("screen"));
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face
            && screen.theme().color
            && chat.theme == ThemeChoice::Auto
            && std::env::var("TERM").is_ok_and(knows)
        {
            screen.tell(reply_filter::ASK);
            self.display.queries.background = Some(Instant::now());
        }
    }

    /// Handles the reply of the terminal about its background.
    pub(in crate::chat) fn background(&mut self, is_light: bool) {
        // The terminal answers queries in order, so an earlier query without an answer by now gets none.
        (self.display.queries.background, self.display.queries.name) = (None, None);
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face
            && screen.theme().color
            && self.settings.chat.theme == ThemeChoice::Auto
        {
            let theme = if is_light { Theme::light() } else { Theme::dark() };
            let theme = theme.with_links(screen.theme().links);
            screen.set_theme(theme);
            self.display.cast.set_theme(theme);
        }
    }

    /// Waits a moment for the terminal's reply about its background: before the earlier messages are shown,
    /// and before the terminal is restored, so that the reply does not end up in the shell. At the `end` it
    /// also waits for the reply about the terminal's name.
    pub(in crate::chat) async fn settle_background(&mut self, end: bool) -> Result<(), ChatError> {
        let waited_for = |chat: &Self| {
            chat.display
                .queries
                .background
                .or(chat.display.queries.name.filter(|_| end))
        };
        let Some(asked) = waited_for(self) else {
            return Ok(());
        };
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face {
            let bytes = screen.take_told();
            self.display.console.paint(&bytes)?;
        }
        let until = asked + reply_filter::PATIENCE;
        while waited_for(self).is_some()
            && let Ok(input) = tokio::time::timeout_at(until, self.composer.inputs.newest()).await
        {
            match input {
                TerminalInput::Background { is_light } => self.background(is_light),
                TerminalInput::Named(_) => self.display.queries.name = None,
                TerminalInput::End => {
                    self.composer.inputs.keep(TerminalInput::End);
                    break;
                }
                other => self.composer.inputs.keep(other),
            }
        }
        Ok(())
    }
}

/// The bytes of a notification.
fn notice(kind: Notice, text: &str, in_tmux: bool) -> String {
    let sequence = match kind {
        Notice::None => return String::new(),
        Notice::Bell => return "\u{7}".to_owned(),
        Notice::Osc9 => format!("\u{1b}]9;{text}\u{7}"),
        Notice::Osc777 => format!("\u{1b}]777;notify;agentx;{text}\u{7}"),
    };
    if in_tmux {
        tmux::passed_through(&sequence)
    } else {
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_in_the_terminals_own_way() {
        assert_eq!(notice(Notice::Bell, "done", true), "\u{7}");
        assert_eq!(notice(Notice::Osc9, "done", false), "\u{1b}]9;done\u{7}");
        assert_eq!(
            notice(Notice::Osc777, "done", true),
            "\u{1b}Ptmux;\u{1b}\u{1b}]777;notify;agentx;done\u{7}\u{1b}\\"
        );
        assert_eq!(notice(Notice::None, "done", false), "");
    }
}
