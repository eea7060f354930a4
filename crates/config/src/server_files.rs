//! The files of a folder that a server of its `.mcp.json` runs, as a person trusted them.
//!
//! They are read when the settings are read, and once more whenever the server starts: a pull, an editor or a command
//! may have changed them meanwhile.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::assemble::MAX_TEXT_BYTES;
use crate::command_files::{CommandWords, PathTarget, pieces};
use crate::known_commands::{Disk, OpenedFiles, opened};
use crate::mcp::McpTarget;
use crate::trust::digest;
use crate::{ConfigPaths, McpServerSettings, Secret, whole_folder};

/// Endings of files with code; what a script names with another ending is data.
const CODE: [&str; 12] = [
    "py", "js", "mjs", "cjs", "ts", "mts", "sh", "bash", "rb", "pl", "lua", "json",
];
/// The most files that the scripts of one command line may name.
const MAX_SCRIPTS: usize = 200;
/// The name under which a folder as a whole is accepted.
const WHOLE: &str = ".";
/// The name under which the modules beside a script are accepted, in the script's directory.
const MODULES: &str = "*.py";

/// The files of the folder that a server runs, as they were when the settings were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerFiles {
    places: ConfigPaths,
    /// The path below the root and the hash of each.
    files: Vec<(PathBuf, String)>,
}

impl ServerFiles {
    pub(crate) fn new(places: &ConfigPaths, files: &[(PathBuf, Vec<u8>)]) -> Self {
        Self {
            places: places.clone(),
            files: hashes(files),
        }
    }
}

impl McpServerSettings {
    /// Checks that the files of the folder which this server runs are still those that a person trusted. Reads them;
    /// a server of the person's own, or at an address, has none.
    ///
    /// # Errors
    /// Returns what has changed, and how to trust it again.
    pub fn check_files(&self) -> Result<(), String> {
        let Some(trusted) = &self.files else {
            return Ok(());
        };
        let now = hashes(&files_of(&self.target, &trusted.places)?);
        let has = |files: &[(PathBuf, String)], file| files.contains(file);
        let new = now.iter().find(|file| !has(&trusted.files, file));
        let gone = trusted.files.iter().find(|file| !has(&now, file));
        match new.or(gone) {
            None => Ok(()),
            Some((path, _)) => Err(format!(
                "{}, so its program was not run; `agentx config trust` shows and accepts it, and the next session uses it",
                has_changed(path)
            )),
        }
    }
}

fn hashes(files: &[(PathBuf, Vec<u8>)]) -> Vec<(PathBuf, String)> {
    let hash = |(path, bytes): &(PathBuf, Vec<u8>)| (path.clone(), digest(bytes));
    files.iter().map(hash).collect()
}

/// Says that a file of a server is not the one that was trusted.
pub(crate) fn has_changed(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str());
    let what = match name {
        _ if path == Path::new(WHOLE) => {
            "a file of this folder, any of which its command line may run,".to_owned()
        }
        Some(MODULES) => format!("a module beside its script ({})", path.display()),
        _ => path.display().to_string(),
    };
    format!("{what} is new or has changed since you trusted this folder")
}

/// Reads the files of the folder that a server runs: those that its command line, variables and directory name, and
/// those that these name in turn; or the whole folder, if the line does not show what it runs.
///
/// # Errors
/// Returns why a person cannot trust it.
pub(crate) fn files_of(target: &McpTarget, places: &ConfigPaths) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let McpTarget::Program {
        command,
        arguments,
        directory,
        variables,
    } = target
    else {
        return Ok(Vec::new());
    };
    let mut texts: Vec<&str> = vec![command];
    texts.extend(arguments.iter().map(String::as_str));
    let values = variables.iter().filter_map(|variable| variable.value.as_ref());
    texts.extend(values.map(Secret::expose));
    let elsewhere = (*directory != places.workspace_root).then(|| directory.to_string_lossy());
    texts.extend(elsewhere.as_deref());
    let words = CommandWords::in_directory(directory, places);
    let mut files = words.files(&texts)?;
    let lookup = Lookup { words };
    let is_seen = match opened(command, arguments, variables, &lookup) {
        OpenedFiles::Any => false,
        OpenedFiles::Named(more) => {
            let more = more
                .iter()
                .filter_map(|name| lookup.settings(&directory.join(name)));
            files.extend(more);
            lookup.add_named_in(&mut files)
        }
        OpenedFiles::Modules(script) => {
            let is_seen = lookup.add_named_in(&mut files);
            let script = arguments
                .get(script)
                .map(|script| ConfigPaths::resolve(directory, script));
            files.extend(script.and_then(|script| lookup.modules_beside(&script)));
            is_seen
        }
    };
    if !is_seen {
        let text = whole_folder::text_of(&places.workspace_root);
        files.retain(|(path, _)| path != Path::new(WHOLE));
        files.push((PathBuf::from(WHOLE), text.into_bytes()));
    }
    let scripts = files.iter().filter(|(path, bytes)| is_python(path, bytes));
    let beside: Vec<_> = scripts
        .filter_map(|(path, _)| lookup.modules_beside(&places.workspace_root.join(path)))
        .collect();
    files.extend(beside);
    let mut seen = BTreeSet::new();
    files.retain(|(path, _)| seen.insert(path.clone()));
    Ok(files)
}

/// Looks for files from the directory of a command.
struct Lookup<'a> {
    words: CommandWords<'a>,
}

