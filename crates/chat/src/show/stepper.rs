//! The position of the viewer in a session, and the effect of keys on it. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use agentx::types::{EnvironmentEvent, Vocabulary as _};

use super::event_description::describe;
use super::panes::Pane;
use super::timeline::{Timeline, TimelineFact};

/// Events that PageUp and PageDown go.
const PAGE: usize = 10;

/// The text that the person types into the last row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepperPrompt {
    /// The words to look for.
    Words(String),
    /// The number of an event.
    Number(String),
}

/// Whether one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepperFlow {
    /// The stepper stays open.
    Stay,
    /// The person leaves the stepper.
    Leave,
}

/// A place in a session.
pub(crate) struct Stepper {
    pub(super) timeline: Timeline,
    /// The index of the selected event.
    pub(super) at: usize,
    pub(super) pane: Pane,
    /// The number of rows of the pane above the visible ones.
    pub(super) scrolled: usize,
    pub(super) asked: Option<StepperPrompt>,
    pub(super) help: bool,
    /// The note in the last row, which is shown once.
    pub(super) note: Option<String>,
    /// The latest search text.
    wanted: String,
}

impl Stepper {
    /// Returns a stepper at the event of this number, or at the last one.
    pub(super) fn new(timeline: Timeline, seq: Option<u64>) -> Self {
        let at = timeline.place_of(seq.unwrap_or(u64::MAX));
        Self {
            timeline,
            at,
            pane: Pane::default(),
            scrolled: 0,
            asked: None,
            help: false,
            note: None,
            wanted: String::new(),
        }
    }

    /// Returns the selected event.
    pub(super) fn fact(&self) -> Option<&TimelineFact> {
        self.timeline.facts().get(self.at)
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> StepperFlow {
        if key.kind == KeyEventKind::Release {
            return StepperFlow::Stay;
        }
        self.note = None;
        if std::mem::take(&mut self.help) {
            return StepperFlow::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(asked) = self.asked.take() {
            self.answer(asked, key.code, control);
            return StepperFlow::Stay;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return StepperFlow::Leave,
            KeyCode::Char('c' | 'd') if control => return StepperFlow::Leave,
            KeyCode::Left | KeyCode::Char('h') => self.go(self.at.saturating_sub(1)),
            KeyCode::Right | KeyCode::Char('l' | ' ') => self.go(self.at + 1),
            KeyCode::PageUp => self.go(self.at.saturating_sub(PAGE)),
            KeyCode::PageDown => self.go(self.at + PAGE),
            KeyCode::Home => self.go(0),
            KeyCode::End | KeyCode::Char('G') => self.go(usize::MAX),
            KeyCode::Char('[') => self.go_to_input(false),
            KeyCode::Char(']') => self.go_to_input(true),
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scrolled += 1,
            KeyCode::Tab => self.turn(self.pane.next()),
            KeyCode::BackTab => self.turn(self.pane.next().next()),
            KeyCode::Char('/') => self.asked = Some(StepperPrompt::Words(String::new())),
            KeyCode::Char('g') => self.asked = Some(StepperPrompt::Number(String::new())),
            KeyCode::Char('n') => self.look(true),
            KeyCode::Char('N') => self.look(false),
            KeyCode::Char('?') | KeyCode::F(1) => self.help = true,
            _ => {}
        }
        StepperFlow::Stay
    }

    /// Handles pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        if let Some(StepperPrompt::Words(into) | StepperPrompt::Number(into)) = &mut self.asked {
            into.extend(line.chars().filter(|c| !c.is_control()));
        }
    }

    fn answer(&mut self, mut asked: StepperPrompt, code: KeyCode, control: bool) {
        let (StepperPrompt::Words(text) | StepperPrompt::Number(text)) = &mut asked;
        match code {
            KeyCode::Esc => return,
            KeyCode::Char('c' | 'd' | 'g') if control => return,
            KeyCode::Enter => return self.answered(asked),
            KeyCode::Backspace => {
                let _ = text.pop();
            }
            KeyCode::Char('u') if control => text.clear(),
            KeyCode::Char(c) if !control => text.push(c),
            _ => {}
        }
        self.asked = Some(asked);
    }

    fn answered(&mut self, asked: StepperPrompt) {
        match asked {
            StepperPrompt::Words(words) => {
                if !words.trim().is_empty() {
                    self.wanted = words.trim().to_lowercase();
                }
                self.look(true);
            }
            StepperPrompt::Number(number) => match number.trim().parse::<u64>() {
                Ok(seq) => {
                    let place = self.timeline.place_of(seq);
                    self.go(place);
                }
                Err(_) => self.note = Some(format!("`{number}` is not the number of an event")),
            },
        }
    }

    fn go(&mut self, place: usize) {
        self.at = place.min(self.timeline.facts().len().saturating_sub(1));
        self.scrolled = 0;
    }

    fn turn(&mut self, pane: Pane) {
        self.pane = pane;
        self.scrolled = 0;
    }

    /// Selects the next event whose text or kind matches the search, and wraps around at the end.
    fn look(&mut self, onward: bool) {
        if self.wanted.is_empty() {
            self.note = Some("`/` needs words to search for".into());
            return;
        }
        let wanted = &self.wanted;
        let fits = |fact: &TimelineFact| {
            fact.event.tag().contains(wanted.as_str())
                || describe(&fact.event).to_lowercase().contains(wanted)
        };
        match self.find(onward, fits) {
            Some(place) => self.go(place),
            None => self.note = Some(format!("`{}` is nowhere", self.wanted)),
        }
    }

    /// Goes to the previous or next message of a person.
    fn go_to_input(&mut self, onward: bool) {
        let found = self.find(onward, |fact| {
            matches!(fact.event, EnvironmentEvent::UserMessage(_))
        });
        if let Some(place) = found {
            self.go(place);
        }
    }

    fn find(&self, onward: bool, fits: impl Fn(&TimelineFact) -> bool) -> Option<usize> {
        let facts = self.timeline.facts();
        let count = facts.len();
        let mut places = (1..=count).map(|step| {
            if onward {
                (self.at + step) % count
            } else {
                (self.at + count - step) % count
            }
        });
        places.find(|place| fits(&facts[*place]))
    }
}
