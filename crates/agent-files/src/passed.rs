//! Files that look like definitions and are none: they stand in a folder below `agents/` or `tools/`, where nothing looks, and nothing
//! refers to them. That is no mistake, for people keep what they like; but whoever put one there by mistake wants to know.

use std::path::{Path, PathBuf};

use crate::loading::{Loading, is_definition};
use crate::read::FileKind;

/// How deep below a folder is looked.
const DEEPEST: usize = 4;
/// How many are named.
const MOST: usize = 100;

impl Loading<'_> {
    /// Those below a folder of a root, when everything that is referred to was read.
    pub(crate) fn pass_over(&mut self, root: &Path, folder: &Path, kind: FileKind) {
        let mut open = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = open.pop() {
            // What cannot be read is said where it is referred to.
            if depth < DEEPEST {
                let folders = self.files.folders(root, &folder).unwrap_or_default();
                let seen = folders.iter().filter(|name| !name.starts_with('.'));
                open.extend(seen.map(|name| (folder.join(name), depth + 1)));
            }
            if depth > 0 {
                self.pass_over_in(root, &folder, kind);
            }
        }
    }

    fn pass_over_in(&mut self, root: &Path, folder: &Path, kind: FileKind) {
        for name in self.files.list(root, folder).unwrap_or_default() {
            let path: PathBuf = root.join(folder).join(&name);
            let library = &mut self.library;
            let room = library.passed_over.len() < MOST;
            if room && is_definition(&name, kind) && !library.read.contains(&path) {
                library.passed_over.push(path);
            }
        }
    }
}
