//! The files of a folder that a server of its `.mcp.json` runs, as a person trusted them.
//!
//! They are read when the settings are read, and once more whenever the server starts: a pull, an editor or a
//! command may have changed them meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agentx_llm::Secret;
use serde_json::Value;

use crate::digest::digest;
use crate::directory_listing::{Listing, name_of};
use crate::folders::command_files::{CommandWords, PathTarget, of_link, pieces};
use crate::mcp::known_commands::{Disk, OpenedFiles, opened};
use crate::mcp::{McpServerSettings, McpTarget};
use crate::paths::ConfigPaths;

/// The name under which a folder as a whole is accepted.
const WHOLE: &str = ".";
/// Files at the top of a project: a script may load anything from there on.
const PROJECT: [&str; 8] = [
    "package.json",
    "tsconfig.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Gemfile",
];

/// The file with npm's settings.
const NPMRC: &str = ".npmrc";
/// Settings of npm that decide neither where a package comes from nor what runs; keys for a server begin with
/// `//`.
const HARMLESS_OF_NPM: [&str; 12] = [
    "audit",
    "auto-install-peers",
    "engine-strict",
    "fund",
    "legacy-peer-deps",
    "loglevel",
    "package-lock",
    "progress",
    "save-exact",
    "save-prefix",
    "strict-peer-dependencies",
    "update-notifier",
];

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
    /// Checks that the files of the folder which this server runs are still those that a person trusted.
    /// Reads them; a server of the person's own, or at an address, has none.
    ///
    /// # Errors
    /// Returns the change, and how to trust the server again.
    pub fn check_files(&self) -> Result<(), String> {
        let Some(trusted) = &self.files else {
            return Ok(());
        };
        let now = hashes(&files_of(&self.target, &trusted.places, &mut Listings::new())?);
        let has = |files: &[(PathBuf, String)], file| files.contains(file);
        let new = now.iter().find(|file| !has(&trusted.files, file));
        let gone = trusted.files.iter().find(|file| !has(&now, file));
        match new.or(gone) {
            None => Ok(()),
            Some((path, _)) => Err(format!(
                "{}, so its program was not run; `agentx config trust` shows and accepts it, and the next session uses it",
                changed_message(path, &trusted.places)
            )),
        }
    }
}

fn hashes(files: &[(PathBuf, Vec<u8>)]) -> Vec<(PathBuf, String)> {
    let hash = |(path, bytes): &(PathBuf, Vec<u8>)| (path.clone(), digest(bytes));
    files.iter().map(hash).collect()
}

/// Returns the message that a file of a server is not the trusted one.
pub(crate) fn changed_message(path: &Path, places: &ConfigPaths) -> String {
    let what = match directory(path, places) {
        Some(directory) => format!("a file {directory}, any of which it may run,"),
        None => path.display().to_string(),
    };
    format!("{what} is new or has changed since you trusted this folder")
}

/// The directory that is accepted as a whole under this name: `in srv`; `None` for a file.
pub(crate) fn directory(name: &Path, places: &ConfigPaths) -> Option<String> {
    if name == Path::new(WHOLE) {
        return Some("of this folder".to_owned());
    }
    let is_directory = places.workspace_root.join(name).is_dir();
    is_directory.then(|| format!("in {}", name.display()))
}

/// The texts of directories that were read together: many servers may load from the same.
pub(crate) type Listings = BTreeMap<PathBuf, String>;

