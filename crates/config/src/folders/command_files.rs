//! Trust in a command line includes the files that it runs.
//!
//! AgentX looks in the folder for each word of the line, and for each part of a word that a shell or an
//! interpreter would see. The files that it finds are read and become part of the trusted content. The search
//! errs on the strict side: a word that only happens to be the name of a file counts too.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use agentx_agent::closed_files::guarded;
use agentx_types::Guard;

use crate::digest::digest;
use crate::directory_listing::{self, Listing};
use crate::folders::secret_guard;
use crate::paths::ConfigPaths;
use crate::text_file::MAX_TEXT_BYTES;

/// Maximum number of words of one command line to look for.
const MAX_WORDS: usize = 2_000;
/// Endings that interpreters add to the name of a module.
const ENDINGS: [&str; 9] = ["", ".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".lua"];

/// The target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    /// Nothing, or something outside the folder, which is not the folder's to change.
    Elsewhere,
    /// A file of the folder: its path below the root, and its bytes.
    File(PathBuf, Vec<u8>),
    /// A directory of the folder.
    Directory(PathBuf),
    /// A link of the folder (its path below the root) to a place outside it.
    LinkOut(PathBuf, PathBuf),
    /// A file that may hold secrets.
    Guarded,
    /// A file that is too large to be read.
    TooLarge,
    /// Neither a file nor a directory.
    Odd,
}

/// The words of a command line of the folder, and where they lead.
pub(crate) struct CommandWords<'a> {
    /// The directory that the command starts in.
    pub(crate) directory: &'a Path,
    pub(crate) places: &'a ConfigPaths,
    guard: Guard,
}

impl<'a> CommandWords<'a> {
    pub(crate) fn in_directory(directory: &'a Path, places: &'a ConfigPaths) -> Self {
        Self {
            directory,
            places,
            guard: secret_guard::secrets(),
        }
    }

