//! Keeps known secrets out of the lines that a chat writes to files: the history of what was typed, and
//! drafts.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use agentx::config::Settings;
use agentx::node::{MARKED_SECRETS, known_secrets};
use agentx_terminal::LineFilter;

/// Takes known secrets out of lines that are written to a file, unless the settings switch that off, and in
/// any case the value behind `/secret NAME`. A value that any process marks is known from the next line on.
pub(crate) fn line_filter(settings: &Settings) -> LineFilter {
    let known = Mutex::new(version_of(&settings.data_dir));
    let Some(redactor) = agentx::node::redactor(settings) else {
        return LineFilter::new(|line| without_value(line).to_owned());
    };
    let settings = settings.clone();
    LineFilter::new(move |line| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = version_of(&settings.data_dir);
        if *known != now {
            redactor.learn(&known_secrets(&settings));
            *known = now;
        }
        redactor.redact(without_value(line)).into_owned()
    })
}

/// Returns a line without what follows the name in `/secret NAME VALUE`, also if the command is misspelled as
/// `/secrets`. Other lines stay as they are.
pub(crate) fn without_value(line: &str) -> &str {
    let Some((command, rest)) = first_word(line) else {
        return line;
    };
    let mut known = ["/secret", "/secrets"].into_iter();
    if !known.any(|known| known.eq_ignore_ascii_case(command)) {
        return line;
    }
    let name = match first_word(rest) {
        Some(("remove", rest)) => first_word(rest),
        name => name,
    };
    name.map_or(line, |(_, behind)| &line[..line.len() - behind.len()])
}

/// Splits a text behind its first word; `None` if it has no word.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The version of the file of marked values: its time and length. `None` if there is no such file.
fn version_of(data_dir: &Path) -> Option<(SystemTime, u64)> {
    let file = fs::metadata(data_dir.join(MARKED_SECRETS)).ok()?;
    Some((file.modified().ok()?, file.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_value_behind_the_name_loses_it() {
        for (line, kept) in [
            ("/secret WIFI made-up-value", "/secret WIFI"),
            ("  /secret\tWIFI\nmade-up-value\nmore", "  /secret\tWIFI"),
            ("/secrets WIFI made-up-value", "/secrets WIFI"),
            ("/Secret WIFI made-up-value", "/Secret WIFI"),
            ("/secret remove WIFI made-up-value", "/secret remove WIFI"),
            ("/secret WIFI", "/secret WIFI"),
            ("/secret remove", "/secret remove"),
            ("/secret", "/secret"),
            ("//secret in a message", "//secret in a message"),
            ("/secretly said words", "/secretly said words"),
            ("what is /secret for?", "what is /secret for?"),
            ("", ""),
        ] {
            assert_eq!(without_value(line), kept, "{line}");
        }
    }
}
