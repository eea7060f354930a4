//! Prints folded reasoning and shortened tool output in full, from the log; nothing is kept in memory for it.
//! Lines in the scrollback are never changed: the text is printed below them.

use agentx::runtime::{Delivery, View};
use agentx_terminal::{Markdown, Theme};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthStr as _;

use crate::chat::conversation::readable_items::ReadableItem;
use crate::chat::{Chat, ChatInterface, LOOK_BACK};
use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::render::clean::{clean, visible};
use crate::render::tool::arguments;
use crate::render::transcript::length;
use crate::render::units;

/// Maximum number of lines to print, half of them from the beginning.
const MOST_LINES: usize = 1_000;

/// The columns before a line of output: the bar and blanks.
const BAR_COLUMNS: usize = 4;

/// The commands of keys about reasoning and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chat) enum ReadingCommand {
    /// Shows reasoning from now on, or hides it.
    Thinking,
    /// The whole output of the last call.
    Output,
}

/// The wish of a key, if it has one.
pub(in crate::chat) fn wish(key: &KeyEvent) -> Option<ReadingCommand> {
    let control = key.modifiers == KeyModifiers::CONTROL && key.kind != KeyEventKind::Release;
    match key.code {
        KeyCode::Char('t') if control => Some(ReadingCommand::Thinking),
        KeyCode::Char('o') if control => Some(ReadingCommand::Output),
        _ => None,
    }
}

/// The `n`th from the end, from 1.
fn from_the_end<T>(all: &[T], n: usize) -> Option<&T> {
    all.len().checked_sub(n.max(1)).and_then(|at| all.get(at))
}

/// The lines of a text, at most so many: of more, those at the beginning and at the end, and between them the
/// command that prints `all`.
fn lines_of(text: &str, all: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(out) = lines.len().checked_sub(MOST_LINES).filter(|out| *out > 0) else {
        return lines.into_iter().map(str::to_owned).collect();
    };
    let half = MOST_LINES / 2;
    let mut shown: Vec<String> = lines[..half].iter().map(|line| (*line).to_owned()).collect();
    shown.push(format!("… {}; all of them: {all} …", units::counted(out, "line")));
    shown.extend(lines[lines.len() - half..].iter().map(|line| (*line).to_owned()));
    shown
}

/// Returns the rows of an answer, which is Markdown, with control sequences for looks.
fn rendered(answer: &str, theme: Theme, columns: usize) -> String {
    // A row that is printed with its looks has no room for the address of a link.
    let mut markdown = Markdown::new(columns, theme.with_links(false));
    markdown.push(answer);
    markdown.end();
    let rows = markdown.take_done();
    rows.iter().map(|row| row.to_ansi() + "\n").collect()
}

