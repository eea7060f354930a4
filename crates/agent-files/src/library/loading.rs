//! A library while it is loaded: the files that were read so far, their names, and the mistakes. A file with
//! an error keeps its name, so that the error is shown once and not at each reference to it. Each step of the
//! loading reads this, and adds its findings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentx_config::yaml::{MAX_BYTES, TextPosition};

use crate::files::{FileFault, Files};
use crate::keys::file_kind::FileKind;
use crate::keys::key_tables::{RefKind, article};
use crate::library::named_paths::script_places;
use crate::library::unreadable::{self, UnreadableFile};
use crate::library::{FileOrigin, Library, LibraryOptions, Root, RootLayout, Shadow};
use crate::mistake::{DefinitionMistake, START, did_you_mean};
use crate::read::{ParsedFile, read};
use crate::source::FileSource;

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
        self.root == script.root && named.any(|named| script_places(&self.path, &named.text).any(&mut is))
    }
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

    pub(crate) fn wrong(&mut self, mistake: DefinitionMistake) {
        self.library.mistakes.push(mistake);
    }

    /// Records a mistake of an entry.
    pub(crate) fn wrong_at(&mut self, index: usize, at: TextPosition, message: String, hint: Option<String>) {
        if let Some(entry) = self.entries.get_mut(index) {
            let mistake = DefinitionMistake::new(&entry.source.file, at, message).hint(hint);
            entry.read.findings.mistakes.push(mistake);
        }
    }

    /// The places of the roots with AgentX's own files, which also hold libraries and contexts.
    pub(crate) fn own_roots(&self) -> Vec<usize> {
        let roots = self.roots.iter().enumerate();
        let own = roots.filter(|(_, root)| root.layout == RootLayout::AgentX);
        own.map(|(index, _)| index).collect()
    }

    /// Reads a file, once. An unreadable file is a mistake of the file itself.
    pub(crate) fn file(&mut self, root: usize, path: PathBuf, kind: FileKind) -> Option<usize> {
        if let Some(index) = self.by_path.get(&(root, path.clone())) {
            return Some(*index);
        }
        let of = self.roots.get(root)?;
        let (shown, form) = (of.path.join(&path), of.layout.format(&path)?);
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

    /// Returns whether a file is a script; if not, records a mistake.
    pub(crate) fn check_script(&mut self, root: usize, path: &Path, text: &str) -> bool {
        let name = path.display().to_string();
        let Some(mistake) = self
            .options
            .scripts
            .and_then(|check| check.check(&name, text).err())
        else {
            return true;
        };
        let Some(root) = self.roots.get(root) else {
            return false;
        };
        let at = TextPosition {
            line: mistake.line,
            column: mistake.column,
        };
        let mistake = DefinitionMistake::new(root.path.join(path), at, mistake.message);
        self.wrong(mistake);
        false
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
    pub(crate) fn nearest_name(&self, kind: RefKind, name: &str) -> Option<String> {
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
}
