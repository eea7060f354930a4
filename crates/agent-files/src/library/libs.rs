//! Scripts that others `require`: those below `libs/` of each root. Reports required scripts that are
//! missing.

use std::path::{Path, PathBuf};

use agentx_config::yaml::TextPosition;

use crate::keys::tables::MAX_SCRIPT_BYTES;
use crate::library::FileOrigin;
use crate::library::loading::Loading;
use crate::library::outline::Outline;
use crate::mistake::{DefinitionMistake, START, did_you_mean};

/// The folder, below a root.
const FOLDER: &str = "libs";
/// The largest depth below the folder.
const DEEPEST: usize = 4;
/// The largest number of libraries.
const MOST: usize = 256;

/// Reads the libraries of all roots. One that does not compile is reported, and kept so that scripts that
/// require it get the error.
pub(crate) fn read(loading: &mut Loading<'_>) {
    for index in loading.own_roots() {
        let mut open = vec![(PathBuf::from(FOLDER), 0)];
        while let Some((folder, depth)) = open.pop() {
            read_folder(loading, index, &folder);
            let Some(root) = loading.roots.get(index).filter(|_| depth < DEEPEST) else {
                continue;
            };
            let mut folders = loading.files.folders(&root.path, &folder).unwrap_or_default();
            folders.retain(|name| !name.starts_with('.'));
            open.extend(folders.iter().map(|name| (folder.join(name), depth + 1)));
        }
    }
}

fn read_folder(loading: &mut Loading<'_>, index: usize, folder: &Path) {
    let Some(root) = loading.roots.get(index) else {
        return;
    };
    let (shown, origin) = (root.path.join(folder), root.origin);
    let mut names = match loading.files.list(&root.path, folder) {
        Ok(names) => names,
        Err(fault) => return loading.wrong(DefinitionMistake::new(shown, START, fault.to_string())),
    };
    names.retain(|name| name.ends_with(".luau") && !name.ends_with(".d.luau") && !name.starts_with('.'));
    names.sort_unstable();
    for name in names {
        let path = folder.join(&name);
        let Some(key) = path
            .strip_prefix(FOLDER)
            .ok()
            .and_then(Path::to_str)
            .map(str::to_owned)
        else {
            continue;
        };
        let library = &loading.library;
        let (is_hidden, read) = match origin {
            FileOrigin::User => (library.scripts.contains_key(&key), library.own_scripts.len()),
            FileOrigin::Workspace => (false, library.scripts.len()),
        };
        if read == MOST {
            let message = format!("more than {MOST} libraries: this one and others are ignored");
            return loading.wrong(DefinitionMistake::new(shown.join(name), START, message));
        }
        match loading.text(index, &path, MAX_SCRIPT_BYTES) {
            Ok(text) => {
                loading.check_script(index, &path, &text);
                if origin == FileOrigin::User {
                    loading.library.own_scripts.insert(key.clone(), text.clone());
                }
                if !is_hidden {
                    loading.library.scripts.insert(key, text);
                }
            }
            Err(unread) => loading.wrong(DefinitionMistake::new(
                shown.join(name),
                unread.at,
                unread.message,
            )),
        }
    }
}

/// Checks the libraries that libraries require.
pub(crate) fn check(loading: &mut Loading<'_>) {
    let mut mistakes = Vec::new();
    for (key, text) in &loading.library.scripts {
        let path = Path::new(FOLDER).join(key);
        let mut roots = loading.roots.iter().map(|root| root.path.join(&path));
        let Some(file) = roots.find(|file| loading.library.read.contains(file)) else {
            continue;
        };
        for (offset, message, hint) in missing(loading, &Outline::of(text)) {
            mistakes.push(DefinitionMistake::new(&file, position(text, offset), message).hint(hint));
        }
    }
    loading.library.mistakes.extend(mistakes);
}

/// Returns the missing libraries of a tool's script, and whether it lacks an entry point: byte offset, error,
/// hint.
pub(crate) fn of_tool(loading: &Loading<'_>, text: &str) -> Vec<(usize, String, Option<String>)> {
    let outline = Outline::of(text);
    let mut wrong = missing(loading, &outline);
    if !outline.begins {
        let names = outline.functions.iter().map(|(_, name)| *name);
        let near = agentx_config::nearest("invoke", names, 1);
        let misspelt = outline
            .functions
            .iter()
            .find(|(_, name)| near.iter().any(|near| near == name));
        let (at, message) = match misspelt {
            Some((at, name)) => (
                *at,
                format!("`{name}` is never called: a tool is `function invoke(ctx, args)`"),
            ),
            None => (
                0,
                "this script has no entry point: write `function invoke(ctx, args)`".to_owned(),
            ),
        };
        wrong.push((at, message, None));
    }
    wrong
}

fn missing(loading: &Loading<'_>, outline: &Outline<'_>) -> Vec<(usize, String, Option<String>)> {
    let scripts = &loading.library.scripts;
    let is_there = |name: &str| {
        scripts.contains_key(&format!("{name}.luau")) || scripts.contains_key(&format!("{name}/init.luau"))
    };
    let names = || {
        let names = scripts.keys().filter_map(|key| key.strip_suffix(".luau"));
        names.map(|name| name.strip_suffix("/init").unwrap_or(name))
    };
    let required = outline.required.iter().filter(|(_, name)| !is_there(name));
    required
        .map(|(at, name)| {
            let leaves = name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..");
            let message = if leaves {
                format!("`require`: {name:?} is outside `{FOLDER}/`")
            } else {
                format!("`require`: there is no `{FOLDER}/{name}.luau`")
            };
            (*at, message, did_you_mean(name, names()))
        })
        .collect()
}

/// Returns the position of a byte of a text.
pub(crate) fn position(text: &str, offset: usize) -> TextPosition {
    let before = text.get(..offset).unwrap_or(text);
    TextPosition {
        line: before.matches('\n').count() as u64 + 1,
        column: before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1,
    }
}
