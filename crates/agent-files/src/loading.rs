//! Loads a library: all files are read, then names assigned, then references followed, then definitions made.
//! A file with an error keeps its name, so that the error is shown once and not at each reference to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use agentx_config::yaml::{MAX_BYTES, TextPosition};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cross_checks;
use crate::cycles;
use crate::files::{FileFault, Files, MAX_FILES};
use crate::key_tables::RefKind;
use crate::library::{ByName, FileOrigin, Library, LibraryOptions, LoadedDefinition, Root, Shadow};
use crate::libs;
use crate::mistake::{DefinitionMistake, did_you_mean};
use crate::read::{FileKind, ParsedFile, definition, read};
use crate::resolve;
use crate::scalar::article;
use crate::schema_files;
use crate::source::{FileFormat, FileSource};
use crate::unreadable::{self, UnreadableFile};

pub(crate) const START: TextPosition = TextPosition { line: 1, column: 1 };

/// The folders and what they hold.
const PLACES: &[(&str, FileKind)] = &[
    ("agents", FileKind::Agent),
    ("tools", FileKind::Tool),
    ("rules", FileKind::Rule),
    ("generators", FileKind::Generator),
];

impl FileKind {
    pub(crate) fn of(kind: RefKind) -> Option<Self> {
        match kind {
            RefKind::Agent => Some(Self::Agent),
            RefKind::Tool => Some(Self::Tool),
            RefKind::Rule => Some(Self::Rule),
            RefKind::Generator => Some(Self::Generator),
            RefKind::Context => None,
        }
    }

    pub(crate) fn reference(self) -> RefKind {
        match self {
            Self::Agent => RefKind::Agent,
            Self::Tool => RefKind::Tool,
            Self::Rule => RefKind::Rule,
            Self::Generator => RefKind::Generator,
        }
    }
}

/// A file that was read.
pub(crate) struct LoadedFile {
    pub(crate) kind: FileKind,
    pub(crate) root: usize,
    /// Relative to its root.
    pub(crate) path: PathBuf,
    pub(crate) source: FileSource,
    pub(crate) read: ParsedFile,
    /// References by path, and the names that they lead to.
    pub(crate) renamed: BTreeMap<String, String>,
}

impl LoadedFile {
    /// Returns whether it names another file as its script.
    fn names_script(&self, script: &Self) -> bool {
        let mut named = self.read.findings.script_files.iter();
        let mut is = |path| path == script.path;
        self.root == script.root
            && named.any(|named| resolve::script_places(&self.path, &named.text).any(&mut is))
    }
}

/// Returns whether a file of this name is a definition of a kind.
pub(crate) fn is_definition(name: &str, kind: FileKind) -> bool {
    let form = FileFormat::of(Path::new(name));
    let fits = form.is_some_and(|form| form != FileFormat::Luau || kind == FileKind::Tool);
    fits && !name.starts_with('.') && !name.ends_with(".d.luau")
}

/// A library that is being made.
pub(crate) struct Loading<'a> {
    pub(crate) roots: &'a [Root],
    pub(crate) files: &'a dyn Files,
    pub(crate) options: LibraryOptions<'a>,
    pub(crate) entries: Vec<LoadedFile>,
    /// The entry of each name.
    pub(crate) names: BTreeMap<(RefKind, String), usize>,
    by_path: BTreeMap<(usize, PathBuf), usize>,
    pub(crate) library: Library,
}

impl<'a> Loading<'a> {
    pub(crate) fn new(roots: &'a [Root], files: &'a dyn Files, options: LibraryOptions<'a>) -> Self {
        Self {
            roots,
            files,
            options,
            entries: Vec::new(),
            names: BTreeMap::new(),
            by_path: BTreeMap::new(),
            library: Library::default(),
        }
    }

    pub(crate) fn finish(mut self) -> Library {
        for (index, root) in self.roots.iter().enumerate() {
            for (folder, kind) in PLACES {
                self.folder(index, root, folder, *kind);
            }
        }
        // References by path add more files; those are read in turn.
        let mut open: VecDeque<usize> = (0..self.entries.len()).collect();
        while let Some(index) = open.pop_front() {
            let before = self.entries.len();
            resolve::paths(&mut self, index);
            open.extend(before..self.entries.len());
        }
        libs::read(&mut self);
        libs::check(&mut self);
        for index in 0..self.entries.len() {
            resolve::links(&mut self, index);
            resolve::scripts(&mut self, index);
            schema_files::read(&mut self, index);
            cross_checks::check(&mut self, index);
        }
        cycles::find(&mut self);
        for root in self.roots {
            for (folder, kind) in PLACES {
                self.pass_over(&root.path, Path::new(folder), *kind);
            }
        }
        self.library.passed_over.sort();
        self.definitions()
    }

