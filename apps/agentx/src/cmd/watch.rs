//! `agentx watch`: shows a session live that another person drives. It never writes to the session.

use agentx::config::Settings;
use agentx::runtime::{Delivery, SessionInfo, SessionQuery, View};
use agentx::types::{RuntimeEvent, SessionId};
use crossterm::event::{KeyCode, KeyModifiers};
use tokio::sync::mpsc;
use tokio::time::{Duration, Interval, MissedTickBehavior, interval};

use crate::args::{Global, MirrorStart, OutputFormat, WatchArgs};
use crate::chat::past_turns::PastTurns;
use crate::chat::screen::Screen;
use crate::compose::CommandTarget;
use crate::connection_watch::ConnectionWatch;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::follow::AnyFollower;
use crate::render::clean::visible;
use crate::render::conversation;
use crate::session_opening::{Target, find_existing};
use crate::signals::Signals;
use crate::spectator::{Spectator, SpectatorStage};
use crate::terminal::{RawMode, TerminalInput, keys};

/// Interval at which the driver is checked: the departure of a driver may take this long to be seen.
const LOOK: Duration = Duration::from_secs(1);
/// Number of latest sessions among which a driven one is searched.
const LATEST: usize = 200;

/// Watches a session until its driver leaves, or the person stops watching.
pub(crate) async fn run(
    place: &CommandTarget,
    args: &WatchArgs,
    (global, settings): (&Global, &Settings),
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let mut signals = Signals::listen()?;
    let info = find(place, settings, args).await?;
    let has_events = global.json || args.output_format == OutputFormat::StreamJson;
    let follow = async |after| {
        let (runtime, id) = (place.shared(), info.session_id.clone());
        AnyFollower::watching(runtime, id, after, View::Runtime).await
    };
    let beginning = match args.from {
        Some(MirrorStart::After(seq)) => (None, follow(seq).await?, None),
        Some(MirrorStart::Live) => (None, follow(info.last_seq).await?, None),
        None if has_events => (None, follow(0).await?, None),
        // Show only the end of a long session, as when a person continues it.
        None => tokio::select! {
            past = PastTurns::read(follow, info.last_seq) => {
                let (past, events, came) = past?;
                (Some(past), events, came)
            }
            _ = signals.next() => return Ok(Exit::Ok),
        },
    };
    let (past, events, came) = beginning;
    let (stage, inputs) = stage(has_events, console)?;
    let source = (place.shared(), info.session_id.clone());
    let mut watch = Watch {
        spectator: Spectator::new(
            stage,
            source,
            settings.chat.thinking,
            place.names_in(&info),
            console,
        ),
        place,
        id: info.session_id.clone(),
        driver: None,
        absent: 0,
    };
    watch.look(console).await?;
    if let Some(past) = past {
        watch.show_past(&past, console).await?;
    }
    if let Some(came) = came {
        watch.spectator.delivery(&came, console).await?;
    }
    let end = watch.follow(events, inputs, signals, console).await;
    watch.spectator.end(console)?;
    if let Ok(Some(left)) = &end {
        console.say(&format!("{}\n", console.err_style().dim(left)));
    }
    end.map(|_| Exit::Ok)
}

/// Returns the session: if none is named, the latest that has a driver.
async fn find(
    place: &CommandTarget,
    settings: &Settings,
    args: &WatchArgs,
) -> Result<SessionInfo, ChatError> {
    let runtime = place.runtime();
    if args.id.is_some() || args.last {
        let target = args.id.clone().map_or(Target::Last, Target::Id);
        let id = find_existing(place, settings, &target).await?;
        return Ok(runtime.info(&id).await?);
    }
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: LATEST,
        before: None,
    };
    let mut latest = runtime.sessions(query).await?;
    let driven = latest.iter().position(|info| info.writer.is_some());
    driven
        .map(|at| latest.swap_remove(at))
        .ok_or(ChatError::NobodyDrives)
}

/// Returns a screen if the terminal supports one, and the keys that are typed there.
fn stage(
    has_events: bool,
    console: &Console,
) -> Result<(SpectatorStage, Option<mpsc::Receiver<TerminalInput>>), ChatError> {
    let terminal = console.terminal;
    if has_events {
        return Ok((SpectatorStage::Events, None));
    }
    if !(terminal.input && terminal.output && terminal.capable) {
        return Ok((SpectatorStage::Lines, None));
    }
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let screen = Screen::new(columns.into(), rows.into(), console.theme());
    let raw = RawMode::enter()?;
    Ok((SpectatorStage::Screen { raw, screen }, Some(keys())))
}

struct Watch<'a> {
    spectator: Spectator,
    place: &'a CommandTarget,
    id: SessionId,
    /// The driver that was reported last.
    driver: Option<String>,
    /// The number of consecutive checks that found no driver.
    absent: u32,
}

