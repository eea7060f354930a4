//! Ctrl-V: the picture in the clipboard becomes a file that the message mentions, as `@FILE` does.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::attach::clipboard_picture::{self, mention};
use crate::chat::Chat;

/// Maximum time for which the chat waits for the desktop, which may not answer.
const LONGEST: Duration = Duration::from_secs(2);

/// Returns whether a key asks for the picture in the clipboard. Text is pasted by the terminal.
pub(in crate::chat) fn is_wanted(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('v')
        && key.modifiers == KeyModifiers::CONTROL
        && key.kind != KeyEventKind::Release
}

impl Chat<'_> {
    /// Writes a mention of the picture into the line, or says why there is none.
    pub(in crate::chat) async fn paste_picture(&mut self) {
        let read = tokio::task::spawn_blocking(clipboard_picture::png);
        let png = match tokio::time::timeout(LONGEST, read).await {
            Ok(Ok(Ok(png))) => png,
            Ok(Ok(Err(why))) => return self.hint(&why),
            Ok(Err(_)) | Err(_) => return self.hint("the clipboard does not answer"),
        };
        match self.composer.pictures.keep(&png) {
            Ok(file) => {
                let editor = &mut self.composer.editor;
                let mention = mention(&editor.text()[..editor.cursor()], &file);
                editor.paste(&mention);
            }
            Err(error) => self.hint(&format!("the picture cannot be written to a file: {error}")),
        }
    }
}