    fn folder(&mut self, index: usize, root: &Root, folder: &str, kind: FileKind) {
        let shown = root.path.join(folder);
        let mut names = match self.files.list(&root.path, Path::new(folder)) {
            Ok(names) => names,
            Err(fault) => return self.wrong(DefinitionMistake::new(shown, START, fault.to_string())),
        };
        names.retain(|name| is_definition(name, kind));
        names.sort_unstable();
        if names.len() > MAX_FILES {
            let message = format!(
                "the folder has {} files; the first {MAX_FILES} are read",
                names.len()
            );
            self.wrong(DefinitionMistake::new(shown, START, message));
            names.truncate(MAX_FILES);
        }
        for name in names {
            self.file(index, Path::new(folder).join(name), kind);
        }
    }

    pub(crate) fn wrong(&mut self, mistake: DefinitionMistake) {
        self.library.mistakes.push(mistake);
    }

    /// Reads a file, once. An unreadable file is a mistake of the file itself.
    pub(crate) fn file(&mut self, root: usize, path: PathBuf, kind: FileKind) -> Option<usize> {
        if let Some(index) = self.by_path.get(&(root, path.clone())) {
            return Some(*index);
        }
        let shown = self.roots.get(root)?.path.join(&path);
        let form = FileFormat::of(&path)?;
        let text = match self.text(root, &path, MAX_BYTES) {
            Ok(text) => text,
            Err(unread) => {
                self.wrong(DefinitionMistake::new(shown, unread.at, unread.message));
                return None;
            }
        };
        let source = FileSource {
            file: shown,
            form,
            text,
        };
        let read = read(&source, kind);
        let index = self.entries.len();
        self.by_path.insert((root, path.clone()), index);
        self.entries.push(LoadedFile {
            kind,
            root,
            path,
            source,
            read,
            renamed: BTreeMap::new(),
        });
        self.name(index);
        Some(index)
    }

    /// Returns a text below a root.
    pub(crate) fn text(&mut self, root: usize, path: &Path, limit: usize) -> Result<String, UnreadableFile> {
        let root = self.roots.get(root).ok_or(FileFault::Missing)?;
        self.library.read.insert(root.path.join(path));
        unreadable::text(&self.files.read(&root.path, path, limit)?)
    }

    fn is_persons(&self, entry: &LoadedFile) -> bool {
        let root = self.roots.get(entry.root);
        root.is_some_and(|root| root.origin == FileOrigin::User)
    }

    /// Gives an entry its name, or reports that the name is taken.
    fn name(&mut self, index: usize) {
        let Some(entry) = self.entries.get(index) else {
            return;
        };
        let kind = entry.kind.reference();
        let key = (kind, entry.read.name.clone());
        let Some(other) = self.names.get(&key).and_then(|other| self.entries.get(*other)) else {
            self.names.insert(key, index);
            return;
        };
        if other.root != entry.root {
            // A folder cannot take a name of the user's own agents. Its tools can: calls of those are asked
            // about, whatever the rules say.
            let wins = kind != RefKind::Tool && self.is_persons(entry) && !self.is_persons(other);
            let (used, shadowed) = if wins { (entry, other) } else { (other, entry) };
            let shadow = Shadow {
                kind,
                name: key.1.clone(),
                used: used.source.file.clone(),
                shadowed: shadowed.source.file.clone(),
            };
            self.library.shadows.push(shadow);
            if wins {
                self.names.insert(key, index);
            }
            return;
        }
        // A script next to the file that names it is part of that tool, not another one of its name.
        if entry.names_script(other) {
            self.names.insert(key, index);
            return;
        } else if other.names_script(entry) {
            return;
        }
        let message = format!(
            "`{}` is already {} of {}",
            key.1,
            article(kind),
            other.source.file.display()
        );
        let mistake = DefinitionMistake::new(&entry.source.file, START, message);
        self.wrong(mistake);
    }

    /// Returns whether something of this name can be referred to.
    pub(crate) fn knows(&self, kind: RefKind, name: &str) -> bool {
        let given = match kind {
            RefKind::Tool => self.options.tools,
            RefKind::Agent => self.options.agents,
            _ => &[],
        };
        given.contains(&name) || self.names.contains_key(&(kind, name.to_owned()))
    }

    /// Returns the nearest name of a kind.
    pub(crate) fn near(&self, kind: RefKind, name: &str) -> Option<String> {
        let given: &[&str] = match kind {
            RefKind::Tool => self.options.tools,
            RefKind::Agent => self.options.agents,
            _ => &[],
        };
        let named = self
            .names
            .keys()
            .filter(|(of, _)| *of == kind)
            .map(|(_, name)| name.as_str());
        did_you_mean(name, named.chain(given.iter().copied()))
    }

    fn definitions(mut self) -> Library {
        let entries = std::mem::take(&mut self.entries);
        let used: BTreeSet<usize> = self.names.values().copied().collect();
        let mut library = self.library;
        for (index, entry) in entries.into_iter().enumerate() {
            library
                .mistakes
                .extend(entry.read.findings.mistakes.iter().cloned());
            if !used.contains(&index) {
                continue;
            }
            let Some(origin) = self.roots.get(entry.root).map(|root| root.origin) else {
                continue;
            };
            library.take(entry, origin);
        }
        library.mistakes.sort();
        library.mistakes.dedup();
        library
    }
}

impl Library {
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
