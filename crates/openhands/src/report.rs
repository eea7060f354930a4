//! The report of an import: what it read and what it left out. Nothing is left out silently.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The version of OpenHands that wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogVersion {
    /// Actions and observations.
    V0,
    /// Events with a `kind`.
    V1,
}

impl LogVersion {
    /// The name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0 => "OpenHands V0",
            Self::V1 => "OpenHands V1",
        }
    }
}

/// The contents of a log, and what was left out or added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// The version that wrote it.
    pub version: LogVersion,
    /// The number of events in the log.
    pub events: usize,
    /// The number of events of each kind, by the log's own word: `action run`, `observation run`,
    /// `MessageEvent`.
    pub kinds: BTreeMap<String, usize>,
    /// The parts without a corresponding fact, by name, with their number. Names of words that the tables do
    /// not contain begin with `unknown`.
    pub left_out: BTreeMap<String, usize>,
    /// The parts that the log lacked and that were added, by name, with their number.
    pub added: BTreeMap<String, usize>,
}

impl ImportReport {
    pub(crate) fn new(version: LogVersion, events: usize) -> Self {
        Self {
            version,
            events,
            kinds: BTreeMap::new(),
            left_out: BTreeMap::new(),
            added: BTreeMap::new(),
        }
    }

    pub(crate) fn note_kind(&mut self, kind: &str) {
        *self.kinds.entry(shortened(kind)).or_default() += 1;
    }

    pub(crate) fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(shortened(what)).or_default() += 1;
    }

    pub(crate) fn add(&mut self, what: &str) {
        *self.added.entry(shortened(what)).or_default() += 1;
    }

    /// Returns the report for programs: `version`, `events`, `kinds`, `left_out`, `added`.
    pub fn to_json(&self) -> Value {
        json!({
            "version": self.version.as_str(),
            "events": self.events,
            "kinds": self.kinds,
            "left_out": self.left_out,
            "added": self.added,
        })
    }

    /// Returns a line about the log, then one for what was left out and one for what was added, if any.
    ///
    /// ```
    /// let log = agentx_openhands::Log::read("[{\"action\":\"message\",\"source\":\"user\",\"args\":{\"content\":\"Hi\"}}]").unwrap();
    /// let imported = agentx_openhands::import(&log, &Default::default()).unwrap();
    /// assert_eq!(imported.report.lines(), ["OpenHands V0: 1 event"]);
    /// ```
    pub fn lines(&self) -> Vec<String> {
        let s = if self.events == 1 { "" } else { "s" };
        let mut lines = vec![format!("{}: {} event{s}", self.version.as_str(), self.events)];
        for (title, names) in [("not in the session", &self.left_out), ("added", &self.added)] {
            let all: Vec<String> = names
                .iter()
                .map(|(name, count)| format!("{count} × {name}"))
                .collect();
            if !all.is_empty() {
                lines.push(format!("{title}: {}", all.join(", ")));
            }
        }
        lines
    }
}

/// Returns at most 60 printable characters of a name, which may be any text of a log.
fn shortened(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(60)
        .collect()
}
