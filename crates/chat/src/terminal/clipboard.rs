//! Puts text into the clipboard of the terminal, also over ssh, by the sequence OSC 52
//! (<https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>).
//!
//! A terminal does not say whether it took the text. Ghostty, kitty, WezTerm, iTerm2, foot, alacritty,
//! Windows Terminal and VS Code do, some only if a setting allows it; xterm does so with `allowWindowOps`,
//! tmux with `set-clipboard on`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::terminal::tmux;

/// The longest text in bytes: more than 100,000 characters of base64 are cut off by some terminals, which
/// would paste a part.
pub(crate) const LONGEST: usize = 74_994;

/// The bytes that set the clipboard.
pub(crate) fn sequence(text: &str, in_tmux: bool) -> String {
    let plain = format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text));
    if !in_tmux {
        return plain;
    }
    // tmux takes the first with `set-clipboard on`, and hands the second on with `allow-passthrough on`.
    let passed_on = tmux::passed_through(&plain);
    format!("{plain}{passed_on}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_encoded_and_passed_through_tmux() {
        assert_eq!(sequence("a\tb\n", false), "\u{1b}]52;c;YQliCg==\u{7}");
        assert_eq!(
            sequence("a", true),
            "\u{1b}]52;c;YQ==\u{7}\u{1b}Ptmux;\u{1b}\u{1b}]52;c;YQ==\u{7}\u{1b}\\"
        );
        assert!(STANDARD.encode(vec![b'x'; LONGEST]).len() <= 100_000);
    }
}
