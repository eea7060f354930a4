//! Attaches the files that a person's message names as `@path`: a file goes to the model with the words, and
//! a picture as a picture.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use agentx::tools::LONGEST_PICTURE_SIDE;
use agentx::types::{ContentPart, MediaPart, MediaSource, Picture, PictureError};
use base64::Engine as _;

use crate::error::ChatError;
use crate::named_file::open_named;
use crate::render::clean::visible;
use crate::render::units;
pub use crowded_out::note_of_pictures;
use document::{DocumentKind, LARGEST_DOCUMENT};
pub use of_run::attached_by_run;
use words::{NamedWord, named_words, without_lines};
pub(crate) use words::{last_word, unescaped};

pub(crate) mod clipboard_picture;
pub(crate) mod crowded_out;
mod document;
pub(crate) mod file_search;
pub(crate) mod files;
mod image_file;
mod missing;
mod of_run;
mod words;

/// Maximum size of an attached text in bytes. The model can read a part of a longer file itself.
const LONGEST_TEXT: u64 = 256 * 1024;
/// Maximum size of an attached picture in bytes.
const LARGEST_PICTURE: u64 = 5 << 20;
/// The ends of names of pictures.
const PICTURE_ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The hint for a prompt that is not sent, because it names a missing file.
pub const MISSING_FILE_HINT: &str =
    "correct the name, or write it without @ or in backticks if it is not a file";
/// The maximum number of names without a file that are looked for.
const MOST_UNKNOWN: usize = 20;

/// A message together with the files that it names.
#[derive(Debug)]
pub struct MessageWithFiles {
    /// The words, and after them the files.
    pub content: Vec<ContentPart>,
    /// The paths of those files.
    pub files: Vec<PathBuf>,
    /// Notes about the files, and about names without a file, one on each line.
    pub notes: Vec<String>,
    /// The notes about names that are written as a path, so that the person certainly meant a file. Such a
    /// message is not sent.
    pub missing: Vec<String>,
}

/// Returns the words of a message, followed by the files that they name with `@` outside of code. A word with
/// `@` that names no file stays a word; a note says so if a file may have been meant. A blank in a name is
/// written with a backslash, and `~/` is the home directory.
///
/// # Errors
/// Returns an error, in words for the person, if an existing file cannot be attached, or if a link leads to
/// another file than its name says.
pub fn attached(
    text: &str,
    workspace: &Path,
    is_guarded: impl Fn(&Path) -> bool,
) -> Result<MessageWithFiles, String> {
    attached_as_typed(text, text, workspace, is_guarded)
}

/// The same for a text of which only the part that was `typed` names files.
///
/// # Errors
/// Returns the errors of [`attached`].
pub(crate) fn attached_as_typed(
    text: &str,
    typed: &str,
    workspace: &Path,
    is_guarded: impl Fn(&Path) -> bool,
) -> Result<MessageWithFiles, String> {
    let mut content = vec![ContentPart::text(text)];
    let mut unknown: Vec<NamedWord> = Vec::new();
    let (mut notes, mut seen): (Vec<String>, Vec<String>) = Default::default();
    let mut files: Vec<PathBuf> = Vec::new();
    for word in named_words(typed) {
        let trimmed = word.trimmed();
        let without_lines = without_lines(trimmed);
        let found = [Some(word.name.as_str()), Some(trimmed), without_lines]
            .into_iter()
            .flatten()
            .find(|name| !name.is_empty() && place_of(name, workspace).is_file());
        let Some(name) = found else {
            unknown.push(word);
            continue;
        };
        if found == without_lines {
            let note = format!(
                "{} was attached as a whole; the model reads the lines that you name",
                visible(name)
            );
            notes.extend((!notes.contains(&note)).then_some(note));
        }
        if !seen.iter().any(|seen| seen == name) {
            let path = real_path(name, workspace, &is_guarded).map_err(|error| error.words(name, "@"))?;
            content.push(file(name, &path)?);
            files.push(path);
            seen.push(name.to_owned());
        }
    }
    notes.splice(0..0, note_of_files(&seen, &files));
    let missing = note_unknown(&unknown, workspace, &mut notes);
    Ok(MessageWithFiles {
        content,
        files,
        notes,
        missing,
    })
}