impl Chat<'_> {
    /// Runs the command of a key.
    pub(in crate::chat) async fn wished(&mut self, wish: ReadingCommand) {
        let told = match wish {
            ReadingCommand::Thinking => Ok(self.display.turn_thinking()),
            ReadingCommand::Output => self.output(1).await,
        };
        match told {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.display.transcript.note(&text),
            Err(error) => self.complain(&error),
        }
    }

    /// The `n`th reasoning from the end, whole.
    pub(in crate::chat) async fn thinking(&mut self, n: usize) -> Result<String, ChatError> {
        let again = self.read_again(|again| again.thoughts.len() >= n.max(1)).await?;
        let Some(thought) = from_the_end(&again.thoughts, n) else {
            return Ok(match again.thoughts.len() {
                0 => "the model has not shown any reasoning in this session".to_owned(),
                1 => "there is only one: /thinking shows it".to_owned(),
                n => format!("there are {n}: /thinking {n} is the first of them"),
            });
        };
        let style = self.display.style();
        let text = clean(&thought.text);
        let head = length(thought.until.millis_since(thought.since), &text);
        let sign = style.sign("✻ ", "");
        let mut told = format!("{}\n", style.dim(&format!("{sign}{head}")));
        for line in lines_of(text.trim_end(), &self.prints_all()) {
            told.push_str(&format!("{}\n", style.dim(&format!("  {line}"))));
        }
        Ok(told)
    }

    /// Returns the whole output of the `n`th call from the end; for a call that is asked about, the whole
    /// change, or the question if it does not fit on the screen.
    pub(in crate::chat) async fn output(&mut self, n: usize) -> Result<String, ChatError> {
        if n == 1
            && let Some(asked) = self.read_whole_question().await
        {
            return Ok(asked);
        }
        let again = self.read_again(|again| again.calls.len() >= n.max(1)).await?;
        let Some(call) = from_the_end(&again.calls, n) else {
            return Ok(match again.calls.len() {
                0 => "no tool has run in this session".to_owned(),
                n => format!("{n} tools have run: /output {n} is the first of them"),
            });
        };
        let style = self.display.style();
        let text = clean(if call.output.is_empty() {
            &call.result
        } else {
            &call.output
        });
        let room = self
            .display
            .console
            .terminal
            .width
            .saturating_sub(call.name.len() + 4);
        let name = style.bold(&visible(&call.name));
        let mut told = format!("{} {name}", style.person(style.sign("●", "tool")));
        let is_plan = call.input.get("plan").is_some();
        if call.what.width() <= room && !call.what.contains('↵') && !is_plan {
            told.push_str(&format!("  {}\n", call.what))
        } else {
            told.push_str(&format!("\n{}", arguments(&call.input, |_| true)))
        }
        let bar = style.sign("  │ ", "  ");
        let text = if call.is_of_an_agent() {
            self.rendered_answer(text)
        } else {
            text
        };
        for line in lines_of(&text, &self.prints_all()) {
            told.push_str(&format!("{}{line}\n", style.dim(bar)));
        }
        let end = if call.end.is_empty() {
            "it is still running"
        } else {
            &call.end
        };
        told.push_str(&style.dim(&format!("{}{end}", style.sign("  └ ", ""))));
        Ok(told)
    }

    /// Returns the last whole answer of the agent with this name on the screen.
    pub(in crate::chat) async fn agent_output(&mut self, name: &str) -> Result<String, ChatError> {
        let again = self.read_again(|again| again.answer_of(name).is_some()).await?;
        let Some(answer) = again.answer_of(name) else {
            let name = visible(name);
            return Ok(format!(
                "no agent `{name}` has answered; /output takes a number, the name of an agent, or nothing"
            ));
        };
        let style = self.display.style();
        let sign = style.person(style.sign("●", "agent"));
        let mut told = format!("{sign} {}\n", style.bold(&answer.shown));
        let bar = style.dim(style.sign("  │ ", "  "));
        let text = self.rendered_answer(clean(&answer.text));
        for line in lines_of(&text, &self.prints_all()) {
            told.push_str(&format!("{bar}{line}\n"));
        }
        Ok(told)
    }

    /// Renders the answer of an agent, which is Markdown, if there is a screen for it.
    fn rendered_answer(&self, text: String) -> String {
        match &self.display.face {
            ChatInterface::Editor { screen, .. } => {
                let columns = self.display.width().saturating_sub(BAR_COLUMNS);
                rendered(&text, screen.theme(), columns)
            }
            ChatInterface::Lines { .. } => text,
        }
    }

    /// The command that prints the whole session, with all output and reasoning.
    fn prints_all(&self) -> String {
        let id = self.connection.session().map(|session| session.id().as_str());
        self.place.command(&format!("show {} --json", id.unwrap_or("ID")))
    }

    /// Returns the items that can be read again: from the last events, or from all events if those are not
    /// enough.
    async fn read_again(
        &mut self,
        is_enough: impl Fn(&ReadableItem) -> bool,
    ) -> Result<ReadableItem, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(ReadableItem::default());
        };
        let session = session.clone();
        let state = self.wait_for(async { session.state().await }).await?;
        let mut after = state.last_seq.saturating_sub(LOOK_BACK);
        loop {
            let mut events = AnyFollower::new(session.clone(), after, View::Runtime).await?;
            let mut again = ReadableItem::default();
            while let Some(delivery) = events.next().await? {
                match delivery {
                    Delivery::Runtime(envelope) => again.take(&envelope),
                    Delivery::CaughtUp(_) => break,
                    Delivery::Environment(_) | Delivery::CutOff(_) => {}
                }
            }
            if after == 0 || is_enough(&again) {
                return Ok(again);
            }
            after = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_printed() {
        let text: String = (0..5_000).map(|i| format!("line {i}\n")).collect();
        let lines = lines_of(&text, "agentx show ID --json");
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert_eq!(
            (lines[500].as_str(), lines[1_000].as_str()),
            ("… 4000 lines; all of them: agentx show ID --json …", "line 4999")
        );
        assert_eq!(lines_of("a\nb", ""), ["a", "b"]);
        assert_eq!(from_the_end(&[1, 2, 3], 1), Some(&3));
        assert_eq!(
            (from_the_end(&[1, 2, 3], 3), from_the_end(&[1], 2)),
            (Some(&1), None)
        );
    }

    #[test]
    fn the_whole_answer_of_an_agent_is_rendered() {
        assert_eq!(
            rendered("# Beds\n- bed **1**\n", Theme::plain(), 40),
            "# Beds\n\n• bed 1\n"
        );
    }

    #[test]
    fn keys_wish() {
        let key = |c, modifiers| KeyEvent::new(KeyCode::Char(c), modifiers);
        assert_eq!(
            wish(&key('t', KeyModifiers::CONTROL)),
            Some(ReadingCommand::Thinking)
        );
        assert_eq!(wish(&key('t', KeyModifiers::NONE)), None);
    }
}
