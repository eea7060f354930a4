//! Reads events of OpenHands V0, as its logs have them, for the detector with its rules.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fingerprint::CallFingerprint;
use super::v0::{CELL_ERRORS, StuckAnalysis, V0Detector, V0Event, V0Observation};

/// The syntax errors of a cell that the rules know. The first one may have any line number.
const SYNTAX_ERRORS: [&str; CELL_ERRORS] = [
    "SyntaxError: unterminated string literal (detected at line",
    "SyntaxError: invalid syntax. Perhaps you forgot a comma?",
    "SyntaxError: incomplete input",
];

/// Returns OpenHands' verdict on a history of its V0 events, at the end of it.
///
/// `headless` takes the whole history into account; otherwise it begins after the last message of the user.
/// Events of an unknown form equal only those of the same form.
pub fn openhands_verdict(history: &[Value], headless: bool) -> Option<StuckAnalysis> {
    let is_last_input = |event: &Value| is_user_message(event);
    let offset = match history.iter().rposition(is_last_input) {
        Some(index) if !headless => index + 1,
        _ => 0,
    };
    let mut detector = V0Detector::at(offset as u64);
    let mut first_of: BTreeMap<u64, u64> = BTreeMap::new();
    let counted = history[offset..]
        .iter()
        .filter(|event| !is_user_message(event) && !is_empty(event));
    for (place, event) in counted.enumerate() {
        let whole = whole(event);
        let first = *first_of.entry(whole).or_insert(place as u64);
        detector.push(read(event, whole, first));
    }
    detector.verdict()
}

fn is_user_message(event: &Value) -> bool {
    event["action"] == "message" && event["source"] == "user"
}

fn is_empty(event: &Value) -> bool {
    event["action"] == "null" || event["observation"] == "null"
}

/// The event as the rules compare it. `whole` is the fingerprint of all its fields.
fn read(event: &Value, whole: u64, first: u64) -> V0Event {
    let Some(observation) = event["observation"].as_str() else {
        return match event["action"].as_str() {
            Some("message") => V0Event::Message { key: whole, first },
            Some("run_ipython") => V0Event::Action {
                key: cell_key(event, whole),
                first,
            },
            _ => V0Event::Action {
                key: Some(whole),
                first,
            },
        };
    };
    let kind = match observation {
        "error" => V0Observation::Error,
        "condense" => V0Observation::Condensation,
        "run_ipython" => V0Observation::Cell(cell_errors(event["content"].as_str().unwrap_or_default())),
        _ => V0Observation::Plain,
    };
    let key = match observation {
        "run" => command_key(event),
        _ => whole,
    };
    V0Event::Observation { key, kind }
}

/// The fingerprint of the fields that OpenHands compares: those of the event's own class, without id, source
/// and time.
fn whole(event: &Value) -> u64 {
    let mut fingerprint = CallFingerprint::of("event");
    for field in ["action", "args", "observation", "content", "extras"] {
        fingerprint.text(field);
        fingerprint.value(&event[field], &CallFingerprint::text);
    }
    fingerprint.end()
}

/// Edits count by their first three lines; one of fewer lines equals nothing.
fn cell_key(event: &Value, whole: u64) -> Option<u64> {
    let code = event["args"]["code"].as_str().unwrap_or_default();
    if !code.contains("edit_file_by_replace(") {
        return Some(whole);
    }
    let lines: Vec<&str> = code.split('\n').take(3).collect();
    (lines.len() == 3).then(|| {
        let mut fingerprint = CallFingerprint::of("edit");
        lines.iter().for_each(|line| fingerprint.text(line));
        fingerprint.end()
    })
}

/// Output of commands counts by the command and its exit code.
fn command_key(event: &Value) -> u64 {
    let mut fingerprint = CallFingerprint::of("command");
    let extras = &event["extras"];
    fingerprint.value(&extras["command"], &CallFingerprint::text);
    fingerprint.value(&extras["metadata"]["exit_code"], &CallFingerprint::text);
    fingerprint.end()
}

/// The fingerprints of the lines that name a syntax error, one for each that the rules know.
fn cell_errors(content: &str) -> [Option<u64>; CELL_ERRORS] {
    let mut found = [None; CELL_ERRORS];
    let lines: Vec<&str> = content.trim().split('\n').collect();
    let [.., error, directory, interpreter] = lines[..] else {
        return found;
    };
    if !directory.starts_with("[Jupyter current working directory:")
        || !interpreter.starts_with("[Jupyter Python interpreter:")
    {
        return found;
    }
    let first = lines[0].trim();
    let is_whole = lines.len() >= 6 && first.starts_with("Cell In[1], line");
    for (index, message) in SYNTAX_ERRORS.iter().enumerate() {
        let is_unterminated = index == 0;
        if error.contains(message) && (is_unterminated || is_whole) {
            let mut fingerprint = CallFingerprint::of(message);
            fingerprint.text(if is_unterminated { "" } else { first });
            fingerprint.text(error);
            found[index] = Some(fingerprint.end());
        }
    }
    found
}
