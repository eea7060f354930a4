//! The special treatment of xterm, once it has given its name: it cuts rows, and it needs settings for some
//! keys, which are restored at the end.

use std::sync::OnceLock;

/// The first version of xterm in which a program can choose the form of keys with modifiers (XTFMTKEYS). In
/// the older form they are read as no key at all, so an older xterm sends Enter for Shift-Enter.
const CHOOSES_FORM: u32 = 398;

/// The version of the terminal if it is xterm, by its own answer: over ssh its variables do not come along.
/// There is one terminal.
static XTERM: OnceLock<Option<u32>> = OnceLock::new();

/// Records the name of the terminal. There is only one terminal, so its first answer counts.
pub(super) fn record_name(name: &str) {
    let _ = XTERM.set(version(name));
}

/// Returns whether it is xterm, if it has given its name.
pub(super) fn is_known() -> Option<bool> {
    XTERM.get().map(Option::is_some)
}

/// Returns the version of xterm itself, not of a terminal that calls itself compatible.
fn version(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("XTerm(")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

/// Returns the settings for xterm: send Alt as other terminals do, and distinguish Shift-Enter from Enter.
/// xterm saves its earlier settings. Empty for all other terminals.
pub(crate) fn wishes() -> &'static str {
    wishes_of(XTERM.get().copied().flatten()).0
}

/// Returns the bytes that restore xterm's earlier settings.
pub(super) fn farewell() -> &'static str {
    wishes_of(XTERM.get().copied().flatten()).1
}

fn wishes_of(version: Option<u32>) -> (&'static str, &'static str) {
    match version {
        None => ("", ""),
        Some(..CHOOSES_FORM) => ("\u{1b}[?1036;1039s\u{1b}[?1036;1039h", "\u{1b}[?1036;1039r"),
        Some(CHOOSES_FORM..) => (
            "\u{1b}[?1036;1039s\u{1b}[?1036;1039h\u{1b}[>4;1f\u{1b}[>4;1m",
            "\u{1b}[>4m\u{1b}[>4f\u{1b}[?1036;1039r",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xterm_is_told_from_those_that_are_like_it() {
        assert_eq!(version("XTerm(390)"), Some(390));
        assert_eq!(version("XTerm(398~dev)"), Some(398));
        assert_eq!(version("XTerm()"), Some(0));
        for other in ["kitty(0.35.2)", "tmux 3.4", "xterm.js(5.5.0)", ""] {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[test]
    fn keys_are_wished_for_in_a_form_that_is_read() {
        let asks = |version| wishes_of(version).0.contains(">4;1m");
        assert!(asks(Some(398)) && asks(Some(412)));
        assert!(!asks(Some(379)) && !asks(Some(0)) && !asks(None));
    }
}