impl Disk for Lookup<'_> {
    fn is_script(&self, word: &str) -> bool {
        let path = ConfigPaths::resolve(self.words.directory, word);
        // A program outside of the folder, or one that a link leads to, may be `make`.
        let is_of_folder = matches!(
            self.words.look(&path),
            PathTarget::File(..) | PathTarget::Directory(_)
        );
        is_of_folder && !word.starts_with('-')
    }

    fn has_package(&self, name: &str) -> bool {
        let name = name
            .rfind('@')
            .filter(|at| *at > 0)
            .map_or(name, |at| &name[..at]);
        let program = name.rsplit('/').next().unwrap_or(name);
        let root = &self.words.places.workspace_root;
        let mut folders = self
            .words
            .directory
            .ancestors()
            .filter(|folder| folder.starts_with(root));
        folders.any(|folder| {
            let modules = folder.join("node_modules");
            [modules.join(".bin").join(program), modules.join(name)]
                .iter()
                .any(|path| path.symlink_metadata().is_ok())
        })
    }
}

impl Lookup<'_> {
    /// A file with settings of the program. Of one that may hold secrets only a hash is shown.
    fn settings(&self, path: &Path) -> Option<(PathBuf, Vec<u8>)> {
        match self.words.look(path) {
            PathTarget::Elsewhere | PathTarget::Directory(_) => None,
            PathTarget::File(path, bytes) => Some((path, bytes)),
            PathTarget::LinkOut(link, target) => {
                Some((link, format!("a link to {}\n", target.display()).into_bytes()))
            }
            PathTarget::Guarded | PathTarget::TooLarge | PathTarget::Odd => {
                let below = path.strip_prefix(&self.words.places.workspace_root).ok()?;
                let hash = std::fs::read(path)
                    .map(|bytes| digest(&bytes))
                    .unwrap_or_default();
                Some((
                    below.to_owned(),
                    format!("not shown, with the hash {hash}\n").into_bytes(),
                ))
            }
        }
    }

    /// The names of the modules of Python that lie beside a script: one of them may stand in place of a library.
    fn modules_beside(&self, script: &Path) -> Option<(PathBuf, Vec<u8>)> {
        let root = &self.words.places.workspace_root;
        let real = std::fs::canonicalize(script).ok()?;
        let directory = if real.is_dir() {
            real.as_path()
        } else {
            real.parent()?
        };
        let below = directory.strip_prefix(root).ok()?;
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(directory).ok()?.flatten() {
            let path = entry.path();
            let is_module = path
                .extension()
                .is_some_and(|ending| ending == "py" || ending == "so" || ending == "pyc")
                || path.join("__init__.py").exists();
            if is_module {
                names.insert(entry.file_name().to_string_lossy().into_owned() + "\n");
            }
        }
        Some((
            below.join(MODULES),
            names.into_iter().collect::<String>().into_bytes(),
        ))
    }

    /// Adds the files with code that these files name, and those that they name in turn. Returns whether these are all.
    fn add_named_in(&self, files: &mut Vec<(PathBuf, Vec<u8>)>) -> bool {
        let root = &self.words.places.workspace_root;
        let mut known: BTreeSet<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let mut open: VecDeque<usize> = (0..files.len()).collect();
        while let Some(at) = open.pop_front() {
            let (path, bytes) = &files[at];
            let beside = root.join(path).parent().map(Path::to_owned).unwrap_or_default();
            for way in named_in(bytes, &[&beside, self.words.directory]) {
                let found = match self.words.look(&way) {
                    PathTarget::File(path, bytes) if is_code(&path, &bytes) => (path, bytes),
                    PathTarget::TooLarge if is_code(&way, &[]) => return false,
                    _ => continue,
                };
                if known.insert(found.0.clone()) {
                    files.push(found);
                    open.push_back(files.len() - 1);
                }
                if files.len() > MAX_SCRIPTS {
                    return false;
                }
            }
        }
        true
    }
}

fn is_code(path: &Path, bytes: &[u8]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    bytes.starts_with(b"#!") || ending.is_some_and(|ending| CODE.contains(&ending))
}

fn is_python(path: &Path, bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let says_so = first.starts_with(b"#!") && first.windows(6).any(|word| word == b"python");
    says_so || path.extension().is_some_and(|ending| ending == "py")
}

/// The existing paths that the words of a script may mean, from these directories.
fn named_in(bytes: &[u8], directories: &[&Path]) -> BTreeSet<PathBuf> {
    let bytes = &bytes[..bytes
        .len()
        .min(usize::try_from(MAX_TEXT_BYTES).unwrap_or(usize::MAX))];
    let text = String::from_utf8_lossy(bytes);
    let words: BTreeSet<String> = text.split_whitespace().flat_map(pieces).collect();
    let mut found = BTreeSet::new();
    let mut packages = BTreeSet::new();
    for directory in directories {
        let ways = ways_in(directory, &words);
        packages.extend(ways.iter().filter(|way| way.is_dir()).cloned());
        found.extend(ways);
    }
    // `from lib import helper` names `lib/helper.py`.
    for package in packages {
        found.extend(ways_in(&package, &words));
        let starts = [
            "__init__.py",
            "__main__.py",
            "index.js",
            "index.mjs",
            "index.ts",
            "package.json",
        ];
        found.extend(starts.iter().map(|start| package.join(start)));
    }
    found.retain(|way| way.is_file());
    found
}

/// The existing paths that words may mean from a directory.
fn ways_in(directory: &Path, words: &BTreeSet<String>) -> BTreeSet<PathBuf> {
    let beginnings = beginnings_in(directory);
    let names = words.iter().map(|word| word.trim_start_matches('/'));
    let may_be = names.filter(|word| {
        let first = word.split(['/', '.']).next().unwrap_or_default();
        !word.is_empty() && (first.is_empty() || beginnings.contains(first))
    });
    may_be
        .flat_map(|word| crate::command_files::ways(directory, word))
        .collect()
}

/// The names in a directory, up to their first dot.
fn beginnings_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.split('.').next().map(str::to_owned)
    };
    entries.filter_map(name).collect()
}