/// Reads the files of the folder that a server runs: those that its command line, variables and directory
/// name, and the directories that it may load from.
///
/// # Errors
/// Returns why a person cannot trust it.
pub(crate) fn files_of(
    target: &McpTarget,
    places: &ConfigPaths,
    listings: &mut Listings,
) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
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
    let lookup = FileLookup {
        words: CommandWords::in_directory(directory, places),
    };
    lookup.words.stay_in_folder(&texts)?;
    let mut files = lookup.words.files(&texts)?;
    let root = &places.workspace_root;
    let mut loads = BTreeSet::new();
    match opened(command, arguments, variables, &lookup) {
        OpenedFiles::Any => {
            loads.insert(root.clone());
        }
        OpenedFiles::Known { settings, scripts } => {
            lookup.check_npmrc(settings)?;
            files.extend(lookup.settings(settings));
            loads.extend(scripts.iter().flat_map(|script| lookup.projects(script)));
        }
    }
    for directory in loads {
        let name = name_of(&directory, root);
        if files.iter().all(|(path, _)| *path != name) {
            let text = listings.entry(name.clone());
            let text = text.or_insert_with(|| Listing::of(&directory, root).text);
            files.push((name, text.clone().into_bytes()));
        }
    }
    let mut seen = BTreeSet::new();
    files.retain(|(path, _)| seen.insert(path.clone()));
    Ok(files)
}

/// Searches for files from the directory of a command.
struct FileLookup<'a> {
    words: CommandWords<'a>,
}

impl Disk for FileLookup<'_> {
    fn is_script(&self, word: &str) -> bool {
        let path = ConfigPaths::resolve(self.words.directory, word);
        // A program outside of the folder, or one that a link leads to, may be `make`.
        let is_of_folder = matches!(
            self.words.look(&path),
            PathTarget::File(..) | PathTarget::Directory(_)
        );
        is_of_folder && !word.starts_with('-')
    }

    fn interpreter(&self, word: &str) -> Option<String> {
        let path = ConfigPaths::resolve(self.words.directory, word);
        let PathTarget::File(_, bytes) = self.words.look(&path) else {
            return None;
        };
        let first = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let first = String::from_utf8_lossy(first);
        let words: Vec<&str> = first.split_whitespace().collect();
        let (path, program) = match words[..] {
            [path] => (path, path.rsplit('/').next()?),
            [env, program] if env.ends_with("/env") && !program.contains('/') => (env, program),
            _ => return None,
        };
        let is_elsewhere = path.starts_with('/') && !path.starts_with("/proc/") && !self.is_of_folder(path);
        is_elsewhere.then(|| program.to_owned())
    }

    fn has_odd_first_line(&self, word: &str) -> bool {
        let path = ConfigPaths::resolve(self.words.directory, word);
        let has_one =
            matches!(self.words.look(&path), PathTarget::File(_, bytes) if bytes.starts_with(b"#!"));
        has_one && self.interpreter(word).is_none()
    }

    fn is_of_folder(&self, path: &str) -> bool {
        let root = &self.words.places.workspace_root;
        let path = ConfigPaths::resolve(self.words.directory, path);
        let parent = path
            .parent()
            .and_then(|parent| std::fs::canonicalize(parent).ok());
        path.starts_with(root) || parent.is_some_and(|parent| parent.starts_with(root))
    }

    fn has_package(&self, name: &str) -> bool {
        let name = name
            .rfind('@')
            .filter(|at| *at > 0)
            .map_or(name, |at| &name[..at]);
        let program = name.rsplit('/').next().unwrap_or(name);
        self.upwards().iter().any(|folder| {
            let modules = folder.join("node_modules");
            let installed = [modules.join(".bin").join(program), modules.join(name)];
            installed.iter().any(|path| path.symlink_metadata().is_ok())
                || self.brings(&folder.join("package.json"), program)
        })
    }
}

