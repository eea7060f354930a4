//! Resolves references and paths.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::keys::file_kind::FileKind;
use crate::keys::key_tables::{RefKind, article};
use crate::keys::tables::MAX_SCRIPT_BYTES;
use crate::library::ScriptFinding;
use crate::library::contexts;
use crate::library::libs;
use crate::library::loading::Loading;
use crate::library::named_paths::{folder_of, path_within_root, script_places};
use crate::mistake::DefinitionMistake;
use crate::read::findings::{LocatedText, ReferenceSite};
use crate::source::FileFormat;

/// Returns whether a reference is the path of a file: it has a folder in it, or the ending of a file.
fn is_path(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    let known = matches!(
        ending,
        Some("yaml" | "yml" | "json" | "luau" | "lua" | "md" | "txt")
    );
    known || name.starts_with("./") || name.starts_with("../") || name.starts_with('/')
}

/// Reads the files that an entry refers to by their paths.
pub(crate) fn paths(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let (root, folder) = (entry.root, folder_of(&entry.path).to_owned());
    let links: Vec<ReferenceSite> = entry
        .read
        .findings
        .links
        .iter()
        .filter(|link| is_path(&link.name))
        .cloned()
        .collect();
    for link in links {
        let Some(path) = path_within_root(&folder, &link.name) else {
            let message = format!("`{}` is outside the folder of this file", link.name);
            loading.wrong_at(index, link.at, message, None);
            continue;
        };
        match FileKind::of(link.kind) {
            Some(kind) => file(loading, index, root, path, kind, &link),
            None => contexts::by_path(loading, index, &link, (root, path)),
        }
    }
}

fn file(
    loading: &mut Loading<'_>,
    index: usize,
    root: usize,
    path: PathBuf,
    kind: FileKind,
    link: &ReferenceSite,
) {
    if FileFormat::of(&path).is_none() {
        let message = format!(
            "`{}`: {} must be a yaml, yml or json file",
            link.name,
            article(link.kind)
        );
        return loading.wrong_at(index, link.at, message, None);
    }
    let before = loading.library.mistakes.len();
    let found = loading
        .file(root, path, kind)
        .and_then(|found| loading.entries.get(found));
    let Some((same, name)) = found.map(|found| (found.kind == kind, found.read.name.clone())) else {
        // The entry that needs the file reports it.
        let why = loading
            .library
            .mistakes
            .drain(before..)
            .map(|mistake| mistake.message)
            .next();
        let message = format!(
            "`{}`: {}",
            link.name,
            why.unwrap_or_else(|| "it cannot be read".into())
        );
        return loading.wrong_at(index, link.at, message, None);
    };
    if !same {
        return loading.wrong_at(
            index,
            link.at,
            format!("`{}` is not {}", link.name, article(link.kind)),
            None,
        );
    }
    if let Some(entry) = loading.entries.get_mut(index) {
        entry.renamed.insert(link.name.clone(), name);
    }
}

/// Looks up what an entry refers to by name.
pub(crate) fn links(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let links: Vec<ReferenceSite> = entry
        .read
        .findings
        .links
        .iter()
        .filter(|link| !is_path(&link.name))
        .cloned()
        .collect();
    let built_in = entry.read.findings.built_in.clone();
    for link in links {
        if link.kind == RefKind::Context {
            contexts::by_name(loading, index, &link);
        } else if !loading.knows(link.kind, &link.name) {
            let hint = loading.nearest_name(link.kind, &link.name);
            loading.wrong_at(
                index,
                link.at,
                format!("there is no {} `{}`", link.kind.word(), link.name),
                hint,
            );
        }
    }
    for LocatedText { at, text, .. } in built_in {
        if !text.is_empty() && !loading.options.tools.contains(&text.as_str()) {
            let message = format!("`{text}` is `type: built-in`, but there is no such built-in tool");
            let hint = "set a `type` and its keys, such as `lua`".to_owned();
            loading.wrong_at(index, at, message, Some(hint));
        }
    }
}

/// Remarks on the tools of another program's agent that there are not here: the agent goes without them.
pub(crate) fn foreign_tools(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let file = entry.source.file.clone();
    for LocatedText { at, text, .. } in entry.read.findings.foreign_tools.clone() {
        if text.ends_with('*') || loading.knows(RefKind::Tool, &text) {
            continue;
        }
        let message = format!("there is no tool `{text}` here; the agent goes without it");
        let remark = DefinitionMistake::new(&file, at, message);
        if let Some(entry) = loading.entries.get_mut(index) {
            entry.read.findings.remarks.push(remark);
        }
    }
}

