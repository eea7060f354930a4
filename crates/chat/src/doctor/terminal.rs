//! Checks the capabilities of the terminal, and whether it announces them.

use super::DoctorCheck;
use crate::configuration::lookup;
use crate::terminal::console::Terminal;

/// Checks the terminal and the language of the environment.
pub(super) fn all(terminal: &Terminal) -> Vec<DoctorCheck> {
    vec![screen(terminal), signs()]
}

fn screen(terminal: &Terminal) -> DoctorCheck {
    let name = "terminal";
    let term = lookup("TERM").filter(|term| !term.is_empty());
    let kind = term.as_deref().unwrap_or("TERM is not set");
    if !terminal.output || !terminal.input {
        return DoctorCheck::ok(
            name,
            format!("input or output is a file or a pipe, not a terminal ({kind})"),
        );
    }
    let colors = match (terminal.color, lookup("COLORTERM").as_deref()) {
        (false, _) => "no colours",
        (true, Some("truecolor" | "24bit")) => "all colours",
        (true, _) => "colours",
    };
    let inside = match (lookup("TMUX"), lookup("SSH_CONNECTION")) {
        (Some(_), Some(_)) => ", tmux, ssh",
        (Some(_), None) => ", tmux",
        (None, Some(_)) => ", ssh",
        (None, None) => "",
    };
    let found = format!("{kind}, {} columns, {colors}{inside}", terminal.width);
    match (terminal.capable, terminal.width) {
        (false, _) => DoctorCheck::warn(
            name,
            found,
            "set TERM to your terminal type, such as xterm-256color",
        ),
        (true, ..40) => DoctorCheck::warn(
            name,
            found,
            "widen the terminal: a chat needs at least 40 columns",
        ),
        _ => DoctorCheck::ok(name, found),
    }
}

fn signs() -> DoctorCheck {
    let name = "locale";
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| Some((name, lookup(name).filter(|value| !value.is_empty())?)));
    match set {
        Some((name_of, value)) if value.to_lowercase().replace('-', "").contains("utf8") => {
            DoctorCheck::ok(name, format!("UTF-8 ({name_of}={value})"))
        }
        Some((name_of, value)) => DoctorCheck::warn(
            name,
            format!("{name_of}={value} is not UTF-8"),
            "set LANG=C.UTF-8, or a UTF-8 locale of your language",
        ),
        None => DoctorCheck::warn(
            name,
            "no locale is set",
            "set LANG=C.UTF-8, or a UTF-8 locale of your language",
        ),
    }
}