impl Watch<'_> {
    /// Shows events as they come; returns the closing words if the driver has left.
    async fn follow(
        &mut self,
        mut events: AnyFollower,
        mut inputs: Option<mpsc::Receiver<TerminalInput>>,
        mut signals: Signals,
        console: &mut Console,
    ) -> Result<Option<String>, ChatError> {
        let mut link = ConnectionWatch::new(self.place);
        let mut looks = looks();
        loop {
            tokio::select! {
                delivery = events.next() => {
                    let Some(delivery) = delivery? else { return Ok(Some("· it is over".into())) };
                    self.spectator.delivery(&delivery, console).await?;
                    while let Some(delivery) = events.ready() {
                        self.spectator.delivery(&delivery, console).await?;
                    }
                    self.spectator.print(console)?;
                }
                news = link.news() => {
                    let style = console.out_style();
                    self.spectator.say(&style.warn(&format!("· {news}")), console)?;
                }
                _ = looks.tick() => {
                    if !console.is_read() {
                        return Err(ChatError::ClosedOutput);
                    }
                    if let Some(left) = self.look(console).await? {
                        return Ok(Some(left));
                    }
                }
                input = typed(&mut inputs) => {
                    if self.input(input, console)? {
                        return Ok(None);
                    }
                }
                _ = signals.next() => return Ok(None),
            }
        }
    }

    async fn show_past(&mut self, past: &PastTurns, console: &mut Console) -> Result<(), ChatError> {
        self.spectator.mark_caught_up();
        past.all()
            .iter()
            .for_each(|envelope| self.spectator.meet(envelope));
        let turns = past.last_turns(|envelope| self.spectator.is_of_another(envelope));
        let hidden = &past.all()[..past.all().len() - turns.len()];
        let is_input = |event: &RuntimeEvent| matches!(event, RuntimeEvent::UserMessageAdded(_));
        if !past.is_whole() || hidden.iter().any(|envelope| is_input(&envelope.event)) {
            let all = self.place.command(&format!("sessions show {}", self.id));
            let note = format!("… earlier events are left out; {all}");
            self.spectator.say(&console.out_style().dim(&note), console)?;
        }
        for envelope in turns {
            let delivery = Delivery::Runtime(envelope.clone());
            self.spectator.delivery(&delivery, console).await?;
        }
        self.spectator.print(console)
    }

    /// Checks who drives. On a server this says nothing, because the server itself writes all sessions.
    async fn look(&mut self, console: &mut Console) -> Result<Option<String>, ChatError> {
        if self.place.remote().is_some() {
            if self.driver.is_none() {
                self.note_driver("the server", console)?;
            }
            return Ok(None);
        }
        let info = self.place.runtime().info(&self.id).await?;
        let driver = info.writer.map(|writer| format!("process {}", writer.process));
        match (&driver, &self.driver) {
            (Some(new), old) => {
                self.absent = 0;
                if old.as_ref() != Some(new) {
                    self.note_driver(&new.clone(), console)?;
                }
            }
            // By the second check, the last events of the driver have arrived.
            (None, Some(old)) => {
                self.absent += 1;
                if self.absent > 1 {
                    let again = self.place.command(&format!("resume {}", self.id));
                    let columns = console.terminal.width;
                    let again = conversation::continue_hint(&again, columns);
                    return Ok(Some(format!(
                        "· {old} has left the session\n{}",
                        again.trim_end()
                    )));
                }
            }
            (None, None) => {
                self.absent += 1;
                if self.absent == 1 {
                    self.status("nobody drives it");
                    let note = "· nobody drives it now; following new events, Ctrl-C ends";
                    self.spectator.say(&console.out_style().dim(note), console)?;
                }
            }
        }
        Ok(None)
    }

    fn note_driver(&mut self, driver: &str, console: &mut Console) -> Result<(), ChatError> {
        self.driver = Some(driver.to_owned());
        self.status(&format!("{driver} drives it"));
        let note = format!("· {driver} drives it; following new events, Ctrl-C ends");
        self.spectator.say(&console.out_style().dim(&note), console)
    }

    fn status(&mut self, who: &str) {
        let status = format!("watching {} · {who}", visible(self.id.as_str()));
        self.spectator.set_status(&status);
    }

    /// Returns whether the person wants to stop watching.
    fn input(&mut self, input: TerminalInput, console: &mut Console) -> Result<bool, ChatError> {
        match input {
            TerminalInput::End => return Ok(true),
            TerminalInput::Resize(columns, rows) => {
                self.spectator.resize(columns, rows);
                self.spectator.print(console)?;
            }
            TerminalInput::Key(key) => {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                return Ok(match key.code {
                    KeyCode::Esc | KeyCode::Char('q') => true,
                    KeyCode::Char('c' | 'd') => control,
                    _ => false,
                });
            }
            _ => {}
        }
        Ok(false)
    }
}

fn looks() -> Interval {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

/// Returns the next input; waits forever if there is no terminal. Safe to drop while it waits.
async fn typed(inputs: &mut Option<mpsc::Receiver<TerminalInput>>) -> TerminalInput {
    match inputs {
        Some(inputs) => inputs.recv().await.unwrap_or(TerminalInput::End),
        None => std::future::pending().await,
    }
}
