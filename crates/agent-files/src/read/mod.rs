//! Reads one file alone: its contents, or all of its errors.

mod checker;
mod claude_agent;
mod entries;
pub(crate) mod findings;
mod foreign_agent;
pub(crate) mod json_schema;
mod luau_tool;
mod opencode_agent;
mod params;
pub(crate) mod rules;
mod scalar;
mod shapes;

use std::path::Path;

use agentx_config::yaml::{Yaml, YamlError, YamlNode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::definition::{
    AgentDefinition, ContextLayer, Generator, RuleDefinition, SavedMessage, SavedState, ToolDefinition,
};
use crate::keys::file_kind::FileKind;
use crate::keys::key_tables::Shape;
use crate::keys::tables::{GENERATOR, LAYER, RULE};
use crate::mistake::{DefinitionMistake, START};
use crate::read::checker::Checker;
use crate::read::entries::text_of;
use crate::read::findings::FileFindings;
use crate::read::foreign_agent::TranslatedAgent;
use crate::source::{FileFormat, FileSource};

pub(crate) struct ParsedFile {
    /// The contents in one form; `None` if there is an error.
    pub(crate) value: Option<Value>,
    pub(crate) findings: FileFindings,
    /// The name that it gives itself, even if it is wrong.
    pub(crate) name: String,
}

pub(crate) fn read(source: &FileSource, kind: FileKind) -> ParsedFile {
    let stem = source.file.file_stem().unwrap_or_default().to_string_lossy();
    let mut read = match (source.form, kind) {
        (FileFormat::ClaudeCode, FileKind::Agent) => {
            read_foreign(source, &stem, claude_agent::translate(source))
        }
        (FileFormat::OpenCode, FileKind::Agent) => {
            read_foreign(source, &stem, opencode_agent::translate(source))
        }
        _ => read_own(source, kind, &stem),
    };
    if read.name.is_empty() {
        read.name = stem.into_owned();
    }
    read
}

/// Reads a file of AgentX.
fn read_own(source: &FileSource, kind: FileKind, stem: &str) -> ParsedFile {
    let tree = match (source.form, kind) {
        (FileFormat::Luau, FileKind::Tool) => luau_tool::tree(source, stem),
        (FileFormat::Luau, _) => Err(YamlError {
            at: START,
            what: "a script is a tool: it belongs in `tools/`".into(),
        }),
        _ => source.tree(),
    };
    of_tree(source, kind.shape(), tree)
}

/// Reads an agent of another program from its translation.
fn read_foreign(
    source: &FileSource,
    stem: &str,
    translated: Result<TranslatedAgent<'_>, YamlError>,
) -> ParsedFile {
    let mut agent = match translated {
        Ok(agent) if agent.is_none => {
            return ParsedFile {
                value: None,
                findings: FileFindings {
                    remarks: agent.remarks,
                    ..FileFindings::default()
                },
                name: stem.to_owned(),
            };
        }
        Ok(agent) => agent,
        Err(broken) => return of_tree(source, Shape::Agent, Err(broken)),
    };
    let tree = agent.tree(stem);
    let mut read = of_tree(source, Shape::Agent, Ok(tree));
    read.findings.remarks = agent.remarks;
    read.findings.foreign_tools = agent.tools;
    if let Some(Value::Object(map)) = &mut read.value {
        map.insert("$foreign".into(), json!(agent.choices));
    }
    read
}

fn of_tree(source: &FileSource, shape: Shape, tree: Result<YamlNode, YamlError>) -> ParsedFile {
    let mut checker = Checker::new(source);
    let mut name = String::new();
    let value = match tree {
        Ok(node) => {
            if let Yaml::Map(entries) = &node.value {
                name = text_of(entries, "name");
            }
            shapes::read(&mut checker, shape, &node)
        }
        Err(broken) => {
            checker.wrong(broken.at, broken.what, None);
            None
        }
    };
    let mut findings = checker.findings;
    let lines = source.text.lines().count().max(1) as u64;
    let last = source
        .text
        .lines()
        .next_back()
        .unwrap_or_default()
        .chars()
        .count() as u64;
    for mistake in findings
        .mistakes
        .iter_mut()
        .filter(|mistake| mistake.line > lines)
    {
        (mistake.line, mistake.column) = (lines, last + 1);
    }
    findings.mistakes.sort();
    findings.mistakes.dedup();
    ParsedFile {
        value: value.filter(|_| findings.mistakes.is_empty()),
        findings,
        name,
    }
}

/// Returns the definition of a valid value.
pub(crate) fn definition<T: DeserializeOwned>(file: &Path, value: Value) -> Result<T, DefinitionMistake> {
    serde_json::from_value(value)
        .map_err(|error| DefinitionMistake::new(file, START, format!("cannot parse it: {error}")))
}

fn parse<T: DeserializeOwned>(file: &Path, text: &str, shape: Shape) -> Result<T, Vec<DefinitionMistake>> {
    let source = FileSource {
        file: file.to_owned(),
        form: FileFormat::of(file)
            .filter(|form| *form != FileFormat::Luau)
            .unwrap_or(FileFormat::Yaml),
        text: text.to_owned(),
    };
    let tree = source.tree();
    let read = of_tree(&source, shape, tree);
    match read.value {
        Some(value) => definition(file, value).map_err(|mistake| vec![mistake]),
        None => Err(read.findings.mistakes),
    }
}

/// Reads the text of an agent file. References are not followed. JSON by the ending of the file's name, else
/// YAML.
///
/// ```
/// use std::path::Path;
/// let agent = agentx_agent_files::parse_agent(Path::new("a.yaml"), "name: writer\nmodel: gpt-4o\n").unwrap();
/// assert_eq!(agent.generator.unwrap().model.as_deref(), Some("gpt-4o"));
/// let mistakes = agentx_agent_files::parse_agent(Path::new("a.yaml"), "nmae: writer\n").unwrap_err();
/// assert_eq!(mistakes[1].to_string(), "a.yaml:1:1: unknown key `nmae`; did you mean `name`?");
/// ```
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_agent(file: &Path, text: &str) -> Result<AgentDefinition, Vec<DefinitionMistake>> {
    parse(file, text, Shape::Agent)
}

/// Reads the text of a tool file; a script with the ending `luau` has its settings in its first comment.
///
/// # Errors
/// Returns all errors in the file, except syntax errors of scripts.
pub fn parse_tool(file: &Path, text: &str) -> Result<ToolDefinition, Vec<DefinitionMistake>> {
    if FileFormat::of(file) != Some(FileFormat::Luau) {
        return parse(file, text, Shape::Tool);
    }
    let source = FileSource {
        file: file.to_owned(),
        form: FileFormat::Luau,
        text: text.to_owned(),
    };
    let read = read(&source, FileKind::Tool);
    match read.value {
        Some(value) => definition(file, value).map_err(|mistake| vec![mistake]),
        None => Err(read.findings.mistakes),
    }
}

/// Reads the text of a rule file.
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_rule(file: &Path, text: &str) -> Result<RuleDefinition, Vec<DefinitionMistake>> {
    parse(file, text, Shape::Map(&RULE))
}

/// Reads the text of a generator file.
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_generator(file: &Path, text: &str) -> Result<Generator, Vec<DefinitionMistake>> {
    parse(file, text, Shape::Map(&GENERATOR))
}

/// Reads one layer of a context.
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_layer(file: &Path, text: &str) -> Result<ContextLayer, Vec<DefinitionMistake>> {
    parse(file, text, LAYER)
}

/// Reads the state of an agent as GenX writes it down.
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_state(file: &Path, text: &str) -> Result<SavedState, Vec<DefinitionMistake>> {
    parse(file, text, Shape::State)
}

/// Reads a message of such a state.
///
/// # Errors
/// Returns all errors in the file.
pub fn parse_message(file: &Path, text: &str) -> Result<SavedMessage, Vec<DefinitionMistake>> {
    parse(file, text, Shape::Message)
}
