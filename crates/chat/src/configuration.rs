//! What a person should know about their configuration, and what of it cannot be worked with.

use agentx::assembly::{Misnamed, misnamed_tools};
use agentx::config::{ConfigError, Loaded};

use crate::error::ChatError;
use crate::render::clean::visible;

/// Reads the environment; a value that is not UTF-8 counts as not set.
pub fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What a person should know about the configuration.
pub fn notes(loaded: &Loaded) -> String {
    let mut text = String::new();
    for warning in &loaded.warnings {
        text.push_str(&format!("warning: {}\n", visible(&warning.to_string())));
    }
    for mistake in &loaded.broken {
        text.push_str(&format!(
            "warning: this folder is not trusted, so its file is left out: {}\n",
            visible(&mistake.to_string())
        ));
    }
    for ignored in &loaded.ignored {
        text.push_str(&format!(
            "note: `{}` is left out: {} ({})\n",
            visible(&ignored.key),
            ignored.why,
            visible(&ignored.origin.to_string())
        ));
    }
    if loaded.ignored.iter().any(|ignored| ignored.waits_for_trust) {
        text.push_str("hint: `agentx config trust --show` shows what the folder brings, `agentx config trust` takes all of it\n");
    }
    text
}

/// Refuses settings whose rules would let calls through because they name a tool that does not exist. What else they name wrongly, in
/// lines for the person. Rules of a server are the server's matter.
pub fn check_tools(loaded: &Loaded) -> Result<String, ChatError> {
    if loaded.settings.connect.is_some() {
        return Ok(String::new());
    }
    let misnamed = misnamed_tools(loaded);
    if !misnamed.mistakes.is_empty() {
        return Err(ConfigError::Mistakes(misnamed.mistakes).into());
    }
    Ok(warnings(&misnamed))
}

/// The warnings about names of tools that no tool has, in lines for the person, whether there are mistakes beside them or not.
pub fn tool_warnings(loaded: &Loaded) -> String {
    match loaded.settings.connect {
        Some(_) => String::new(),
        None => warnings(&misnamed_tools(loaded)),
    }
}

fn warnings(misnamed: &Misnamed) -> String {
    let lines = misnamed.warnings.iter();
    lines.map(|warning| format!("warning: {warning}\n")).collect()
}
