//! `agentx doctor`: looks for what is wrong with this machine, the configuration and what is stored, and says what to do about
//! it. It changes nothing, and never shows a secret.

mod machine;
mod reach;
mod setup;
mod stored;
mod terminal;
mod window;

use agentx::config::Loaded;
use agentx_terminal::Line;
use serde::Serialize;
use serde_json::json;

use crate::args::{AgentArgs, DoctorArgs, Global};
use crate::cmd::block_on;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::start;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Neither good nor bad: something that is good to know.
    Note,
    /// As it should be, or nothing to worry about.
    Ok,
    /// It works, but not as well as it could.
    Warn,
    /// Something does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was looked at.
    name: &'static str,
    level: Level,
    /// What was found.
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// How the program would end because of it.
    #[serde(skip)]
    exit: Exit,
}

impl Check {
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

    /// What an error says about it.
    fn failed(name: &'static str, error: &CliError) -> Self {
        let advice = error.hint().unwrap_or_default();
        Self::bad(name, error.exit(), error.to_string(), advice)
    }
}

/// Looks at everything.
pub(crate) fn run(args: &DoctorArgs, global: &Global, console: &mut Console) -> Result<Exit, CliError> {
    let loaded = start::settings(global, &AgentArgs::default());
    let mut checks = vec![setup::configuration(&loaded)];
    match &loaded {
        Ok(loaded) => checks.extend(of_settings(loaded, args.offline)?),
        // Without settings the data is where it would be without any file.
        Err(_) => {
            if let Ok(places) = start::places(global) {
                checks.extend(stored::all(&places.data_dir));
            }
        }
    }
    checks.extend(terminal::all(&console.terminal));
    checks.extend(machine::all());
    let worst = checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    if global.json {
        console.out_pretty(&json!({ "worst": worst, "checks": checks }))?;
    } else {
        console.out(&render(&checks, console))?;
    }
    let first_bad = checks.iter().find(|check| check.level == Level::Bad);
    Ok(first_bad.map_or(Exit::Ok, |check| check.exit))
}

fn of_settings(loaded: &Loaded, offline: bool) -> Result<Vec<Check>, CliError> {
    let (model, settings, provider) = block_on(async { Ok(setup::model(loaded, offline).await) })?;
    let settings = &settings;
    let has_model = model.level != Level::Bad;
    let mut checks = vec![model];
    checks.extend(setup::keys(settings));
    // Without a model there is no server to check.
    if has_model || provider.is_some() {
        checks.push(block_on(async {
            Ok(reach::model(provider.as_ref(), offline).await)
        })?);
    }
    if let Some(provider) = provider.filter(|_| !offline) {
        checks.extend(block_on(async { Ok(window::check(settings, &provider).await) })?);
    }
    checks.extend(stored::all(&settings.data_dir));
    Ok(checks)
}

/// Columns before what was found, and before what was found below a name.
const INDENT: usize = 21;
const SIGN: usize = 6;
/// In a terminal with less room names have rows of their own.
const NARROW: usize = 60;

fn render(checks: &[Check], console: &Console) -> String {
    let style = console.out_style();
    let columns = if console.terminal.output {
        console.terminal.width
    } else {
        usize::MAX
    };
    // Beside the names, or below them where there is little room.
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
        let mut rows: Vec<String> = check.found.lines().flat_map(|line| fitted(line, width)).collect();
        if let Some(advice) = check.advice.as_ref().filter(|advice| !advice.is_empty()) {
            rows.extend(fitted(&format!("→ {advice}"), width));
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
fn fitted(line: &str, width: usize) -> Vec<String> {
    let rows = Line::new(&visible(line), Default::default()).rows(width);
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}
