//! Sequences for the terminal in which tmux runs. tmux passes them on if `allow-passthrough` is on.

/// Returns whether the program runs inside of tmux.
pub(crate) fn is_around() -> bool {
    std::env::var_os("TMUX").is_some()
}

/// The sequence in the form that tmux hands on to its terminal.
pub(crate) fn passed_through(sequence: &str) -> String {
    let doubled = sequence.replace('\u{1b}', "\u{1b}\u{1b}");
    format!("\u{1b}Ptmux;{doubled}\u{1b}\\")
}
