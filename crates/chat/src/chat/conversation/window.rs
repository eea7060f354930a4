//! `/context`: what fills the model's window, and the last request to the byte.

use agentx::runtime::RuntimeError;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::chat::{Chat, ChatInterface};
use crate::error::ChatError;
use crate::render::clean::{clean, visible};
use crate::render::{units, window};

impl Chat<'_> {
    /// Describes the contents of the window, or prints the last request to the model as it was sent.
    pub(in crate::chat) async fn window(&mut self, exact: bool) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there are no messages yet".to_owned());
        };
        let (session, runtime) = (session.clone(), self.place.shared());
        let id = session.id();
        let view = match self.wait_for(async { runtime.context(id, None).await }).await {
            Ok(view) => view,
            Err(ChatError::Runtime(RuntimeError::Refused(_))) => {
                return Ok("no model was called yet".to_owned());
            }
            Err(error) => return Err(error),
        };
        if exact {
            let body = clean(&view.body);
            return Ok(match self.display.face {
                ChatInterface::Editor { .. } => broken(&body, self.display.width()),
                ChatInterface::Lines { .. } => body,
            });
        }
        let state = self.wait_for(async { session.state().await }).await?;
        let width = self.display.width();
        let mut text = match &view.fill {
            Some(fill) => {
                let (fill, note) = window::with_count(fill, state.context_tokens);
                let note = note.map(|note| self.display.style().dim(&note) + "\n");
                window::render(&fill, &visible(&state.config.model.id), width) + &note.unwrap_or_default()
            }
            None => "the server is too old to report how the context window is used\n".to_owned(),
        };
        let command = format!("agentx context {} ", visible(session.id().as_str()));
        for (number, condensed) in (1..).zip(&view.condensed) {
            // A summary that a later summary replaces is no longer in the window.
            let later = &view.condensed[number..];
            if !later.iter().any(|later| {
                later.range.from_seq <= condensed.seq && condensed.range.to_seq <= later.range.to_seq
            }) {
                text.push_str(&format!("{}\n", window::condensed(number, condensed, &command)));
            }
        }
        let note = format!(
            "the last request was {}: /context exact prints it to the byte",
            units::bytes(u64::try_from(view.body.len()).unwrap_or(u64::MAX))
        );
        text.push_str(&self.display.style().dim(&note));
        Ok(text)
    }
}

/// Breaks a text at the end of each full row and not between words, so that no blank is lost: the joined rows
/// are the text.
fn broken(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / columns.max(1));
    let mut used = 0;
    for sign in text.graphemes(true) {
        let width = agentx_terminal::width(sign);
        if used > 0 && used + width > columns {
            out.push('\n');
            used = 0;
        }
        out.push_str(sign);
        used += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_full_and_nothing_is_lost_between_them() {
        let text = "{\"a\": \"words   with blanks, 中文 and cafe\u{301}\"}";
        for columns in [1, 2, 7, 8, 40] {
            let rows = broken(text, columns);
            assert_eq!(rows.replace('\n', ""), text);
            let fits = |row: &str| agentx_terminal::width(row) <= columns.max(2);
            assert!(rows.lines().all(fits), "{columns}: {rows}");
        }
        assert_eq!(broken("ab cd", 3), "ab \ncd");
    }
}
