//! Loads a library, step by step: all files are read, then names assigned, then references followed, then
//! definitions made. Each step reads and completes one [`Loading`].

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::files::{Files, MAX_FILES};
use crate::keys::file_kind::FileKind;
use crate::library::cross_checks;
use crate::library::cycles;
use crate::library::ignored_files;
use crate::library::libs;
use crate::library::loading::{LoadedFile, Loading};
use crate::library::resolve;
use crate::library::schema_files;
use crate::library::{ByName, FileOrigin, Library, LibraryOptions, LoadedDefinition, Root};
use crate::mistake::{DefinitionMistake, START};
use crate::read::definition;

impl Library {
    /// Reads everything. If two definitions have the same name, the person's own is used; if two tools do,
    /// the one of the earlier root. [`Self::check`] returns the mistakes; valid definitions can be used all
    /// the same.
    pub fn load(roots: &[Root], files: &dyn Files, options: LibraryOptions<'_>) -> Self {
        finish(Loading::new(roots, files, options))
    }

    fn take(&mut self, entry: LoadedFile, origin: FileOrigin) {
        let Some(mut value) = entry.read.value else { return };
        resolve::rename(&mut value, &entry.renamed);
        let (file, name) = (entry.source.file, entry.read.name);
        let mistakes = &mut self.mistakes;
        match entry.kind {
            FileKind::Agent => put(&mut self.agents, name, file, origin, value, mistakes),
            FileKind::Tool => put(&mut self.tools, name, file, origin, value, mistakes),
            FileKind::Rule => put(&mut self.rules, name, file, origin, value, mistakes),
            FileKind::Generator => put(&mut self.generators, name, file, origin, value, mistakes),
        }
    }
}

/// Takes the steps in turn.
fn finish(mut loading: Loading<'_>) -> Library {
    for (index, root) in loading.roots.iter().enumerate() {
        for (folder, kind) in root.layout.places() {
            read_folder(&mut loading, index, root, folder, *kind);
        }
    }
    // References by path add more files; those are read in turn.
    let mut open: VecDeque<usize> = (0..loading.entries.len()).collect();
    while let Some(index) = open.pop_front() {
        let before = loading.entries.len();
        resolve::paths(&mut loading, index);
        open.extend(before..loading.entries.len());
    }
    libs::read(&mut loading);
    libs::check(&mut loading);
    for index in 0..loading.entries.len() {
        resolve::links(&mut loading, index);
        resolve::scripts(&mut loading, index);
        schema_files::read(&mut loading, index);
        resolve::foreign_tools(&mut loading, index);
        cross_checks::check(&mut loading, index);
    }
    cycles::find(&mut loading);
    for root in loading.roots {
        for (folder, kind) in root.layout.places() {
            ignored_files::find(&mut loading, root, Path::new(folder), *kind);
        }
    }
    loading.library.passed_over.sort();
    definitions(loading)
}

fn read_folder(loading: &mut Loading<'_>, index: usize, root: &Root, folder: &str, kind: FileKind) {
    let shown = root.path.join(folder);
    let mut names = match loading.files.list(&root.path, Path::new(folder)) {
        Ok(names) => names,
        Err(fault) => return loading.wrong(DefinitionMistake::new(shown, START, fault.to_string())),
    };
    names.retain(|name| root.layout.is_definition(kind, name));
    names.sort_unstable();
    if names.len() > MAX_FILES {
        let message = format!(
            "the folder has {} files; the first {MAX_FILES} are read",
            names.len()
        );
        loading.wrong(DefinitionMistake::new(shown, START, message));
        names.truncate(MAX_FILES);
    }
    for name in names {
        loading.file(index, Path::new(folder).join(name), kind);
    }
}

fn definitions(mut loading: Loading<'_>) -> Library {
    let entries = std::mem::take(&mut loading.entries);
    let used: BTreeSet<usize> = loading.names.values().copied().collect();
    let mut library = loading.library;
    for (index, entry) in entries.into_iter().enumerate() {
        library
            .mistakes
            .extend(entry.read.findings.mistakes.iter().cloned());
        if !used.contains(&index) {
            continue;
        }
        library
            .remarks
            .extend(entry.read.findings.remarks.iter().cloned());
        let Some(origin) = loading.roots.get(entry.root).map(|root| root.origin) else {
            continue;
        };
        library.take(entry, origin);
    }
    library.mistakes.sort();
    library.mistakes.dedup();
    library.remarks.sort();
    library
}

fn put<T: DeserializeOwned>(
    named: &mut ByName<T>,
    name: String,
    file: PathBuf,
    origin: FileOrigin,
    value: Value,
    mistakes: &mut Vec<DefinitionMistake>,
) {
    match definition(&file, value) {
        Ok(definition) => {
            let loaded = LoadedDefinition {
                definition,
                file,
                origin,
            };
            named.insert(name, loaded);
        }
        Err(mistake) => mistakes.push(mistake),
    }
}