    /// Reads the files and directories of the folder that these texts name: the words of a command line, and
    /// the values of its variables. A directory counts with all files in it.
    ///
    /// # Errors
    /// Returns why a person cannot trust this command line.
    pub(crate) fn files(&self, texts: &[&str]) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let mut found: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        let mut add = |path: PathBuf, bytes: Vec<u8>| {
            if found.iter().all(|(known, _)| *known != path) {
                found.push((path, bytes));
            }
        };
        let words: BTreeSet<String> = texts.iter().flat_map(|text| pieces(text)).collect();
        if words.len() > MAX_WORDS {
            return Err(format!("its command line has more than {MAX_WORDS} words"));
        }
        // The order of the command line is the order in which its files are shown.
        let mut seen = BTreeSet::new();
        let ordered = texts.iter().flat_map(|text| pieces(text));
        for word in ordered.filter(|word| seen.insert(word.clone())) {
            for path in self.ways(&word) {
                match self.look(&path) {
                    PathTarget::Elsewhere => {}
                    PathTarget::File(path, bytes) => add(path, bytes),
                    PathTarget::Directory(path) => self.add_all_below(&path, &mut add),
                    PathTarget::LinkOut(link, target) => {
                        add(link, of_link(&target));
                    }
                    PathTarget::Guarded => {
                        return Err(format!("{word} may hold secrets, so it is not shown"));
                    }
                    PathTarget::Odd => return Err(format!("{word} is not a plain file")),
                    PathTarget::TooLarge => {
                        return Err(format!(
                            "{word} has more than {MAX_TEXT_BYTES} bytes, so that AgentX would not notice a change of it"
                        ));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Checks that no relative path leads out of the folder: AgentX would not notice a change there.
    ///
    /// # Errors
    /// Returns an error that names such a path.
    pub(crate) fn stay_in_folder(&self, texts: &[&str]) -> Result<(), String> {
        let root = &self.places.workspace_root;
        let directory = std::fs::canonicalize(self.directory);
        if directory.is_ok_and(|directory| root.starts_with(&directory) && *root != directory) {
            return Err("its directory is above this folder, where AgentX does not notice changes".into());
        }
        let leads_out = |word: &String| {
            let path = Path::new(word);
            let is_upwards = path.is_relative() && path.components().any(|part| part == Component::ParentDir);
            let real = is_upwards.then(|| std::fs::canonicalize(self.directory.join(path)).ok());
            real.flatten().is_some_and(|real| !real.starts_with(root))
        };
        let out = texts.iter().flat_map(|text| pieces(text)).find(leads_out);
        out.map_or(Ok(()), |word| {
            Err(format!(
                "{word} leads out of this folder, where AgentX does not notice changes; if it is yours, write the whole path"
            ))
        })
    }

    /// The first file of the folder that a text names, below the root. Directories do not count.
    pub(crate) fn named_file(&self, text: &str) -> Option<PathBuf> {
        let words = pieces(text);
        let mut ways = words.iter().flat_map(|word| self.ways(word));
        ways.find_map(|way| match self.look(&way) {
            PathTarget::File(below, _) | PathTarget::LinkOut(below, _) => Some(below),
            PathTarget::TooLarge | PathTarget::Odd | PathTarget::Guarded => {
                way.file_name().map(PathBuf::from)
            }
            PathTarget::Elsewhere | PathTarget::Directory(_) => None,
        })
    }

    /// The paths that a word may mean from the directory of the command.
    pub(crate) fn ways(&self, word: &str) -> Vec<PathBuf> {
        ways(self.directory, word)
    }

    /// Finds the target of a path.
    pub(crate) fn look(&self, path: &Path) -> PathTarget {
        let root = &self.places.workspace_root;
        let Ok(real) = std::fs::canonicalize(path) else {
            return PathTarget::Elsewhere;
        };
        if guarded(&self.guard, &real.to_string_lossy(), &root.to_string_lossy()).is_some() {
            let is_of_folder = real.starts_with(root) || self.link_of_the_folder(path).is_some();
            return if is_of_folder {
                PathTarget::Guarded
            } else {
                PathTarget::Elsewhere
            };
        }
        let Ok(below) = real.strip_prefix(root) else {
            return match self.link_of_the_folder(path) {
                Some(link) => PathTarget::LinkOut(link, real),
                None => PathTarget::Elsewhere,
            };
        };
        match std::fs::metadata(&real) {
            Ok(found) if found.is_dir() => PathTarget::Directory(real),
            Ok(found) if found.is_file() && found.len() > MAX_TEXT_BYTES => PathTarget::TooLarge,
            Ok(found) if found.is_file() => match std::fs::read(&real) {
                Ok(bytes) => PathTarget::File(below.to_owned(), bytes),
                Err(_) => PathTarget::Odd,
            },
            _ => PathTarget::Odd,
        }
    }

    /// Returns the first link below the root, in the parents of a path, that leads out of the folder.
    fn link_of_the_folder(&self, path: &Path) -> Option<PathBuf> {
        let root = &self.places.workspace_root;
        let mut ways: Vec<&Path> = path.ancestors().collect();
        ways.reverse();
        ways.into_iter().filter(|way| way.is_symlink()).find_map(|link| {
            let place = std::fs::canonicalize(link.parent()?)
                .ok()?
                .join(link.file_name()?);
            let below = place.strip_prefix(root).ok()?;
            let leaves = std::fs::canonicalize(link).is_ok_and(|real| !real.starts_with(root));
            leaves.then(|| below.to_owned())
        })
    }

    fn add_all_below(&self, directory: &Path, add: &mut dyn FnMut(PathBuf, Vec<u8>)) {
        let root = &self.places.workspace_root;
        let listing = Listing::of(directory, root);
        for (path, bytes) in listing.files {
            let is_shown = guarded(
                &self.guard,
                &root.join(&path).to_string_lossy(),
                &root.to_string_lossy(),
            );
            if is_shown.is_none() {
                add(path, bytes);
            }
        }
        add(
            directory_listing::name_of(directory, root),
            listing.text.into_bytes(),
        );
    }
}

/// Returns the form in which a link out of the folder counts: its target, and the hash of the file there.
pub(crate) fn of_link(target: &Path) -> Vec<u8> {
    let size = std::fs::metadata(target).map(|found| found.is_file().then_some(found.len()));
    let is_small = matches!(size, Ok(Some(size)) if size <= MAX_TEXT_BYTES);
    let bytes = is_small.then(|| std::fs::read(target).ok()).flatten();
    let hash = bytes.map(|bytes| format!(" with the hash {}", digest(&bytes)));
    format!("a link to {}{}\n", target.display(), hash.unwrap_or_default()).into_bytes()
}

/// The existing paths that a word may mean: itself, and a module of that name.
pub(crate) fn ways(directory: &Path, word: &str) -> Vec<PathBuf> {
    let path = |word: &str| ConfigPaths::resolve(directory, word);
    let mut ways: Vec<PathBuf> = ENDINGS
        .iter()
        .map(|ending| path(&format!("{word}{ending}")))
        .collect();
    if word.contains('.') && !word.contains('/') {
        let module = word.replace('.', "/");
        ways.extend(
            ["", ".py"]
                .iter()
                .map(|ending| path(&format!("{module}{ending}"))),
        );
    }
    // A program outside the folder is the person's own, even if a module beside it has the same name.
    ways.retain(|way| way.symlink_metadata().is_ok());
    ways
}

/// The first part of a command line that means something only from this directory: a relative path, as it is
/// written, or the name of a module. `.` alone is left out: it means the directory of each session.
///
/// ```
/// let here = tempfile::tempdir()?;
/// std::fs::create_dir(here.path().join("server"))?;
/// let named = |words: &[&str]| agentx_config::path_of_directory(words, here.path());
/// assert_eq!(named(&["--directory=./server", "run"]).as_deref(), Some("./server"));
/// assert_eq!(named(&["--repository", ".", "server"]), None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn path_of_directory(words: &[&str], directory: &Path) -> Option<String> {
    let relative = || words.iter().filter(|word| Path::new(word).is_relative());
    let path = relative().find_map(|word| path_in(word, directory).filter(|path| path != "."));
    let is_module = |word: &&&str| ways(directory, word).iter().any(|way| way.is_file());
    path.or_else(|| relative().find(is_module).map(|word| (*word).to_owned()))
}

/// The part of a text that is written like a relative path (with a slash or an ending, or `.` and `..`) and
/// leads to something from this directory; `.` if that is the directory itself.
pub(crate) fn path_in(text: &str, directory: &Path) -> Option<String> {
    let is_path = |piece: &String| {
        let path = Path::new(piece);
        let is_written_so = piece.contains('/')
            || path.extension().is_some()
            || path
                .components()
                .any(|part| matches!(part, Component::CurDir | Component::ParentDir));
        is_written_so && path.is_relative() && directory.join(path).symlink_metadata().is_ok()
    };
    let is_here = |piece: &String| {
        Path::new(piece)
            .components()
            .all(|part| part == Component::CurDir)
    };
    let (here, elsewhere): (Vec<_>, Vec<_>) = pieces(text).into_iter().filter(is_path).partition(is_here);
    let dot = || here.first().map(|_| ".".to_owned());
    elsewhere.into_iter().next().or_else(dot)
}

/// A text and the parts of it that a shell or a program may take as names of files, in order.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let is_separator = |c: char| c.is_whitespace() || "'\"`;|&()<>=:,{}[]$!#+".contains(c);
    let mut pieces = vec![text];
    pieces.extend(text.split(is_separator));
    let glued = pieces
        .clone()
        .into_iter()
        .filter_map(|piece| match piece.as_bytes() {
            [b'-', flag, _, ..] if *flag != b'-' && piece.is_char_boundary(2) => Some(&piece[2..]),
            [b'@', _, ..] => Some(&piece[1..]),
            _ => None,
        });
    let glued: Vec<&str> = glued.collect();
    let addresses = text
        .split(is_separator)
        .filter_map(|piece| piece.strip_prefix("//"))
        .collect::<Vec<_>>();
    let all = pieces.into_iter().chain(glued).chain(addresses);
    let mut seen = BTreeSet::new();
    all.filter(|piece| !piece.is_empty() && !piece.contains('\0'))
        .filter(|piece| seen.insert(*piece))
        .map(str::to_owned)
        .collect()
}
