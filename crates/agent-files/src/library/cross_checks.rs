//! Checks of an entry that need all files: whether the tools that a script calls exist, and whether its
//! schemas, whose keywords are valid one by one, are valid as a whole.

use agentx_config::yaml::TextPosition;

use crate::keys::key_tables::RefKind;
use crate::library::loading::Loading;
use crate::mistake::DefinitionMistake;

/// Checks one entry.
pub(crate) fn check(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let mut found: Vec<(TextPosition, String, Option<String>)> = Vec::new();
    for granted in &entry.read.findings.granted {
        let name = granted.text.strip_prefix("tool:").unwrap_or(&granted.text);
        if !name.contains('*') && !loading.knows(RefKind::Tool, name) && !is_inline(loading, name) {
            let hint = loading.nearest_name(RefKind::Tool, name);
            found.push((granted.at, format!("`tools`: there is no tool `{name}`"), hint));
        }
    }
    if let Some(schemas) = loading.options.schemas {
        for (at, key, schema) in &entry.read.findings.schemas {
            if let Err(problem) = schemas.check(schema) {
                found.push((*at, format!("`{key}`: not a valid schema: {problem}"), None));
            }
        }
    }
    if let Some(entry) = loading.entries.get_mut(index) {
        for (at, message, hint) in found {
            let mistake = DefinitionMistake::new(&entry.source.file, at, message).hint(hint);
            entry.read.findings.mistakes.push(mistake);
        }
    }
}

/// Returns whether another file contains a tool of this name.
fn is_inline(loading: &Loading<'_>, name: &str) -> bool {
    let mut entries = loading.entries.iter();
    entries.any(|entry| entry.read.findings.tools.iter().any(|tool| tool == name))
}
