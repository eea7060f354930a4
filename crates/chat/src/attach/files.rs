//! The files that may be meant, by the beginning of a path or by a part of a name.

use std::collections::VecDeque;
use std::path::Path;

/// Maximum number of names to check, in a directory or below the workspace.
pub(crate) const LOOKED_AT: usize = 5_000;
/// No more are looked for.
const FOUND: usize = 24;
/// Directories of this kind hold what others wrote, or programs.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

/// The files whose path may be meant; a directory ends with a slash.
pub(crate) fn files(written: &str, workspace: &Path) -> Vec<String> {
    let (directory, name) = written
        .rsplit_once('/')
        .map_or(("", written), |(directory, name)| (directory, name));
    let prefix = &written[..written.len() - name.len()];
    let home = std::env::var("HOME").unwrap_or_default();
    let place = match (directory.strip_prefix('~'), prefix) {
        (Some(rest), _) => Path::new(&home).join(rest.trim_start_matches('/')),
        (None, "/") => Path::new("/").to_owned(),
        (None, _) => workspace.join(directory),
    };
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .take(LOOKED_AT)
        .flatten()
        .filter_map(|entry| {
            let found = entry.file_name().into_string().ok()?;
            let is_hidden = found.starts_with('.') && !name.starts_with('.');
            let slash = if entry.path().is_dir() { "/" } else { "" };
            (found.starts_with(name) && !is_hidden).then(|| format!("{prefix}{found}{slash}"))
        })
        .collect();
    found.sort();
    found
}

/// The files anywhere below whose names have this in them, the nearest first.
pub(crate) fn named_so(name: &str, workspace: &Path) -> Vec<String> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut places = VecDeque::from([String::new()]);
    while let Some(place) = places.pop_front() {
        let Ok(entries) = std::fs::read_dir(workspace.join(&place)) else {
            continue;
        };
        for entry in entries.take(LOOKED_AT - looked_at).flatten() {
            looked_at += 1;
            let (Ok(known), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            if known.starts_with('.') || LEFT_OUT.contains(&known.as_str()) {
                continue;
            }
            if kind.is_dir() {
                places.push_back(format!("{place}{known}/"));
            } else if known.to_lowercase().contains(name) {
                found.push(format!("{place}{known}"));
            }
        }
        if looked_at >= LOOKED_AT || found.len() > FOUND {
            break;
        }
    }
    found.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    found
}
