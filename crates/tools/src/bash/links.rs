//! Where the words of a command line lead. A cloned folder may bring a link under a harmless name, which rules and people judge by that
//! name; so it is looked at before the command runs, as the tools for files do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentx_runtime::{LineNames, ToolContext};

use crate::workspace::where_it_leads;

/// So many entries of a folder are looked at for links that a glob may name.
const MOST_ENTRIES: usize = 100_000;

/// Why this command line may not run: a name in it leads where no rule or person let it go.
pub(super) async fn refused(line: &str, context: &ToolContext) -> Option<String> {
    let (line, context) = (line.to_owned(), context.clone());
    let looked = tokio::task::spawn_blocking(move || look(&line, &context)).await;
    looked.unwrap_or_else(|error| Some(format!("its names could not be looked at: {error}")))
}

fn look(line: &str, context: &ToolContext) -> Option<String> {
    context.journal.caller().config.as_ref()?;
    let names = LineNames::of(line);
    let base = &context.workspace;
    let root = fs::canonicalize(base).unwrap_or_else(|_| base.clone());
    let refused = |word: &str| {
        // What leads in a circle, or cannot be reached, is nothing that a command opens.
        let real = where_it_leads(base, word).ok()?;
        let is_program =
            fs::metadata(&real).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        // The workspace itself may be reached through a link; rules name it as it is written.
        let place = match real.strip_prefix(&root) {
            Ok(inside) => base.join(inside),
            Err(_) => real,
        };
        context.refused_in_line("bash", line, (word, &place), is_program)
    };
    let by_name = names.paths.iter().find_map(|word| refused(word));
    let by_glob = |folder: String| {
        let Some(links) = links_in(&base.join(&folder), Path::new(&folder)) else {
            return Some(format!(
                "{folder} has too many entries to look for links; name the files"
            ));
        };
        let links = links.iter().map(|link| link.to_string_lossy());
        let mut met = links.filter(|link| names.may_name(link, &base.to_string_lossy()));
        refused(&folder).or_else(|| met.find_map(|link| refused(&link)))
    };
    by_name.or_else(|| names.glob_folders().into_iter().find_map(by_glob))
}

/// The links in a folder, as the command line would write them; `None` where it has too many entries.
fn links_in(folder: &Path, written: &Path) -> Option<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Some(Vec::new());
    };
    let mut links = Vec::new();
    for (at, entry) in entries.flatten().enumerate() {
        if at >= MOST_ENTRIES {
            return None;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            links.push(written.join(entry.file_name()));
        }
    }
    Some(links)
}
