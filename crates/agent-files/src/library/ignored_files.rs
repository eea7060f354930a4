//! Files that look like a definition but are not read as one: files in folders below `agents/` or `tools/`
//! that are not searched and that nothing refers to; files with an ending similar to one that is read;
//! folders that are named like files. They are not errors, because people may keep any files there, but a
//! file may be there by mistake.

use std::path::Path;

use crate::keys::file_kind::FileKind;
use crate::library::loading::Loading;
use crate::library::{IgnoredFile, Root, RootLayout};

/// The largest depth below a folder.
const DEEPEST: usize = 4;
/// The largest number of reported files.
const MOST: usize = 100;

/// Collects such files below a folder of a root, after all references were followed.
pub(crate) fn find(loading: &mut Loading<'_>, root: &Root, folder: &Path, kind: FileKind) {
    let (root, layout) = (root.path.as_path(), root.layout);
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        // An unreadable file is reported at the reference to it.
        if depth < DEEPEST {
            let folders = loading.files.folders(root, &folder).unwrap_or_default();
            for name in folders.iter().filter(|name| !name.starts_with('.')) {
                if depth == 0 && layout.format(Path::new(name)).is_some() {
                    pass(loading, root, &folder.join(name), "it is a folder");
                }
                open.push((folder.join(name), depth + 1));
            }
        }
        for name in loading.files.list(root, &folder).unwrap_or_default() {
            let is_definition = layout.is_definition(kind, &name);
            if is_definition && depth > 0 {
                let why = "it is in a subfolder, and nothing refers to it";
                pass(loading, root, &folder.join(&name), why);
            } else if !is_definition
                && layout == RootLayout::AgentX
                && let Some(ending) = meant(&name, kind)
            {
                let why = format!("its name must end with `.{ending}`");
                pass(loading, root, &folder.join(&name), &why);
            }
        }
    }
}

fn pass(loading: &mut Loading<'_>, root: &Path, file: &Path, why: &str) {
    let (path, library) = (root.join(file), &mut loading.library);
    if library.passed_over.len() < MOST && !library.read.contains(&path) {
        let why = why.to_owned();
        library.passed_over.push(IgnoredFile { path, why });
    }
}

/// Returns the ending that was likely meant by an unknown one.
fn meant(name: &str, kind: FileKind) -> Option<String> {
    if name.starts_with('.') {
        return None;
    }
    let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "lua" | "luau" if kind == FileKind::Tool && !name.ends_with(".d.luau") => Some("luau".into()),
        "yaml" | "yml" | "json" => Some(ending),
        _ => None,
    }
}
