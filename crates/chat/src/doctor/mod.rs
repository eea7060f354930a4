//! Checks this machine, the configuration and the stored data for problems, and says how to fix them. It
//! changes nothing, and never shows a secret.

mod machine;
mod reach;
mod setup;
mod stored;
mod terminal;
mod window;

use std::path::Path;

use agentx::config::Loaded;
use agentx_terminal::Line;
use serde::Serialize;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::terminal::console::{Console, Terminal};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The finding is neither good nor bad, but worth knowing.
    Note,
    /// The part is in order.
    Ok,
    /// The part works, but not as well as it could.
    Warn,
    /// The part does not work.
    Bad,
}

/// A finding of the doctor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// The part that was checked.
    name: &'static str,
    /// The severity of the finding.
    pub level: Level,
    /// The finding.
    found: String,
    /// The advice to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// The exit code with which the program would end because of it.
    #[serde(skip)]
    pub exit: Exit,
}

impl DoctorCheck {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            level: Level::Ok,
            found: found.into(),
            advice: None,
            exit: Exit::Ok,
        }
    }

    fn note(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            ..Self::ok(name, found)
        }
    }

    fn warn(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            level: Level::Warn,
            advice: Some(advice.into()),
            ..Self::ok(name, found)
        }
    }

    fn bad(name: &'static str, exit: Exit, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            level: Level::Bad,
            exit,
            ..Self::warn(name, found, advice)
        }
    }

    /// Returns the finding that an error describes.
    fn failed(name: &'static str, error: &ChatError) -> Self {
        let again = || "correct that, then run `agentx doctor` again".to_owned();
        let advice = error.hint().unwrap_or_else(again);
        Self::bad(name, error.exit(), error.to_string(), advice)
    }
}

/// Checks whether the configuration can be read, and names what should be corrected.
pub fn of_configuration(loaded: Result<&Loaded, &ChatError>) -> DoctorCheck {
    setup::configuration(loaded)
}

/// Checks the settings: the model, the keys, the server, and the stored data.
pub async fn of_settings(loaded: &Loaded, offline: bool) -> Vec<DoctorCheck> {
    let (model, settings, provider) = setup::model(loaded, offline).await;
    let settings = &settings;
    let has_model = model.level != Level::Bad;
    let mut checks = vec![model];
    checks.extend(setup::keys(settings));
    checks.push(setup::approvals(settings));
    checks.push(setup::mcp_servers(settings));
    checks.extend(setup::prompts(settings));
    checks.extend(setup::left_out(settings));
    if cfg!(target_os = "linux") {
        checks.push(setup::sandbox(settings));
    }
    checks.extend(setup::browser(settings));
    // Without a model there is no server to check.
    if has_model || provider.is_some() {
        checks.push(reach::model(provider.as_ref(), offline).await);
    }
    if let Some(provider) = provider.filter(|_| !offline) {
        checks.extend(window::check(settings, &provider).await);
    }
    checks.extend(of_data(&settings.data_dir));
    checks.extend(stored::foreign_directory(settings));
    checks.extend(stored::damaged_decisions(&loaded.trust_dir));
    checks
}

/// Checks the stored data of this directory.
pub fn of_data(data_dir: &Path) -> Vec<DoctorCheck> {
    stored::all(data_dir)
}

/// Checks the terminal and this machine.
pub fn of_machine(terminal: &Terminal) -> Vec<DoctorCheck> {
    let mut checks = terminal::all(terminal);
    checks.extend(machine::all());
    checks
}

/// Columns before a finding, and before a finding below a name.
const INDENT: usize = 21;
const SIGN: usize = 6;
/// The width of a terminal below which names have their own rows.
const NARROW: usize = 60;

/// The checks as people read them.
pub fn render(checks: &[DoctorCheck], console: &Console) -> String {
    let style = console.out_style();
    let columns = if console.terminal.output {
        console.terminal.width
    } else {
        usize::MAX
    };
    // The details stand beside the names, or below them in a narrow terminal.
    let indent = if columns < NARROW { SIGN } else { INDENT };
    let width = columns.saturating_sub(indent);
    let mut text = String::new();
    for check in checks {
        let sign = match check.level {
            Level::Note => "note".to_owned(),
            Level::Ok => style.good("ok  "),
            Level::Warn => style.warn("warn"),
            Level::Bad => style.bad("bad "),
        };
        let mut rows: Vec<String> = check
            .found
            .lines()
            .flat_map(|line| wrapped_rows(line, width))
            .collect();
        if let Some(advice) = check.advice.as_ref().filter(|advice| !advice.is_empty()) {
            rows.extend(wrapped_rows(&format!("→ {advice}"), width));
        }
        let first = if indent == INDENT {
            rows.drain(..1.min(rows.len())).next()
        } else {
            None
        };
        let head = format!("{sign}  {:<13}  {}", check.name, first.unwrap_or_default());
        text.push_str(&format!("{}\n", head.trim_end()));
        for row in rows {
            text.push_str(&format!("{:indent$}{row}\n", ""));
        }
    }
    text
}

/// A line in as many rows as it needs.
fn wrapped_rows(line: &str, width: usize) -> Vec<String> {
    let rows = Line::new(&visible(line), Default::default()).rows(width);
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_hint_says_what_to_do_too() {
        let error = ChatError::File {
            path: "config.yaml".into(),
            what: "no space left".into(),
        };
        assert_eq!(error.hint(), None);
        let check = DoctorCheck::failed("configuration", &error);
        assert!(check.advice.is_some_and(|advice| !advice.is_empty()));
    }
}
