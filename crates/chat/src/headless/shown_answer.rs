//! An answer on a terminal while it streams: Markdown becomes rows, as in a chat. A block is printed when it
//! can no longer change, because nothing that scrolls away is written again.

use agentx::types::{RunStatus, StopReason};
use agentx_terminal::{Markdown, Painter, Row};

use crate::error::ChatError;
use crate::render::clean::clean;
use crate::run_result::RunResult;
use crate::terminal::console::Console;

/// More rows than a frame has, so its rows scroll away immediately.
const UNBOUNDED: usize = 1_000_000;

/// The answer that streams, if one does.
#[derive(Debug, Default)]
pub(super) struct ShownAnswer {
    markdown: Option<Markdown>,
}

impl ShownAnswer {
    /// Prints the blocks that these words complete.
    pub(super) fn push(&mut self, text: &str, console: &mut Console) {
        let (columns, theme) = (console.width(), console.theme());
        let markdown = self.markdown.get_or_insert_with(|| Markdown::new(columns, theme));
        markdown.push(text);
        let rows = markdown.take_done();
        console.say_painted(&painted(&rows, columns));
    }

    /// Prints the rest.
    pub(super) fn end(&mut self, console: &mut Console) {
        if let Some(mut markdown) = self.markdown.take() {
            markdown.end();
            console.say_painted(&painted(&markdown.take_done(), console.width()));
        }
    }
}

/// Returns a whole answer for this terminal.
fn rendered(text: &str, console: &Console) -> String {
    let mut markdown = Markdown::new(console.width(), console.theme());
    markdown.push(text);
    markdown.end();
    painted(&markdown.take_done(), console.width())
}

/// The bytes of these rows, for a cursor at the beginning of an empty row. The terminal breaks long lines of
/// code itself.
fn painted(rows: &[Row], columns: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    Painter::new(columns, UNBOUNDED).frame(rows, &[], None)
}

/// Prints the answer. An answer that broke off or was declined goes to standard error.
pub(super) fn print_at_end(result: &RunResult, quiet: bool, console: &mut Console) -> Result<(), ChatError> {
    let is_unknown = result.stop_reason == Some(StopReason::Other) && result.error.is_none();
    if quiet && is_unknown && result.status == Some(RunStatus::Completed) {
        console.say("note: the answer ended for an unknown reason and may be incomplete\n");
    }
    if result.text.is_empty() {
        return Ok(());
    }
    let end = if result.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{end}", result.text);
    match result.stop_reason {
        Some(StopReason::Broken | StopReason::Refusal) if quiet => {}
        Some(StopReason::Broken | StopReason::Refusal) => console.say(&clean(&text)),
        _ if console.terminal.output && console.terminal.capable => {
            console.paint(&rendered(&clean(&text), console))?;
        }
        _ => console.out(&text)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_terminal::Theme;

    #[test]
    fn a_long_line_of_code_has_no_line_end_and_a_paragraph_is_wrapped_at_words() {
        let rows = |text: &str| {
            let mut markdown = Markdown::new(24, Theme::plain());
            markdown.push(text);
            markdown.end();
            painted(&markdown.take_done(), 24)
        };
        let code = "let harbour = tide + ships + lighthouse + keeper;";
        let shown = rows(&format!("```\n{code}\n```\n"));
        assert_eq!(shown.matches('\n').count(), 1, "{shown:?}");
        assert_eq!(
            rows("The tide is **high** and the ships lie still.")
                .matches("\r\n")
                .count(),
            2
        );
        assert_eq!(painted(&[], 24), "");
    }
}
