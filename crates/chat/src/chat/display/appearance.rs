//! The appearance of a chat: the colours and links that the person wants and the terminal supports.

use agentx::config::{ChatSettings, Links, ThemeChoice};
use agentx_terminal::Theme;

use crate::terminal::console::Console;

/// Applies the looks that the person wants, before anything is shown.
pub fn settle(chat: &ChatSettings, console: &mut Console) {
    if chat.screen_reader {
        console.use_words();
    }
    if chat.theme == ThemeChoice::None {
        console.terminal.color = false;
    }
}

/// The looks that the person wants, as far as they are known without asking the terminal.
pub fn theme(chat: &ChatSettings, guess: Theme) -> Theme {
    let theme = match chat.theme {
        _ if !guess.color => guess,
        ThemeChoice::Auto => guess,
        ThemeChoice::Dark => Theme::dark(),
        ThemeChoice::Light => Theme::light(),
        ThemeChoice::None => Theme::marked(),
    };
    let follows = match chat.links {
        Links::Always => true,
        Links::Never => false,
        Links::Auto => theme.color && follows_links(&|name| std::env::var(name).ok()),
    };
    theme.with_links(follows)
}

/// Returns whether the terminal is known to support clickable links (OSC 8).
fn follows_links(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, words: &[&str]| lookup(name).is_some_and(|value| words.contains(&value.as_str()));
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    let new_vte = lookup("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    // A program between this one and the terminal decides: tmux and screen may show the text without the
    // link.
    if is_set("TMUX") || is_set("STY") {
        return false;
    }
    is(
        "TERM_PROGRAM",
        &[
            "iTerm.app",
            "WezTerm",
            "vscode",
            "ghostty",
            "rio",
            "Hyper",
            "Tabby",
        ],
    ) || is(
        "TERM",
        &[
            "xterm-kitty",
            "xterm-ghostty",
            "alacritty",
            "foot",
            "foot-direct",
            "contour",
        ],
    ) || new_vte.is_some_and(|version| version >= 5_000)
        || is_set("WT_SESSION")
        || is_set("KONSOLE_VERSION")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_left_to_terminals_that_are_known_to_follow_them() {
        let follows = |set: &[(&str, &str)]| {
            follows_links(&|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(follows(&[("TERM", "xterm-kitty")]));
        assert!(follows(&[("VTE_VERSION", "7600"), ("TERM", "xterm-256color")]));
        assert!(!follows(&[("TERM", "xterm-256color")]));
        assert!(!follows(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "/tmp/x")]));
    }
}
