//! The output of a running command of the person: the last lines for the screen, and its beginning and end
//! for the log.

use std::borrow::Cow;
use std::collections::VecDeque;

use tokio::time::{Duration, Instant};

use crate::render::clean::{clean, clean_with_tabs, visible};
use crate::render::style::AnsiStyle;
use crate::render::table::cut;
use crate::render::tool::ToolOutputView;
use crate::render::units;

/// Maximum number of bytes of its output that are kept, half of them from the beginning.
const KEPT: usize = 32 * 1024;
/// Maximum number of lines to show when it has ended, half of them from the beginning.
const SHOWN: usize = 40;
/// Maximum number of lines to show while it runs.
const LIVE: usize = 4;

/// A command that runs.
#[derive(Debug)]
pub(crate) struct ShellCommand {
    command: String,
    since: Instant,
    first: Vec<String>,
    view: ToolOutputView,
    /// A letter whose end has not arrived yet.
    torn: Vec<u8>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
    lines: usize,
    /// Whether its last line is unfinished.
    is_open: bool,
}

impl ShellCommand {
    /// Creates the command, which starts now.
    pub(super) fn new(command: &str, now: Instant) -> Self {
        Self {
            command: visible(command),
            since: now,
            first: Vec::new(),
            view: ToolOutputView::default(),
            torn: Vec::new(),
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            lines: 0,
            is_open: false,
        }
    }

    /// Adds output of the command.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut whole = std::mem::take(&mut self.torn);
        whole.extend_from_slice(bytes);
        self.torn = whole.split_off(end_of_letters(&whole));
        let shown = self.view.push(&String::from_utf8_lossy(&whole));
        self.first.extend(shown);
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        self.is_open = bytes.last() != Some(&b'\n');
        let (head, tail) = bytes.split_at(bytes.len().min(KEPT / 2 - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let out = self.tail.len().saturating_sub(KEPT / 2);
        self.tail.drain(..out);
        self.left_out += out;
    }

    /// The rows that show it while it runs.
    pub(crate) fn rows(&self, width: usize, style: AnsiStyle) -> Vec<String> {
        let first = self.first.iter().map(|line| Cow::Borrowed(line.as_str()));
        let lines: Vec<Cow<'_, str>> = first.chain(self.view.last()).collect();
        let last = lines.iter().skip(lines.len().saturating_sub(LIVE));
        let row = |line: &Cow<'_, str>| style.dim(&format!("  │ {}", cut(line, width.saturating_sub(4))));
        last.map(row).collect()
    }

    /// The row that says that the chat waits for the command.
    pub(crate) fn status(&self, now: Instant, width: usize, style: AnsiStyle) -> String {
        let time = Duration::from_secs(now.duration_since(self.since).as_secs().max(1));
        let time = units::duration(time.as_millis().try_into().unwrap_or(u64::MAX)).replace(".0s", "s");
        let rest = format!(" · {time} · Esc stops");
        let begin = if width < 40 { "! " } else { "! running " };
        let what = cut(
            &self.command,
            width.saturating_sub(rest.chars().count() + begin.len()),
        );
        style.dim(&format!("{begin}{what}{rest}"))
    }

    /// Returns the output for the agent.
    pub(super) fn output_text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out == 0 {
            let all = [self.head.as_slice(), tail.as_slice()].concat();
            return clean_with_tabs(&String::from_utf8_lossy(&all))
                .trim_end()
                .to_owned();
        }
        // Letters that are cut apart are left out too.
        let (head, tail) = (
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&tail),
        );
        let (head, tail) = (
            head.trim_end_matches('\u{fffd}'),
            tail.trim_start_matches('\u{fffd}'),
        );
        format!(
            "{}\n… {} left out …\n{}",
            clean_with_tabs(head),
            units::counted(self.left_out, "byte"),
            clean_with_tabs(tail).trim_end()
        )
    }

    /// The lines of it that are shown when it has ended.
    pub(super) fn shown(&self) -> Vec<String> {
        let said = clean(&self.output_text());
        let lines: Vec<&str> = said.lines().collect();
        if lines.len() <= SHOWN {
            return lines.into_iter().map(str::to_owned).collect();
        }
        let (head, tail) = (&lines[..SHOWN / 2], &lines[lines.len() - SHOWN / 2..]);
        let out = (self.lines + usize::from(self.is_open))
            .max(lines.len())
            .saturating_sub(SHOWN);
        let more = format!("… {} …", units::counted(out, "line"));
        let all = head
            .iter()
            .copied()
            .chain([more.as_str()])
            .chain(tail.iter().copied());
        all.map(str::to_owned).collect()
    }
}

/// Returns the end of the last whole letter: a piece of output can end in the middle of one.
fn end_of_letters(bytes: &[u8]) -> usize {
    let last = bytes
        .utf8_chunks()
        .last()
        .map_or(&[][..], |chunk| chunk.invalid());
    let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    bytes.len() - if is_begun { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pieces: &[&str]) -> ShellCommand {
        let mut own = ShellCommand::new("cargo test", Instant::now());
        pieces.iter().for_each(|piece| own.push(piece.as_bytes()));
        own
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let own = own(&["begin", &"好".repeat(40_000), "end"]);
        let said = own.output_text();
        assert!(said.starts_with("begin") && said.ends_with("end"));
        assert!(said.len() < KEPT + 64 && said.contains("bytes left out"));
        assert!(!said.contains('\u{fffd}'), "no letter is torn");
    }

    #[test]
    fn a_letter_that_comes_in_two_pieces_is_one() {
        let mut own = own(&[]);
        for byte in "见 好\n".bytes().chain([0xff, b'!', 0xe5]) {
            own.push(&[byte]);
        }
        assert_eq!(own.rows(80, AnsiStyle::default()), ["  │ 见 好", "  │ \u{fffd}!"]);
    }

    #[test]
    fn the_agent_gets_its_tabs_and_the_screen_blanks() {
        let own = own(&["all:\n\tcc a.c\n"]);
        assert_eq!(own.output_text(), "all:\n\tcc a.c");
        assert_eq!(own.shown(), ["all:", "    cc a.c"]);
    }

    #[test]
    fn the_last_lines_live_and_both_ends_stay() {
        let lines: Vec<String> = (1..=100).map(|i| format!("line {i}\n")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let own = own(&[&lines[..], &["half a"]].concat());
        assert_eq!(
            own.rows(80, AnsiStyle::default()),
            ["  │ line 98", "  │ line 99", "  │ line 100", "  │ half a"]
        );
        let shown = own.shown();
        assert_eq!(shown.len(), SHOWN + 1);
        assert_eq!(
            (shown[0].as_str(), shown[20].as_str(), shown[40].as_str()),
            ("line 1", "… 61 lines …", "half a")
        );
    }

    #[test]
    fn it_is_said_what_is_waited_for() {
        let own = own(&[]);
        let now = own.since + Duration::from_secs(12);
        assert_eq!(
            own.status(now, 80, AnsiStyle::default()),
            "! running cargo test · 12s · Esc stops"
        );
        assert!(own.status(now, 24, AnsiStyle::default()).chars().count() <= 26);
    }
}
