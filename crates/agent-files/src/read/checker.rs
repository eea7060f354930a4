//! The progress of the check of one file: the position in the file, and the findings so far. Each step of the
//! check records its mistakes here.

use agentx_config::yaml::{TextPosition, YamlNode};
use serde_json::Value;

use crate::mistake::DefinitionMistake;
use crate::read::findings::{FileFindings, LocatedText};
use crate::source::FileSource;

/// Reads one file.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a FileSource,
    pub(crate) findings: FileFindings,
    /// The name of the definition that is read.
    pub(crate) owner: String,
    /// The nesting depth of values here.
    pub(crate) depth: usize,
    /// The nesting depth of agents here.
    pub(crate) agents: u32,
    pub(crate) filters: usize,
}

/// The number of errors of one file that are shown.
const MAX_MISTAKES: usize = 100;

impl<'a> Checker<'a> {
    pub(crate) fn new(source: &'a FileSource) -> Self {
        Self {
            source,
            findings: FileFindings::default(),
            owner: String::new(),
            depth: 0,
            agents: 0,
            filters: 0,
        }
    }

    /// Returns whether the list of errors is full.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.mistakes.len() > MAX_MISTAKES
    }

    pub(crate) fn wrong(&mut self, at: TextPosition, message: impl Into<String>, hint: Option<String>) {
        if self.is_full() {
            return;
        }
        if self.findings.mistakes.len() == MAX_MISTAKES {
            let message = format!("and more; the first {MAX_MISTAKES} mistakes of a file are shown");
            let end = TextPosition {
                line: u64::MAX,
                column: 1,
            };
            self.findings
                .mistakes
                .push(DefinitionMistake::new(&self.source.file, end, message));
            return;
        }
        let mistake = DefinitionMistake::new(&self.source.file, at, message).hint(hint);
        self.findings.mistakes.push(mistake);
    }

    pub(crate) fn expected(&mut self, key: &str, node: &YamlNode, what: &str) {
        let found = node.value.found();
        self.wrong(node.at, format!("`{key}`: expected {what}, found {found}"), None);
    }

    pub(crate) fn placed(&self, at: TextPosition, text: &str) -> LocatedText {
        LocatedText {
            at,
            text: text.to_owned(),
            owner: self.owner.clone(),
        }
    }
}

/// Records that another kind of value was expected. Returns no value.
pub(crate) fn wrong(checker: &mut Checker<'_>, key: &str, node: &YamlNode, what: &str) -> Option<Value> {
    checker.expected(key, node, what);
    None
}
