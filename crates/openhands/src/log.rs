//! A log that was read: the version that wrote it, and its events. Files are passed as texts, so this crate
//! needs no file system.

use serde_json::Value;

use crate::branch;
use crate::json;
use crate::report::LogVersion;

/// Maximum number of bytes of all files of a log.
pub const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of events of a log.
pub const MOST_EVENTS: usize = 200_000;

/// The reason why a log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogReadError {
    /// The text is not an OpenHands log.
    #[error("not a log of OpenHands: {0}")]
    Other(String),
    /// A file, a line or an event is malformed.
    #[error("{place}: {what}")]
    Damaged {
        /// The file, and the line or event in it.
        place: String,
        /// The defect.
        what: String,
    },
    /// The log exceeds the limits of an import.
    #[error("the log is too large: {0}")]
    TooLarge(String),
}

/// The events of one log, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    pub(crate) version: LogVersion,
    pub(crate) events: Vec<Value>,
    /// V1: `base_state.json`. V0: the record of the resolver around the history, or `metadata.json`.
    pub(crate) state: Value,
    /// Events of other branches, which are not among `events`.
    pub(crate) elsewhere: usize,
}

/// A file in a log's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The name in its folder, which errors show and which determines the order.
    pub name: String,
    /// The contents.
    pub text: String,
}

impl Log {
    /// Reads one file: a list of V0 events, a record of V0's resolver (`output.jsonl`), or V1 events, one on
    /// each line or as a list.
    ///
    /// # Errors
    /// Returns an error if the text is something else, is damaged (the error names the line or the event), or
    /// contains more than one log.
    pub fn read(text: &str) -> Result<Self, LogReadError> {
        let mut logs = Self::read_all(text, None)?;
        match (logs.pop(), logs.len()) {
            (Some(log), 0) => Ok(log),
            (_, others) => Err(LogReadError::Other(format!("it has {} logs", others + 1))),
        }
    }

    /// Reads all logs of one file, as [`read`](Self::read) does: a file of the resolver has one on each line.
    /// `state` is the `base_state.json` or `metadata.json` beside it, if it exists.
    ///
    /// # Errors
    /// Returns an error if the text is something else or is damaged; the error names the line or the event.
    pub fn read_all(text: &str, state: Option<&LogFile>) -> Result<Vec<Self>, LogReadError> {
        let state = state_of(state)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(events)) => Ok(vec![Self::of_events(events, state)?]),
            Ok(record @ Value::Object(_)) => Ok(vec![Self::of_record(record, state)?]),
            Ok(_) => Err(LogReadError::Other(
                "it is JSON, but neither a list nor an object".into(),
            )),
            Err(error) if text.trim_start().starts_with('[') => Err(damaged("the list", &error)),
            Err(_) => Self::of_lines(text, state),
        }
    }

    /// Reads the files of a folder: one event in each file, in the order of the numbers in their names, and
    /// `base_state.json` or `metadata.json` if it exists.
    ///
    /// # Errors
    /// Returns an error if a file is damaged, which the error names, or if no file has an event.
    pub fn of_folder(mut files: Vec<LogFile>, state: Option<&LogFile>) -> Result<Self, LogReadError> {
        files.sort_by(|a, b| {
            number_in(&a.name)
                .cmp(&number_in(&b.name))
                .then_with(|| a.name.cmp(&b.name))
        });
        let mut events = Vec::new();
        for file in &files {
            match read_json(&file.text, &file.name)? {
                event @ Value::Object(_) => events.push(event),
                // A page of V0's cache repeats several events that also have their own files.
                Value::Array(_) => {}
                _ => {
                    return Err(LogReadError::Damaged {
                        place: file.name.clone(),
                        what: "it holds no event".into(),
                    });
                }
            }
        }
        Self::of_events(events, state_of(state)?)
    }

    /// The version that wrote the log.
    pub fn version(&self) -> LogVersion {
        self.version
    }

    fn of_lines(text: &str, state: Value) -> Result<Vec<Self>, LogReadError> {
        let mut values = Vec::new();
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        for (index, line) in lines {
            if values.len() >= MOST_EVENTS {
                return Err(too_many());
            }
            let read = serde_json::from_str::<Value>(line);
            let value = read.map_err(|error| {
                if values.is_empty() {
                    return LogReadError::Other("neither the whole file nor its first line is JSON".into());
                }
                damaged(&format!("line {}", index + 1), &error)
            })?;
            values.push(value);
        }
        match values.first() {
            None => Err(LogReadError::Other("it is empty".into())),
            // The resolver writes a record for each issue.
            Some(first) if first.get("history").is_some() => values
                .into_iter()
                .map(|record| Self::of_record(record, Value::Null))
                .collect(),
            Some(_) => Ok(vec![Self::of_events(values, state)?]),
        }
    }

    /// Reads a record around a history, or a single event.
    fn of_record(mut record: Value, state: Value) -> Result<Self, LogReadError> {
        for key in ["history", "trajectory", "events"] {
            if let Some(Value::Array(events)) = record.get_mut(key).map(Value::take) {
                return Self::of_events(events, record);
            }
        }
        Self::of_events(vec![record], state)
    }

    fn of_events(events: Vec<Value>, state: Value) -> Result<Self, LogReadError> {
        if events.len() > MOST_EVENTS {
            return Err(too_many());
        }
        // Old histories are lists of pairs: an action and its observation.
        let mut flat: Vec<Value> = Vec::new();
        for event in events {
            match event {
                Value::Array(pair) => flat.extend(pair),
                event => flat.push(event),
            }
        }
        let is_v0 = |event: &Value| {
            event.get("action").is_some_and(Value::is_string)
                || event.get("observation").is_some_and(Value::is_string)
        };
        let is_v1 = |event: &Value| event.get("kind").is_some_and(Value::is_string);
        let version = match flat.iter().find(|event| is_v0(event) || is_v1(event)) {
            Some(event) if is_v1(event) => LogVersion::V1,
            Some(_) => LogVersion::V0,
            None => {
                return Err(LogReadError::Other(
                    "it has no event with an `action`, an `observation` or a `kind`".into(),
                ));
            }
        };
        if let Some(index) = flat.iter().position(|event| !event.is_object()) {
            let place = format!("event {}", index + 1);
            return Err(LogReadError::Damaged {
                place,
                what: "it is not an object".into(),
            });
        }
        let (events, elsewhere) = match version {
            LogVersion::V0 => (flat, 0),
            LogVersion::V1 => branch::of_leaf(flat, json::text(&state, "leaf_event_id")),
        };
        Ok(Self {
            version,
            events,
            state,
            elsewhere,
        })
    }
}

fn state_of(state: Option<&LogFile>) -> Result<Value, LogReadError> {
    state.map_or(Ok(Value::Null), |state| read_json(&state.text, &state.name))
}

fn read_json(text: &str, name: &str) -> Result<Value, LogReadError> {
    serde_json::from_str(text).map_err(|error| damaged(name, &error))
}

fn damaged(place: &str, error: &serde_json::Error) -> LogReadError {
    LogReadError::Damaged {
        place: place.to_owned(),
        what: format!("it is not JSON: {error}"),
    }
}

fn too_many() -> LogReadError {
    LogReadError::TooLarge(format!("more than {MOST_EVENTS} events"))
}

/// Returns the first number in a name: 12 for `event-00012-….json` and for `12.json`.
fn number_in(name: &str) -> u64 {
    let from = name
        .find(|letter: char| letter.is_ascii_digit())
        .unwrap_or(name.len());
    let digits: String = name[from..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u64::MAX)
}
