//! Paths that a file names: they are relative to its folder, and stay within its root.

use std::path::{Component, Path, PathBuf};

/// Returns a path relative to a folder, within its root; `None` if it leads out of it.
pub(crate) fn path_within_root(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut found = folder.to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => found.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !found.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(found)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Returns the possible paths of a script that a file names.
pub(crate) fn script_places<'a>(file: &'a Path, named: &'a str) -> impl Iterator<Item = PathBuf> {
    [folder_of(file), Path::new("")]
        .into_iter()
        .filter_map(move |folder| path_within_root(folder, named))
}