/// Reads the scripts that an entry names, and has all its scripts checked.
pub(crate) fn scripts(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let (inline, named) = (
        entry.read.findings.scripts.clone(),
        entry.read.findings.script_files.clone(),
    );
    let mut places = VecDeque::new();
    for script in inline {
        places.extend(place(loading, index, &script));
        let mistake = loading
            .options
            .scripts
            .and_then(|check| check.check(&script.owner, &script.text).err());
        if let (Some(mistake), Some(entry)) = (mistake, loading.entries.get(index)) {
            let offset = offset_of(&script.text, &mistake);
            let at = entry.source.position_in(script.at, &script.text, offset);
            loading.wrong_at(index, at, mistake.message, None);
            continue;
        }
        for (offset, message, hint) in libs::of_tool(loading, &script.text) {
            let Some(entry) = loading.entries.get(index) else {
                break;
            };
            let at = entry.source.position_in(script.at, &script.text, offset);
            loading.wrong_at(index, at, message, hint);
        }
    }
    let mut read = BTreeMap::new();
    for named in named {
        match script_file(loading, index, &named) {
            Ok(text) => {
                read.insert(named.text.clone(), text);
            }
            Err(message) => loading.wrong_at(index, named.at, message, None),
        }
    }
    if let Some(value) = loading
        .entries
        .get_mut(index)
        .and_then(|entry| entry.read.value.as_mut())
    {
        fill(value, &read, &mut places);
    }
}

/// Returns the position of a script that is in the file itself.
fn place(loading: &Loading<'_>, index: usize, script: &LocatedText) -> Option<(String, Value)> {
    let entry = loading.entries.get(index)?;
    let line = entry.source.first_line(script.at, &script.text)?;
    let place = json!({"file": entry.path.display().to_string(), "line": line});
    Some((script.text.clone(), place))
}

/// Returns the byte offset of an error in its text.
fn offset_of(text: &str, mistake: &ScriptFinding) -> usize {
    let line = usize::try_from(mistake.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text
        .get(start..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let column = usize::try_from(mistake.column.saturating_sub(1)).unwrap_or(usize::MAX);
    start
        + rest
            .char_indices()
            .nth(column)
            .map_or(rest.len(), |(offset, _)| offset)
}

/// Reads a script: next to the file that names it, else below the root.
fn script_file(loading: &mut Loading<'_>, index: usize, named: &LocatedText) -> Result<String, String> {
    let entry = loading.entries.get(index).ok_or("there is no such file")?;
    let root = entry.root;
    let places: Vec<PathBuf> = script_places(&entry.path, &named.text).collect();
    if places.is_empty() {
        return Err(format!(
            "`lua_file`: `{}` is outside the folder of this file",
            named.text
        ));
    }
    let mut why = String::new();
    for path in places {
        match loading.text(root, &path, MAX_SCRIPT_BYTES) {
            Ok(text) => {
                if loading.check_script(root, &path, &text) {
                    script_of_tool(loading, root, &path, &text);
                }
                return Ok(text);
            }
            Err(unread) if why.is_empty() => why = unread.to_string(),
            Err(_) => {}
        }
    }
    Err(format!("`lua_file`: `{}`: {why}", named.text))
}

/// Checks the libraries that a script requires.
fn script_of_tool(loading: &mut Loading<'_>, root: usize, path: &Path, text: &str) {
    let Some(root) = loading.roots.get(root) else {
        return;
    };
    let file = root.path.join(path);
    for (offset, message, hint) in libs::of_tool(loading, text) {
        let at = libs::position(text, offset);
        loading.wrong(DefinitionMistake::new(&file, at, message).hint(hint));
    }
}

/// Adds the texts of scripts to the names of their files, and positions to the texts in this file. They come
/// in the order of the file; unknown ones are missing.
fn fill(value: &mut Value, read: &BTreeMap<String, String>, places: &mut VecDeque<(String, Value)>) {
    match value {
        Value::Object(map) => {
            let text = map
                .get("lua_file")
                .and_then(Value::as_str)
                .and_then(|file| read.get(file));
            if let Some(text) = text.cloned() {
                map.insert("lua".into(), Value::String(text));
            } else if let Some(text) = map.get("lua").and_then(Value::as_str)
                && let Some(at) = places.iter().position(|(script, _)| script == text)
                && let Some((_, place)) = places.remove(at)
            {
                map.insert("$place".into(), place);
            }
            map.values_mut().for_each(|value| fill(value, read, places));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| fill(value, read, places)),
        _ => {}
    }
}

/// Puts names instead of paths.
pub(crate) fn rename(value: &mut Value, renamed: &BTreeMap<String, String>) {
    if renamed.is_empty() {
        return;
    }
    match value {
        Value::Object(map) => {
            if let Some(name) = map.get_mut("$ref") {
                rename_text(name, renamed);
            }
            if let Some(Value::Array(rules)) = map.get_mut("rules") {
                rules.iter_mut().for_each(|rule| rename_text(rule, renamed));
            }
            map.values_mut().for_each(|value| rename(value, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| rename(value, renamed)),
        _ => {}
    }
}

fn rename_text(value: &mut Value, renamed: &BTreeMap<String, String>) {
    if let Value::String(name) = value
        && let Some(new) = renamed.get(name)
    {
        new.clone_into(name);
    }
}
