//! How a session stands, and how that reaches the person: the row above the line, a notice when a long run ends, and the colours
//! that fit the terminal's background.

use agentx::config::{ChatSettings, Links, Notice, ThemeChoice};
use agentx::runtime::RuntimeError;
use agentx::types::{ApprovalMode, RunStatus, RuntimeEvent};
use agentx_terminal::Theme;
use tokio::time::{Duration, Instant};

use super::commands::mode_sentence;
use super::{Chat, ChatInterface, ConversationSite, progress};
use crate::console::Console;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::units;
use crate::terminal::{self, TerminalInput, background};

/// How often it is said aloud that something is still waited for.
const ALOUD: Duration = Duration::from_secs(30);

/// How often it is looked whether a job of the person's own has ended, while nothing else happens.
const OWN_JOBS: Duration = Duration::from_secs(1);

impl Chat<'_> {
    /// At the end of a run: what was spent, and whether anything waits. An input that was dropped with a run that was stopped
    /// begins none.
    pub(super) async fn ask_how_it_stands(&mut self) -> Result<(), ChatError> {
        let ConversationSite::Open { session, .. } = &self.seat else {
            return Ok(());
        };
        let shows = matches!(self.face, ChatInterface::Editor { .. });
        let is_stale = self.progress.is_stale() || self.desk.queue.is_stale();
        if !(self.desk.is_in_doubt() || shows && is_stale) {
            return Ok(());
        }
        let session = session.clone();
        let state = match self.wait_for(async { session.state().await }).await {
            Ok(state) => state,
            // The server says it again when it is there again.
            Err(ChatError::Runtime(RuntimeError::Unreachable { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        let asked_nobody = self.progress.approval() == ApprovalMode::Auto;
        self.progress.stands(&state);
        self.desk.stands(&state);
        if asked_nobody && self.progress.approval() != ApprovalMode::Auto {
            // A server puts it back where it was ended, or where another one drives.
            let mode = mode_sentence(self.progress.approval());
            let line =
                format!("· calls no longer run without asking: {mode}; `/approve-mode auto` sets that again");
            self.transcript.note(&self.console.out_style().warn(&line));
        }
        if !self.desk.is_in_doubt() {
            return Ok(());
        }
        let last_run = state.run.as_ref();
        if state.queued.is_empty() && last_run.is_none_or(|run| run.status.is_final()) {
            self.desk.nothing_waits(last_run.map(|run| &run.run_id));
        }
        Ok(())
    }

    /// How often time alone changes what is shown.
    pub(super) fn ticks(&self) -> Option<Duration> {
        let moves = self.progress.moves();
        match self.face {
            ChatInterface::Editor { .. } => {
                let rest = self.pace.rest(Instant::now());
                let rest = rest.or(moves.then_some(progress::TICK));
                let rest = rest.or(self.jobs.has_own().then_some(OWN_JOBS));
                let pause = self.attention.rest(Instant::now());
                pause
                    .map(|pause| rest.map_or(pause, |rest| rest.min(pause)))
                    .or(rest)
            }
            ChatInterface::Lines { .. } => (moves && self.console.terminal.words).then_some(ALOUD),
        }
    }

    /// The row that says how things stand.
    pub(super) fn status_text(&mut self) -> String {
        self.tell_of_own_jobs();
        if let Some(own) = &self.own {
            let width = self.console.terminal.width;
            return own.status(Instant::now(), width, self.console.out_style());
        }
        let session = match &self.seat {
            ConversationSite::Open { session, .. } => session.id().as_str(),
            ConversationSite::New(_) => "",
        };
        let mut stand = self.progress.stand(session);
        let catalog = &self.settings.catalog;
        stand.says_yes = self.says_yes;
        stand.is_assumed = catalog.assumes_window(&stand.provider, stand.window, &stand.prices);
        self.status.tell(&stand);
        if let Some(what) = self.status.complaint() {
            let line = self.console.out_style().warn(&visible(&what));
            self.transcript.note(&line);
        }
        let thought = self.transcript.thought_words();
        let (text, columns) = (
            self.status.text(&stand) + &self.jobs.row(),
            self.console.terminal.width,
        );
        let style = self.console.out_style();
        let row = self
            .progress
            .row(Instant::now(), thought.as_deref(), (&text, columns), style);
        match row.is_empty() {
            // Before anything was said, jobs are all that there is to say.
            true => style.dim(self.jobs.row().trim_start_matches(" · ")),
            // Without a connection nobody knows what goes on.
            false if self.company.is_cut_off() => style.dim(&format!("no connection · {text}")),
            false => row,
        }
    }

    /// What goes on, for who listens, each time that it was waited for long.
    pub(super) fn say_what_is_waited_for(&mut self) {
        if self.console.terminal.words
            && matches!(self.face, ChatInterface::Lines { .. })
            && let Some(what) = self.progress.waits_for(Instant::now(), None)
        {
            self.transcript
                .note(&format!("still {}", what.replace(" · ", ", ")));
        }
    }

    /// What begins or ends, for who listens.
    pub(super) fn say_aloud(&mut self, event: &RuntimeEvent, is_of_another: bool) {
        if !self.console.terminal.words || is_of_another {
            return;
        }
        match event {
            RuntimeEvent::RunStarted(_) => {
                let model = self.progress.stand("").model;
                self.transcript.aside(&format!("waiting for {model}"));
            }
            RuntimeEvent::RunFinished(run) if run.status == RunStatus::Completed => {
                self.transcript.aside("done; type a message and press Enter");
            }
            RuntimeEvent::RunFinished(_) => self.transcript.aside("type a message and press Enter"),
            _ => {}
        }
    }

    /// Calls for the person where a run took so long that they may be elsewhere, and has ended or asks something.
    pub(super) fn call_if_long(&mut self, event: &RuntimeEvent, is_of_another: bool) {
        let what = match event {
            RuntimeEvent::RunFinished(run) if !is_of_another => match run.status {
                RunStatus::Completed => "done",
                _ => "ended",
            },
            RuntimeEvent::ApprovalRequested(_) => "asks for your decision",
            _ => return,
        };
        let took = self.progress.run_time(Instant::now());
        let chat = &self.settings.chat;
        if took < chat.notify_after {
            return;
        }
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let text = format!("agentx {what} after {}", units::duration(millis));
        let in_tmux = std::env::var_os("TMUX").is_some();
        if let ChatInterface::Editor { screen, .. } = &mut self.face {
            screen.tell(&notice(chat.notice, &text, in_tmux));
        }
    }

    /// Asks the terminal what it is, and for its background, where that decides about colours.
    pub(super) fn ask_terminal(&mut self) {
        if let ChatInterface::Editor { screen, .. } = &mut self.face
            && terminal::may_be_asked()
        {
            screen.tell(background::ASK_NAME);
            self.asked_name = Some(Instant::now());
        }
        let chat = &self.settings.chat;
        let in_tmux = std::env::var_os("TMUX").is_some();
        let knows = |term: String| term != "linux" && (in_tmux || !term.starts_with("screen"));
        if let ChatInterface::Editor { screen, .. } = &mut self.face
            && screen.theme().color
            && chat.theme == ThemeChoice::Auto
            && std::env::var("TERM").is_ok_and(knows)
        {
            screen.tell(background::ASK);
            self.asked_background = Some(Instant::now());
        }
    }

    /// The terminal has said what its background is.
    pub(super) fn background(&mut self, is_light: bool) {
        // It was asked for both, and answers in order: what has not come by now does not come.
        (self.asked_background, self.asked_name) = (None, None);
        if let ChatInterface::Editor { screen, .. } = &mut self.face
            && screen.theme().color
            && self.settings.chat.theme == ThemeChoice::Auto
        {
            let theme = if is_light { Theme::light() } else { Theme::dark() };
            let links = screen.theme().links;
            screen.set_theme(theme.with_links(links));
        }
    }

    /// Waits a moment for what the terminal says about its background: before what was said before is shown, and before the
    /// terminal is given back, so that neither that answer ends in the shell nor, at the `end`, the one about its name.
    pub(super) async fn settle_background(&mut self, end: bool) -> Result<(), ChatError> {
        let waited_for = |chat: &Self| chat.asked_background.or(chat.asked_name.filter(|_| end));
        let Some(asked) = waited_for(self) else {
            return Ok(());
        };
        if let ChatInterface::Editor { screen, .. } = &mut self.face {
            let bytes = screen.take_told();
            self.console.paint(&bytes)?;
        }
        let until = asked + background::PATIENCE;
        while waited_for(self).is_some()
            && let Ok(input) = tokio::time::timeout_at(until, self.inputs.newest()).await
        {
            match input {
                TerminalInput::Background { is_light } => self.background(is_light),
                TerminalInput::Named(_) => self.asked_name = None,
                TerminalInput::End => {
                    self.inputs.keep(TerminalInput::End);
                    break;
                }
                other => self.inputs.keep(other),
            }
        }
        Ok(())
    }
}

/// Takes over what the person wants of how it looks, before anything is shown.
pub fn settle(chat: &ChatSettings, console: &mut Console) {
    if chat.screen_reader {
        console.use_words();
    }
    if chat.theme == ThemeChoice::None {
        console.terminal.color = false;
    }
}

/// The looks that the person wants, as far as they are known without asking the terminal.
pub fn theme(chat: &ChatSettings, guess: Theme) -> Theme {
    let theme = match chat.theme {
        _ if !guess.color => guess,
        ThemeChoice::Auto => guess,
        ThemeChoice::Dark => Theme::dark(),
        ThemeChoice::Light => Theme::light(),
        ThemeChoice::None => Theme::marked(),
    };
    let follows = match chat.links {
        Links::Always => true,
        Links::Never => false,
        Links::Auto => theme.color && follows_links(&|name| std::env::var(name).ok()),
    };
    theme.with_links(follows)
}

/// Whether it is known of a terminal that it follows links that words carry (OSC 8).
fn follows_links(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, words: &[&str]| lookup(name).is_some_and(|value| words.contains(&value.as_str()));
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    let new_vte = lookup("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    // What is between the program and the terminal decides: a screen that cannot do it shows the words alone.
    if is_set("TMUX") || is_set("STY") {
        return false;
    }
    is(
        "TERM_PROGRAM",
        &[
            "iTerm.app",
            "WezTerm",
            "vscode",
            "ghostty",
            "rio",
            "Hyper",
            "Tabby",
        ],
    ) || is(
        "TERM",
        &[
            "xterm-kitty",
            "xterm-ghostty",
            "alacritty",
            "foot",
            "foot-direct",
            "contour",
        ],
    ) || new_vte.is_some_and(|version| version >= 5_000)
        || is_set("WT_SESSION")
        || is_set("KONSOLE_VERSION")
}

/// The bytes that call for the person.
fn notice(kind: Notice, text: &str, in_tmux: bool) -> String {
    let sequence = match kind {
        Notice::None => return String::new(),
        Notice::Bell => return "\u{7}".to_owned(),
        Notice::Osc9 => format!("\u{1b}]9;{text}\u{7}"),
        Notice::Osc777 => format!("\u{1b}]777;notify;agentx;{text}\u{7}"),
    };
    match in_tmux {
        // tmux hands it on where it is told so.
        true => format!(
            "\u{1b}Ptmux;{}\u{1b}\\",
            sequence.replace('\u{1b}', "\u{1b}\u{1b}")
        ),
        false => sequence,
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

    #[test]
    fn links_are_left_to_terminals_that_are_known_to_follow_them() {
        let follows = |set: &[(&str, &str)]| {
            follows_links(&|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(follows(&[("TERM", "xterm-kitty")]));
        assert!(follows(&[("VTE_VERSION", "7600"), ("TERM", "xterm-256color")]));
        assert!(!follows(&[("TERM", "xterm-256color")]));
        assert!(!follows(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "/tmp/x")]));
    }
}
