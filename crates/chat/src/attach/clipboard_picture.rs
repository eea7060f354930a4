//! A picture from the clipboard of the desktop, for people who take a screenshot. The libraries that read it
//! are large and of no use on a server, so they are part of the program only with the feature `clipboard`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Pictures that were taken from the clipboard: files that are deleted with the chat, so that they are
/// attached as any other file.
#[derive(Debug, Default)]
pub(crate) struct ClipboardPictures {
    folder: Option<TempDir>,
    count: usize,
}

impl ClipboardPictures {
    /// Writes a picture to a new file.
    pub(crate) fn keep(&mut self, png: &[u8]) -> std::io::Result<PathBuf> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => tempfile::Builder::new().prefix("agentx-").tempdir()?,
        };
        let folder = self.folder.insert(folder).path();
        self.count += 1;
        let file = folder.join(format!("clipboard-{}.png", self.count));
        std::fs::write(&file, png)?;
        Ok(file)
    }
}

/// Returns the mention of a file for the line, with a blank if a word precedes it.
pub(crate) fn mention(before: &str, file: &Path) -> String {
    let gap = if before.is_empty() || before.ends_with(char::is_whitespace) {
        ""
    } else {
        " "
    };
    format!("{gap}@{} ", crate::attach::escaped(&file.to_string_lossy()))
}

/// The picture in the clipboard, as PNG. Blocks until the desktop answers.
///
/// # Errors
/// Returns an error if the clipboard cannot be read or has no picture, in words for the person.
#[cfg(feature = "clipboard")]
pub(crate) fn png() -> Result<Vec<u8>, String> {
    let picture = arboard::Clipboard::new()
        .and_then(|mut clipboard| clipboard.get_image())
        .map_err(|error| match error {
            arboard::Error::ContentNotAvailable => "there is no picture in the clipboard".to_owned(),
            error => format!("the clipboard cannot be read: {error}"),
        })?;
    let too_large = |_| "the picture in the clipboard is too large".to_owned();
    let width = u32::try_from(picture.width).map_err(too_large)?;
    let height = u32::try_from(picture.height).map_err(too_large)?;
    encoded(width, height, &picture.bytes)
        .map_err(|error| format!("the picture in the clipboard is broken: {error}"))
}

/// Returns the error that explains how to attach a picture without the feature.
///
/// # Errors
/// Returns an error in every case, with a message for the person.
#[cfg(not(feature = "clipboard"))]
pub(crate) fn png() -> Result<Vec<u8>, String> {
    Err("this build cannot read pictures from the clipboard (feature `clipboard`); save the picture and type @FILE".into())
}

#[cfg(feature = "clipboard")]
fn encoded(width: u32, height: u32, rgba: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgba)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_picture_is_a_file_of_its_own_and_goes_with_the_chat() {
        let mut pictures = ClipboardPictures::default();
        let first = pictures.keep(b"one").unwrap();
        let second = pictures.keep(b"two").unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), b"one");
        assert_eq!(std::fs::read(&second).unwrap(), b"two");
        drop(pictures);
        assert!(!first.exists() && !second.exists());
    }

    #[test]
    fn a_picture_is_mentioned_apart_from_the_word_before_it() {
        let file = Path::new("/tmp/a b.png");
        assert_eq!(mention("", file), "@/tmp/a\\ b.png ");
        assert_eq!(mention("see ", file), "@/tmp/a\\ b.png ");
        assert_eq!(mention("see", file), " @/tmp/a\\ b.png ");
    }

    #[cfg(feature = "clipboard")]
    #[test]
    fn a_picture_is_encoded_as_models_take_it() {
        let bytes = encoded(2, 1, &[255, 0, 0, 255, 0, 255, 0, 255]).unwrap();
        let picture = agentx::types::Picture::of(&bytes).unwrap();
        assert_eq!(
            (picture.media_type, picture.width, picture.height),
            ("image/png", 2, 1)
        );
        assert!(encoded(2, 2, &[0]).is_err(), "it is cut off");
    }
}
