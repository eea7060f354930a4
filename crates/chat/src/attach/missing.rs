//! A word with `@` that names no file: whether a file was meant, which only a note says, because `@name` is
//! also how people, decorators and packages are named.

use std::path::Path;

use agentx::config::nearest;

use super::files::{files, named_so};
use super::place_of;
use crate::render::clean::visible;

/// Maximum length of the ending of a file name.
const LONGEST_ENDING: usize = 4;

/// Returns a note about a name that no file has, or `None` if the person cannot have meant a file.
pub(super) fn note(name: &str, workspace: &Path) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let shown = visible(name);
    if place_of(name, workspace).is_dir() {
        return Some(format!(
            "{shown} is a directory, and only files can be attached to a message"
        ));
    }
    if is_special(name, workspace) {
        return Some(format!("{shown} is not a regular file, so nothing was attached"));
    }
    match (similar(name, workspace), is_path(name, workspace)) {
        (Some(near), _) => Some(format!(
            "there is no file {shown}, so nothing was attached; did you mean @{}?",
            visible(&near)
        )),
        (None, true) => Some(format!("there is no file {shown}, so nothing was attached")),
        (None, false) => None,
    }
}

/// Returns whether it names a pipe, a device or a socket.
fn is_special(name: &str, workspace: &Path) -> bool {
    let found = place_of(name, workspace).metadata();
    found.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Returns whether it is written like a path (`./a`, `src/a` if `src` exists, `a.rs`), or names something that is
/// there and no file.
pub(super) fn is_path(name: &str, workspace: &Path) -> bool {
    let (directory, last) = name.rsplit_once('/').unwrap_or(("", name));
    let ending = last.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let has_ending = ending.is_some_and(|(_, ending)| {
        (1..=LONGEST_ENDING).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let top = directory.split('/').next().unwrap_or_default();
    has_ending
        || matches!(top, "." | ".." | "~")
        || name.starts_with('/')
        || (!top.is_empty() && workspace.join(top).is_dir())
        || is_special(name, workspace)
}

/// Returns a file with a similar name in the same directory, or one of that name elsewhere in the workspace.
fn similar(name: &str, workspace: &Path) -> Option<String> {
    let written = &name[..name.rfind('/').map_or(0, |at| at + 1)];
    let last = &name[written.len()..];
    if last.is_empty() {
        return None;
    }
    let beside = files(written, workspace);
    let is_part = |path: &str| {
        let (path, name) = (path.to_lowercase(), name.to_lowercase());
        path.contains(&name) || name.contains(&path)
    };
    let beside = beside.iter().filter(|path| !path.ends_with('/'));
    let near = nearest(name, beside.map(String::as_str).filter(|path| !is_part(path)), 1);
    near.first().map(|near| (*near).to_owned()).or_else(|| {
        let elsewhere = named_so(&last.to_lowercase(), workspace);
        elsewhere.into_iter().find(|path| {
            let file = Path::new(path);
            file.file_stem()
                .is_some_and(|stem| stem.eq_ignore_ascii_case(last))
                || file
                    .file_name()
                    .is_some_and(|name| name.eq_ignore_ascii_case(last))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_named_as_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(place.path().join("ff"))
            .status();
        assert!(pipe.unwrap().success());
        for name in ["ff", "./ff"] {
            let told = format!("{name} is not a regular file, so nothing was attached");
            assert_eq!(note(name, place.path()), Some(told));
            assert!(is_path(name, place.path()), "{name}");
        }
    }

    #[test]
    fn a_note_is_for_what_may_be_a_file() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("src/deep")).unwrap();
        for file in [
            "README.md",
            "harbour.rs",
            "src/parser.rs",
            "src/deep/tides.txt",
            "adapters.rs",
        ] {
            std::fs::write(place.path().join(file), "words").unwrap();
        }
        let of = |name: &str| note(name, place.path());
        let near = |name: &str, near: &str| {
            let note = of(name).unwrap_or_default();
            assert!(note.contains(&format!("did you mean @{near}?")), "{name}: {note}");
        };
        near("harbor.rs", "harbour.rs");
        near("readme", "README.md");
        near("src/parse.rs", "src/parser.rs");
        near("parser.rs", "src/parser.rs");
        near("tides", "src/deep/tides.txt");
        for name in [
            "nosuch.rs",
            "src/nothing",
            "./nosuch",
            "/nowhere/else",
            "docs/nosuch.md",
        ] {
            let note = of(name).unwrap_or_default();
            assert_eq!(note, format!("there is no file {name}, so nothing was attached"));
        }
        assert!(of("src/").is_some_and(|note| note.contains("is a directory")));
        for name in [
            "",
            "ada",
            "decorator",
            "property",
            "types/node",
            "angular/core",
            "param",
            "app.route",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