/// Adds a note about each name without a file that may be one. Returns those of names that certainly are
/// paths.
fn note_unknown(words: &[NamedWord], workspace: &Path, notes: &mut Vec<String>) -> Vec<String> {
    let mut certain = Vec::new();
    for word in words.iter().take(MOST_UNKNOWN) {
        let name = word.trimmed();
        let Some(note) = missing::note(name, workspace).filter(|note| !notes.contains(note)) else {
            continue;
        };
        // The model can look at an existing directory itself.
        let is_missing =
            !word.is_opened && missing::is_path(name, workspace) && !place_of(name, workspace).is_dir();
        certain.extend(is_missing.then(|| note.clone()));
        notes.push(note);
    }
    certain
}

/// Returns the note that says which files go along, and how large they are.
fn note_of_files(names: &[String], files: &[PathBuf]) -> Option<String> {
    let size = |file: &PathBuf| {
        let found = file.metadata().ok();
        found.map_or_else(String::new, |found| format!(" ({})", units::bytes(found.len())))
    };
    let named = names.iter().zip(files);
    let named: Vec<String> = named.map(|(name, file)| visible(name) + &size(file)).collect();
    (!named.is_empty()).then(|| format!("attached {}", named.join(", ")))
}

/// Returns the words of a prompt that name these files. A relative path starts at the directory of the shell,
/// which a run that works `elsewhere` does not know.
///
/// # Errors
/// Returns an error if a file does not exist, or is not an image that models accept.
pub fn mentions(files: &[PathBuf], elsewhere: bool) -> Result<Vec<String>, ChatError> {
    let mention = |file: &PathBuf| {
        image_file::check(file)?;
        let file = if elsewhere {
            std::path::absolute(file).unwrap_or_else(|_| file.clone())
        } else {
            file.clone()
        };
        Ok(format!("@{}", escaped(&file.to_string_lossy())))
    };
    files.iter().map(mention).collect()
}

/// Returns the path of a name: `~/` is the home directory, and relative names start at `base`.
pub(crate) fn place_of(name: &str, base: &Path) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => base.join(name),
    }
}

/// Returns a name in the form that follows `@`.
pub(crate) fn escaped(name: &str) -> String {
    name.replace(' ', "\\ ")
}

/// The reason why a file is not read.
enum PathError {
    /// It cannot be read.
    Unreadable(std::io::Error),
    /// It is a link to a file with another name.
    LeadsAway(PathBuf),
}

impl PathError {
    /// Describes the reason, with a file written as `mark` and its path.
    fn words(self, name: &str, mark: &str) -> String {
        match self {
            Self::Unreadable(error) => format!("{name}: {error}"),
            Self::LeadsAway(real) => {
                let real = visible(&real.to_string_lossy());
                format!(
                    "nothing was sent: {name} is a symbolic link to {real}; to attach that file, name it directly ({mark}{real})"
                )
            }
        }
    }
}

