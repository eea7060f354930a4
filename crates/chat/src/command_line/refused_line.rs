//! Reads a command line that the parser refused, and the parser's words about it.

use crate::command_line::failure::FailureOutput;

/// Splits the parser's text into the message of an error and its hints.
pub fn message_and_hints(text: &str) -> (String, Vec<String>) {
    let mut message = Vec::new();
    let mut hints = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            hints.push(format!("usage: {usage}"));
        } else if !line.starts_with("For more information") {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    (message.join("\n"), hints)
}

/// Returns whether `run` was asked for a result object, as far as that can be read.
pub fn wants_result(typed: &[String]) -> bool {
    let is_run = typed.iter().skip(1).any(|word| word == "run");
    is_run && (names_json(typed, "--output-format") || typed.iter().any(|word| word == "--json"))
}

/// Returns what standard output gets for this command line, as far as that can be read.
pub fn failure_output(typed: &[String]) -> FailureOutput {
    let end = typed.iter().position(|word| word == "--");
    let options = &typed[..end.unwrap_or(typed.len())];
    let is_json = options.iter().any(|word| word == "--json")
        || ["--format", "--output-format"]
            .iter()
            .any(|flag| names_json(options, flag));
    match (wants_result(typed), is_json) {
        (true, _) => FailureOutput::RunResult,
        (false, true) => FailureOutput::Error,
        (false, false) => FailureOutput::Nothing,
    }
}

/// Returns whether the value of a flag is one of the formats of JSON.
fn names_json(typed: &[String], flag: &str) -> bool {
    let wanted = |format: &str| format == "json" || format == "stream-json";
    let apart = typed.windows(2).any(|pair| pair[0] == flag && wanted(&pair[1]));
    let joined = typed
        .iter()
        .filter_map(|word| word.strip_prefix(flag)?.strip_prefix('='))
        .any(wanted);
    apart || joined
}
