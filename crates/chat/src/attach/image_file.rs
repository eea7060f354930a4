//! Checks a file that `--image` names: a file of another kind is refused before anything is sent, and the
//! error names its kind.

use std::io::Read as _;
use std::path::Path;

use agentx::types::{Picture, PictureError};

use super::{LARGEST_PICTURE, PICTURE_ENDINGS, named_as_picture};
use crate::error::ChatError;
use crate::named_file::open_named;
use crate::render::clean::visible;

/// The hint for a file that is not an image.
const HINT: &str = "give a png, jpeg, gif or webp file; attach other files with @FILE in the prompt";

/// Refuses a file that is not an image that models accept.
///
/// # Errors
/// Returns an error if the file does not exist, cannot be read, is of another kind, or is an image whose name
/// does not end like one.
pub(super) fn check(file: &Path) -> Result<(), ChatError> {
    let name = visible(&file.to_string_lossy());
    if !file.is_file() {
        return Err(ChatError::usage(format!("there is no file {name}"), HINT));
    }
    let bytes = read(file).map_err(|error| ChatError::File {
        path: name.clone(),
        what: error.to_string(),
    })?;
    match Picture::of(&bytes) {
        Err(PictureError::OtherKind) => Err(ChatError::usage(
            format!(
                "{name} is not an image that models accept: it is {}",
                kind_of(&bytes)
            ),
            HINT,
        )),
        Ok(picture) if !named_as_picture(file) => Err(ChatError::usage(
            format!(
                "{name} is an image ({}), but is not named like one",
                picture.media_type
            ),
            format!(
                "give it a name that ends with one of: {}",
                PICTURE_ENDINGS.join(", ")
            ),
        )),
        // An image that is too large or broken is refused with the prompt, as `@FILE` is.
        Ok(_) | Err(PictureError::Broken) => Ok(()),
    }
}

/// The beginning of a file: as much as the largest picture has.
fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_named(file)?.take(LARGEST_PICTURE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The kind of a file that is not an image that models accept.
fn kind_of(bytes: &[u8]) -> &'static str {
    match bytes {
        [] => "empty",
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        [b'B', b'M', ..] if bytes.contains(&0) => "a BMP image",
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => "a TIFF image",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', ..] => "an AVIF image",
        [_, _, _, _, b'f', b't', b'y', b'p', b'h' | b'm', ..] => "a HEIC image or a video",
        [b'P', b'K', 3, 4, ..] | [0x1f, 0x8b, ..] => "an archive",
        _ => kind_of_text(bytes),
    }
}

fn kind_of_text(bytes: &[u8]) -> &'static str {
    // The last letter may be cut off.
    let is_text = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let begins_with = |mark: &[u8]| bytes.trim_ascii_start().starts_with(mark);
    let has_svg = bytes.windows(4).take(1024).any(|window| window == b"<svg");
    if !is_text || bytes.contains(&0) {
        "of an unknown kind"
    } else if begins_with(b"<") && has_svg {
        "an SVG image, which is text"
    } else {
        "text"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a\x02\0\x03\0\0\0\0;";

    fn refusal(name: &str, bytes: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        check(&file).err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_no_image_is_refused_with_its_kind() {
        for (name, bytes, kind) in [
            ("notes.txt", &b"hello"[..], "it is text"),
            ("notes.png", b"hello", "it is text"),
            ("no.png", b"", "it is empty"),
            ("a.pdf", b"%PDF-1.7", "it is a PDF"),
            (
                "a.svg",
                b"<?xml version='1.0'?>\n<svg></svg>",
                "it is an SVG image",
            ),
            ("a.heic", b"\0\0\0\x18ftypheic", "it is a HEIC image"),
            ("a.bmp", b"BM\x46\0\0\0", "it is a BMP image"),
            ("a.bin", b"\xff\xfe\0\x01", "it is of an unknown kind"),
        ] {
            let refused = refusal(name, bytes).unwrap_or_default();
            assert!(refused.contains(kind), "{name}: {refused}");
        }
        let misnamed = refusal("a.txt", GIF).unwrap_or_default();
        assert!(misnamed.contains("is an image (image/gif)"), "{misnamed}");
        assert_eq!(refusal("a.gif", GIF), None);
        assert!(check(Path::new("/none/there.png")).is_err());
    }
}