/// Returns the real path of a file whose content goes to a model, by the rules of `@FILE`. Refuses a guarded
/// file, whatever name leads to it, and anything that is not a regular file.
///
/// # Errors
/// Returns an error in words for the person.
pub(crate) fn file_for_model(
    file: &Path,
    workspace: &Path,
    is_guarded: impl Fn(&Path) -> bool,
) -> Result<PathBuf, String> {
    let shown = visible(&file.to_string_lossy());
    let place = std::path::absolute(file).map_err(|error| error.to_string())?;
    let real = real_path(&place.to_string_lossy(), workspace, &is_guarded);
    let real = real.map_err(|error| error.words(&shown, ""))?;
    if is_guarded(&real) {
        return Err(format!(
            "{shown} may hold secrets, and its content would go to the model"
        ));
    }
    // A pipe or a device may never end.
    match real.metadata() {
        Ok(found) if found.is_file() => Ok(real),
        Ok(_) => Err(format!("{shown} is not a regular file")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the real path of a file. Files in the workspace may come from a stranger, so a link there leads to
/// no file outside of it and to no guarded file: the person sees only its name. A file that the person names
/// itself may be anywhere.
fn real_path(name: &str, workspace: &Path, is_guarded: impl Fn(&Path) -> bool) -> Result<PathBuf, PathError> {
    let root = workspace.canonicalize().map_err(PathError::Unreadable)?;
    let real = place_of(name, &root)
        .canonicalize()
        .map_err(PathError::Unreadable)?;
    let written = without_dots(&place_of(name, &root));
    let is_link = written != real && written.starts_with(&root);
    if is_link && (!real.starts_with(&root) || is_guarded(&real)) {
        return Err(PathError::LeadsAway(real));
    }
    Ok(real)
}

/// Returns the path without `.` and `..`, without a look at the disk.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn file(name: &str, path: &Path) -> Result<ContentPart, String> {
    let size = path.metadata().map_err(|error| format!("{name}: {error}"))?.len();
    let is_picture = named_as_picture(Path::new(name));
    let document = DocumentKind::named(name);
    let most = match document {
        Some(_) => LARGEST_DOCUMENT,
        None if is_picture => LARGEST_PICTURE,
        None => LONGEST_TEXT,
    };
    if size > most {
        return Err(format!(
            "{name} has {size} bytes, and at most {most} can be attached; write the name without @, and the agent reads what it needs"
        ));
    }
    let mut bytes = Vec::new();
    open_named(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| format!("{name}: {error}"))?;
    if is_picture {
        // Vendors refuse a request with anything else in a picture's place, and every later request of that
        // conversation.
        let picture = Picture::of(&bytes).map_err(|why| match why {
            PictureError::OtherKind => {
                format!(
                    "{name} is named like an image, but is not one that models accept (png, jpeg, gif, webp)"
                )
            }
            PictureError::Broken => format!("{name}: {why}; nothing was sent"),
        })?;
        if picture.longest_side() > LONGEST_PICTURE_SIDE {
            return Err(format!(
                "{name} has {}x{} pixels, and models accept at most {LONGEST_PICTURE_SIDE} per side; make it smaller",
                picture.width, picture.height
            ));
        }
        return Ok(ContentPart::Image(MediaPart {
            media_type: picture.media_type.to_owned(),
            source: MediaSource::Base64(base64::engine::general_purpose::STANDARD.encode(bytes)),
            name: Some(name.to_owned()),
        }));
    }
    let text = match document {
        Some(kind) => kind.text(name, bytes)?,
        None => String::from_utf8(bytes).map_err(|_| {
            format!("{name} is neither text nor an image that models accept (png, jpeg, gif, webp)")
        })?,
    };
    Ok(ContentPart::text(format!(
        "\n\n<file path=\"{name}\">\n{}\n</file>",
        text.trim_end()
    )))
}

fn named_as_picture(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| PICTURE_ENDINGS.contains(&extension.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(
        text: &str,
        workspace: &Path,
        is_guarded: impl Fn(&Path) -> bool,
    ) -> Result<Vec<ContentPart>, String> {
        Ok(attached(text, workspace, is_guarded)?.content)
    }

    #[test]
    fn a_name_with_a_blank_is_written_with_a_backslash() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("my own notes.txt"), "mine").unwrap();
        std::fs::write(place.path().join("a.txt"), "one").unwrap();
        let written = format!("see C:\\ @{}, and @a.txt", escaped("my own notes.txt"));
        let parts = content(&written, place.path(), |_| false).unwrap();
        let said: Vec<&str> = parts.iter().skip(1).filter_map(ContentPart::as_text).collect();
        assert_eq!(
            said,
            [
                "\n\n<file path=\"my own notes.txt\">\nmine\n</file>",
                "\n\n<file path=\"a.txt\">\none\n</file>"
            ]
        );
        assert_eq!(
            content("@my own notes.txt", place.path(), |_| false)
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn a_name_may_stand_in_quotes_and_have_lines_behind_it() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("my file.txt"), "mine").unwrap();
        std::fs::write(place.path().join("a.md"), "one").unwrap();
        let message = attached(
            "see @\"my file.txt\", @'a.md' and @a.md:1-2",
            place.path(),
            |_| false,
        )
        .unwrap();
        let said: Vec<&str> = message
            .content
            .iter()
            .skip(1)
            .filter_map(ContentPart::as_text)
            .collect();
        assert_eq!(
            said,
            [
                "\n\n<file path=\"my file.txt\">\nmine\n</file>",
                "\n\n<file path=\"a.md\">\none\n</file>"
            ]
        );
        assert_eq!(
            message.notes,
            [
                "attached my file.txt (4 B), a.md (3 B)",
                "a.md was attached as a whole; the model reads the lines that you name"
            ]
        );
        let unknown = attached("@\"no such.txt\" and @\"", place.path(), |_| false).unwrap();
        assert_eq!(
            (unknown.content.len(), unknown.notes.len()),
            (1, 1),
            "{:?}",
            unknown.notes
        );
    }

    #[test]
    fn what_is_no_path_of_this_workspace_is_sent_and_every_missing_path_is_told() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("src")).unwrap();
        std::fs::write(place.path().join("src/main.rs"), "fn main() {}").unwrap();
        let missing = |text: &str| attached(text, place.path(), |_| false).unwrap().missing;
        for text in [
            "npm's @types/react@18.2.0 and @babel/core@7.23.0",
            "├── @babel/core@7.23.0",
            "@app.get(\"/files/{name}.json\")",
            "@import(\"./foo.ts\")",
            "curl -d @data.json",
            "ping @john.doe",
            "@org/team.name",
            "npm i @scope/pkg@1.2.3",
            "a @types/x.d.ts",
            "import x from '@/lib/x.rs'",
            "see `@nosuch.rs`\n```\n@./nosuch\n```",
            "@Makefile",
        ] {
            assert_eq!(missing(text), [""; 0], "{text}");
        }
        let told = missing("see @./a, @src/b, @c.rs and @c.rs");
        let names = ["./a", "src/b", "c.rs"];
        assert_eq!(
            told,
            names.map(|name| format!("there is no file {name}, so nothing was attached"))
        );
        for text in [
            "(@src/main.rs)",
            "\"@src/main.rs\"",
            "@src/main.rs#L1",
            "@src/main.rs:1",
        ] {
            assert_eq!(content(text, place.path(), |_| false).unwrap().len(), 2, "{text}");
        }
        // Pasted text attaches no files.
        let pasted = "see\n@src/main.rs\n@./nosuch\n";
        let message = attached_as_typed(pasted, "see", place.path(), |_| false).unwrap();
        assert_eq!((message.content.len(), message.notes.len()), (1, 0));
    }

    #[test]
    fn files_go_along_once_and_words_stay_words() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(place.path().join("b.png"), b"GIF89a\x02\0\x03\0\0\0\0,;").unwrap();
        std::fs::write(place.path().join("c.bin"), [0xff, 0xfe]).unwrap();
        let parts = content("see @a.txt, @b.png and @a.txt of @ada", place.path(), |_| false).unwrap();
        assert_eq!(parts.len(), 3);
        assert_eq!(
            parts[1].as_text(),
            Some("\n\n<file path=\"a.txt\">\none\ntwo\n</file>")
        );
        assert!(matches!(&parts[2], ContentPart::Image(media) if media.media_type == "image/gif"));
        std::fs::write(
            place.path().join("d.png"),
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\x05\0\x07\x01\0\0\0\xff\xda\0\x03\x01xyz\xff\xd9",
        )
        .unwrap();
        let parts = content("@d.png", place.path(), |_| false).unwrap();
        assert!(matches!(&parts[1], ContentPart::Image(media) if media.media_type == "image/jpeg"));
        std::fs::write(place.path().join("f.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
        let cut = content("@f.png", place.path(), |_| false);
        assert!(
            cut.is_err_and(|why| why.contains("broken or cut off")),
            "a vendor would refuse it"
        );
        std::fs::write(place.path().join("e.png"), "no picture").unwrap();
        assert!(
            content("@e.png", place.path(), |_| false)
                .unwrap_err()
                .contains("is named like an image, but")
        );
        assert!(
            content("@c.bin", place.path(), |_| false)
                .unwrap_err()
                .contains("is neither text nor an image")
        );
        std::fs::write(place.path().join("big.txt"), vec![b'x'; 300_000]).unwrap();
        assert!(
            content("@big.txt", place.path(), |_| false)
                .unwrap_err()
                .contains("at most 262144")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_folder_takes_no_file_along_that_its_name_does_not_say() {
        use std::os::unix::fs::symlink;

        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let place = home.join("project");
        std::fs::create_dir_all(place.join("docs")).unwrap();
        std::fs::write(home.join("key"), "a secret").unwrap();
        std::fs::write(place.join(".env"), "a secret").unwrap();
        std::fs::write(place.join("docs/a.md"), "words").unwrap();
        symlink(home.join("key"), place.join("CONTRIBUTING.md")).unwrap();
        symlink(".env", place.join("notes.txt")).unwrap();
        symlink(&home, place.join("up")).unwrap();
        symlink("docs/a.md", place.join("README.md")).unwrap();
        let is_guarded = |path: &Path| path.ends_with(".env");
        for name in [
            "CONTRIBUTING.md",
            "notes.txt",
            "up/key",
            "docs/../CONTRIBUTING.md",
        ] {
            let refused = content(&format!("see @{name}"), &place, is_guarded).unwrap_err();
            assert!(refused.contains("is a symbolic link to"), "{name}: {refused}");
        }
        let named = format!("@README.md @.env @{}", home.join("key").display());
        assert_eq!(content(&named, &place, is_guarded).unwrap().len(), 4);
    }
}
