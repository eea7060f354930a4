//! The title of the terminal while a chat has it. There is one terminal, and any thread may have to give it
//! back.

use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the title that the terminal has (XTWINOPS 22,
/// <https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>), and restores it.
const KEEP: &str = "\x1b[22;0t";
const RESTORE: &str = "\x1b[23;0t";

/// Whether the terminal has a title of this program.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// Returns whether the terminal shows a title of this program; another program may have had the terminal
/// since it was written.
pub(crate) fn is_set() -> bool {
    IS_SET.load(Ordering::Relaxed)
}

/// Returns the bytes that set a title, without its control characters.
pub(crate) fn bytes(title: &str) -> String {
    let keep = if IS_SET.swap(true, Ordering::Relaxed) {
        ""
    } else {
        KEEP
    };
    format!("{keep}\x1b]0;{title}\x07")
}

/// Returns the bytes to write before another program gets the terminal.
pub(crate) fn farewell() -> &'static str {
    if IS_SET.swap(false, Ordering::Relaxed) {
        RESTORE
    } else {
        ""
    }
}

/// Returns whether the terminal can be expected to have a title.
pub(crate) fn is_supported() -> bool {
    std::env::var("TERM").is_ok_and(|term| term != "linux" && term != "dumb")
}
