//! Decides whether `@word` was meant as a file although none exists. People, decorators and packages are also
//! named in this form. So a message is kept back only for a word that is certainly a path of this workspace;
//! for any other word that may mean a file there is a note.

use std::path::Path;

use agentx::config::nearest;

use super::files::{files, named_so};
use super::place_of;
use crate::render::clean::visible;

/// Maximum length of the ending of a file name.
const LONGEST_ENDING: usize = 10;
/// The same for one that no file in the workspace has.
const LONGEST_UNKNOWN_ENDING: usize = 4;
/// Signs that stand in code and in names of packages.
const SIGNS_OF_CODE: [char; 7] = ['@', '(', '{', '"', '\'', '<', '='];

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
    match (
        similar(name, workspace),
        is_like_file(name) || is_path(name, workspace),
    ) {
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

/// Returns whether it certainly is a path: `./a`, `/a`, `src/a` if `src` exists, `a.rs` if some file ends
/// with `.rs`, or an existing entry that is not a file.
pub(super) fn is_path(name: &str, workspace: &Path) -> bool {
    let begins = ["./", "../", "~/", "/"]
        .iter()
        .any(|begin| name.starts_with(begin));
    let is_known = || match name.split_once('/') {
        Some((top, _)) => !top.is_empty() && workspace.join(top).is_dir(),
        None => ending(name).is_some_and(|ending| is_used(ending, workspace)),
    };
    begins || is_special(name, workspace) || is_known()
}

/// Returns whether it looks like a file, whatever is in the workspace: `a.rs`, `docs/a.md`, `Makefile`,
/// `LICENSE`.
fn is_like_file(name: &str) -> bool {
    let is_title = || {
        let is_capital = name.starts_with(|sign: char| sign.is_ascii_uppercase());
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_shouted = name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase());
        is_capital && is_word && (is_shouted || name.ends_with("file"))
    };
    ending(name).is_some_and(|ending| ending.len() <= LONGEST_UNKNOWN_ENDING) || is_title()
}

/// Returns the extension of a name, as `rs` of `a.rs`; `None` if it has no extension, or is code or a
/// package.
fn ending(name: &str) -> Option<&str> {
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    let (stem, ending) = last.rsplit_once('.')?;
    let is_ending = ending.len() <= LONGEST_ENDING
        && ending.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_ending && !stem.is_empty() && !name.contains(SIGNS_OF_CODE)).then_some(ending)
}

/// Returns whether a file in the workspace has this ending, as far as a quick search finds one.
fn is_used(ending: &str, workspace: &Path) -> bool {
    let ending = format!(".{}", ending.to_lowercase());
    let found = named_so(&ending, workspace);
    found.iter().any(|path| path.to_lowercase().ends_with(&ending))
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
        for name in ["Makefile", "LICENSE", "data.json", "john.doe", "types/x.d.ts"] {
            assert!(of(name).is_some() && !is_path(name, place.path()), "{name}");
        }
        for name in [
            "nosuch.rs",
            "src/nothing",
            "./nosuch",
            "../nosuch",
            "~/nosuch.d/x",
            "/nowhere/else",
        ] {
            assert!(is_path(name, place.path()), "{name}");
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
            "Ada",
            "types/react@18.2.0",
            "org/team.members",
            "app.get(\"/files/{name}.json",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
