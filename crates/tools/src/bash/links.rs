//! Checks the targets of the paths in a command line. A cloned folder may contain a link with a harmless
//! name, and rules and people judge by that name; so links are checked before the command runs, as the tools
//! for files do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentx_runtime::{FolderWalk, LineNames, ToolContext};

use crate::workspace::resolve_path;

/// Maximum number of entries to check for links that one glob may name or that a program may find.
const MOST_ENTRIES: usize = 100_000;

/// A command line that a tool is about to run.
pub(super) struct LineToRun<'a> {
    /// The name of the tool.
    pub(super) tool: &'static str,
    pub(super) line: &'a str,
    /// The directory that it starts in, inside the workspace.
    pub(super) directory: &'a Path,
}

/// Returns why a command line may not run: a name in it leads to a place that no rule or person allowed.
pub(super) async fn refusal(run: LineToRun<'_>, context: &ToolContext) -> Option<String> {
    let (tool, line, base) = (run.tool, run.line.to_owned(), run.directory.to_owned());
    let context = context.clone();
    let looked = tokio::task::spawn_blocking(move || {
        context.journal.caller().config.as_ref()?;
        refused_from(&line, &base, &context.workspace, &|word, real, may_leave| {
            context.refused_in_line(tool, &line, word, real, may_leave)
        })
    });
    looked
        .await
        .unwrap_or_else(|error| Some(format!("its names could not be looked at: {error}")))
}

/// Returns why a command line may not run in this directory. `judge` gets each name in it with its target,
/// and whether the target may be outside of the directory.
pub fn refused_link(
    line: &str,
    base: &Path,
    judge: &dyn Fn(&str, &Path, bool) -> Option<String>,
) -> Option<String> {
    refused_from(line, base, base, judge)
}

/// As [`refused_link`], for a line that starts in `base`, a directory of this workspace.
fn refused_from(
    line: &str,
    base: &Path,
    workspace: &Path,
    judge: &dyn Fn(&str, &Path, bool) -> Option<String>,
) -> Option<String> {
    let names = LineNames::of(line);
    let root = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    let refused_if = |word: &str, may_leave: &dyn Fn(&fs::Metadata) -> bool| {
        // A path that leads in a circle or cannot be reached cannot be opened by a command either.
        let real = resolve_path(base, word).ok()?;
        let may_leave = fs::metadata(&real).is_ok_and(|found| may_leave(&found));
        // The workspace may be reached through a link; rules name it by its given path.
        let place = match real.strip_prefix(&root) {
            Ok(inside) => workspace.join(inside),
            Err(_) => real,
        };
        judge(word, &place, may_leave)
    };
    let is_program = |found: &fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    let refused = |word: &str| refused_if(word, &is_program);
    let by_name = names.paths.iter().find_map(|word| refused(word));
    let by_glob = |(folder, levels): (String, usize)| {
        let Some(found) = links_below(base, Path::new(&folder), levels) else {
            return Some(format!(
                "{folder} has too many entries to look for links; name the files"
            ));
        };
        let found = found.iter().map(|path| path.to_string_lossy());
        let mut met = found.filter(|path| names.may_name(path, &base.to_string_lossy()));
        refused(&folder).or_else(|| met.find_map(|path| refused(&path)))
    };
    by_name
        .or_else(|| names.glob_folders().into_iter().find_map(by_glob))
        .or_else(|| {
            let walk = names.walk?;
            // A link to an ordinary file outside is harmless; a folder outside may hold secrets.
            let may_leave = |found: &fs::Metadata| !(walk.follows && found.is_dir());
            let from = WalkStart { base, root: &root };
            walk_refusal(walk, &names.paths, from, &|link| refused_if(link, &may_leave))
        })
}

/// The directory that a program starts in, and the real path of its workspace.
#[derive(Clone, Copy)]
struct WalkStart<'a> {
    base: &'a Path,
    root: &'a Path,
}

/// Returns why a program that walks the folders among `named` may not run: it would meet a refused link.
fn walk_refusal(
    walk: FolderWalk,
    named: &[String],
    from: WalkStart<'_>,
    refused: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let WalkStart { base, root } = from;
    let mut open: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
    open.retain(|folder| base.join(folder).is_dir());
    let names_none = open.is_empty();
    // Links elsewhere are the person's own.
    open.retain(|folder| fs::canonicalize(base.join(folder)).is_ok_and(|real| real.starts_with(root)));
    if names_none && walk.follows {
        open.push(PathBuf::from("."));
    }
    let (mut seen, mut looked_at) = (BTreeSet::new(), 0);
    while let Some(folder) = open.pop() {
        let is_new = fs::canonicalize(base.join(&folder)).is_ok_and(|real| seen.insert(real));
        let Some(entries) = fs::read_dir(base.join(&folder)).ok().filter(|_| is_new) else {
            continue;
        };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                let why =
                    "there are too many files below the folders that it names to look for links; name fewer";
                return walk.follows.then(|| why.to_owned());
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = folder.join(entry.file_name());
            if kind.is_symlink() {
                let why = refused(&path.to_string_lossy());
                if why.is_some() {
                    return why;
                }
            }
            if walk.deep && (kind.is_dir() || (walk.follows && base.join(&path).is_dir())) {
                open.push(path);
            }
        }
    }
    None
}

/// Returns the links up to `levels` below a folder and the entries behind links to folders, as the command
/// line would write them; `None` if there are too many entries.
fn links_below(base: &Path, folder: &Path, levels: usize) -> Option<Vec<PathBuf>> {
    let (mut links, mut looked_at) = (Vec::new(), 0);
    let mut open = vec![(folder.to_owned(), levels, false)];
    while let Some((folder, levels, behind_link)) = open.pop() {
        let Ok(entries) = fs::read_dir(base.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = folder.join(entry.file_name());
            let behind_link = behind_link || kind.is_symlink();
            if levels > 1 && (kind.is_dir() || (kind.is_symlink() && base.join(&path).is_dir())) {
                open.push((path.clone(), levels - 1, behind_link));
            }
            if behind_link {
                links.push(path);
            }
        }
    }
    Some(links)
}