impl FileLookup<'_> {
    /// The directory of the command and those above it, up to the root of the folder.
    fn upwards(&self) -> Vec<PathBuf> {
        let real = std::fs::canonicalize(self.words.directory);
        let directory = real.unwrap_or_else(|_| self.words.directory.to_owned());
        self.of_folder(&directory)
    }

    /// A directory and those above it, up to the root of the folder.
    fn of_folder(&self, directory: &Path) -> Vec<PathBuf> {
        let root = &self.words.places.workspace_root;
        let upwards = directory.ancestors().take_while(|above| above.starts_with(root));
        upwards.map(Path::to_owned).collect()
    }

    /// For each file or directory that a text names, the project around it, and around a link to it: a script
    /// may look for its modules from either.
    fn projects(&self, text: &str) -> Vec<PathBuf> {
        let root = &self.words.places.workspace_root;
        let words = pieces(text);
        let named = words.iter().flat_map(|word| self.words.ways(word));
        let projects = |way: PathBuf| {
            let real = match self.words.look(&way) {
                PathTarget::File(below, _) => root.join(below).parent().map(Path::to_owned),
                PathTarget::Directory(directory) => Some(directory),
                _ => return Vec::new(),
            };
            let of_link = way.parent().filter(|_| way.is_symlink());
            let of_link = of_link.and_then(|parent| std::fs::canonicalize(parent).ok());
            let places = real.into_iter().chain(of_link);
            places.filter_map(|place| self.project(&place)).collect()
        };
        named.flat_map(projects).collect()
    }

    /// The topmost directory with installed modules from this one upwards, otherwise the nearest that looks
    /// like the top of a project, otherwise this one.
    fn project(&self, directory: &Path) -> Option<PathBuf> {
        let upwards = self.of_folder(directory);
        let has_modules = |above: &&PathBuf| above.join("node_modules").symlink_metadata().is_ok();
        let is_top = |above: &&PathBuf| PROJECT.iter().any(|file| above.join(file).exists());
        let installed = upwards.iter().rev().find(has_modules);
        let top = upwards.iter().find(is_top).or(upwards.first());
        match (installed, top) {
            (Some(installed), Some(top)) if top.starts_with(installed) => Some(installed.clone()),
            (_, top) => top.cloned(),
        }
    }

    /// Returns whether a package of the folder brings this program: `npx` prefers it to one that it would
    /// fetch.
    fn brings(&self, package: &Path, program: &str) -> bool {
        let PathTarget::File(_, bytes) = self.words.look(package) else {
            return package.symlink_metadata().is_ok();
        };
        let package: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match &package["bin"] {
            Value::Object(programs) => programs.contains_key(program),
            bin => !bin.is_null() || !package["directories"]["bin"].is_null(),
        }
    }

    /// Checks that npm's settings in the folder say neither where packages come from nor what runs: a person
    /// who knows the package would not see it, because such a file may hold keys and is not shown.
    ///
    /// # Errors
    /// Returns an error that names the file and the setting.
    fn check_npmrc(&self, names: &[&str]) -> Result<(), String> {
        if !names.contains(&NPMRC) {
            return Ok(());
        }
        for file in self.upwards().iter().map(|above| above.join(NPMRC)) {
            let bytes = std::fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let keys = text
                .lines()
                .map(|line| line.split('=').next().unwrap_or(line).trim());
            let is_odd = |key: &&str| {
                let is_said = !key.is_empty() && !key.starts_with([';', '#']);
                is_said && !key.starts_with("//") && !HARMLESS_OF_NPM.contains(key)
            };
            if let Some(key) = keys.clone().find(is_odd) {
                return Err(format!(
                    "`{key}` of {} may decide what is fetched or run; add the server to your own settings, or remove it there",
                    file.display()
                ));
            }
        }
        Ok(())
    }

    /// The files with settings of the program, wherever it looks for them in the folder.
    fn settings(&self, names: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
        let upwards = self.upwards();
        let paths = upwards
            .iter()
            .flat_map(|above| names.iter().map(|name| above.join(name)));
        paths.filter_map(|path| self.file_with_settings(&path)).collect()
    }

    /// A file with settings of the program. If it may hold secrets, only its hash is shown.
    fn file_with_settings(&self, path: &Path) -> Option<(PathBuf, Vec<u8>)> {
        match self.words.look(path) {
            PathTarget::Elsewhere | PathTarget::Directory(_) => None,
            PathTarget::File(path, bytes) => Some((path, bytes)),
            PathTarget::LinkOut(link, target) => Some((link, of_link(&target))),
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
}
