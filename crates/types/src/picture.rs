//! Recognizes a picture from its header and its end. Vendors refuse a request with a broken or too large
//! picture, and each later request of the same conversation. Therefore a picture is checked before it is
//! sent.

use std::fmt;

/// A picture for models that is complete, as far as its structure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// The reason why bytes are not a picture that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureError {
    /// The bytes are not a PNG, JPEG, GIF or WebP.
    OtherKind,
    /// The bytes are damaged or end too early.
    Broken,
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherKind => "it is not a PNG, JPEG, GIF or WebP",
            Self::Broken => "the picture is broken or cut off",
        })
    }
}

impl Picture {
    /// Recognizes the picture in these bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a complete picture.
    ///
    /// ```
    /// use agentx_types::{PictureError, Picture};
    ///
    /// let gif = Picture::of(b"GIF89a\x02\0\x03\0\0\0\0;").unwrap();
    /// assert_eq!((gif.media_type, gif.width, gif.height), ("image/gif", 2, 3));
    /// assert_eq!(Picture::of(b"GIF89a\x02\0"), Err(PictureError::Broken));
    /// assert_eq!(Picture::of(b"hello"), Err(PictureError::OtherKind));
    /// ```
    pub fn of(bytes: &[u8]) -> Result<Self, PictureError> {
        let (media_type, size) = match bytes {
            [0x89, b'P', b'N', b'G', ..] => ("image/png", png(bytes)),
            [0xff, 0xd8, 0xff, ..] => ("image/jpeg", jpeg(bytes)),
            [b'G', b'I', b'F', b'8', ..] => ("image/gif", gif(bytes)),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("image/webp", webp(bytes)),
            _ => return Err(PictureError::OtherKind),
        };
        match size {
            Some((width, height)) if width > 0 && height > 0 => Ok(Self {
                media_type,
                width,
                height,
            }),
            _ => Err(PictureError::Broken),
        }
    }

    /// Returns the longer side, in pixels.
    pub fn longest_side(&self) -> u32 {
        self.width.max(self.height)
    }
}

fn big_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(length)?)?;
    Some(part.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn little_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(length)?)?;
    Some(part.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// Chunks of length, name, data and checksum, up to the one that is called IEND.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") || bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let size = (big_endian(bytes, 16, 4)?, big_endian(bytes, 20, 4)?);
    let mut at = 8usize;
    loop {
        let end = at
            .checked_add(big_endian(bytes, at, 4)? as usize)?
            .checked_add(12)?;
        let name = bytes.get(at + 4..at + 8)?;
        bytes.get(..end)?;
        if name == b"IEND" {
            return Some(size);
        }
        at = end;
    }
}

/// Segments up to the frame, which has the size, and the scan, behind which the end has to come.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let (mut at, mut size) = (2usize, None);
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        match (mark, kind) {
            (0xff, 0xff) => at += 1,
            (0xff, 0xda) => {
                let ends = bytes.get(at..)?.windows(2).rev().any(|pair| pair == [0xff, 0xd9]);
                return size.filter(|_| ends);
            }
            (0xff, 0xc0..=0xcf) if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                size = Some((big_endian(bytes, at + 7, 2)?, big_endian(bytes, at + 5, 2)?));
                at += 2 + big_endian(bytes, at + 2, 2)? as usize;
            }
            (0xff, _) => at += 2 + big_endian(bytes, at + 2, 2)? as usize,
            _ => return None,
        }
    }
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let begins = bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a");
    // Some programs fill the file up with zeros.
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    let ends = last >= 13 && bytes.get(last) == Some(&b';');
    (begins && ends).then_some((little_endian(bytes, 6, 2)?, little_endian(bytes, 8, 2)?))
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let length = little_endian(bytes, 4, 4)? as usize;
    bytes.get(..length.checked_add(8)?)?;
    match bytes.get(12..16)? {
        b"VP8X" => Some((little_endian(bytes, 24, 3)? + 1, little_endian(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little_endian(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little_endian(bytes, 26, 2)? & 0x3fff,
            little_endian(bytes, 28, 2)? & 0x3fff,
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of this size without pixels.
    fn empty_png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x02\0\0\0crc!\0\0\0\0IEND\xaeB`\x82");
        bytes
    }

    const JPEG: &[u8] =
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\0\x05\0\x07\x01\0\0\0\xff\xda\0\x03\x01xyz\xff\xd9";

    #[test]
    fn a_whole_picture_has_a_size() {
        let size = |bytes: &[u8]| Picture::of(bytes).map(|picture| (picture.width, picture.height));
        assert_eq!(size(&empty_png(640, 9_000)), Ok((640, 9_000)));
        assert_eq!(
            size(&[&empty_png(1, 1)[..], b"more"].concat()),
            Ok((1, 1)),
            "what follows does not matter"
        );
        assert_eq!(size(JPEG), Ok((7, 5)));
        assert_eq!(size(&[JPEG, b"trailer"].concat()), Ok((7, 5)));
        assert_eq!(
            size(b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0"),
            Ok((10, 20))
        );
    }

    #[test]
    fn a_cut_or_broken_picture_has_none() {
        for whole in [&empty_png(2, 2)[..], JPEG, b"GIF89a\x02\0\x03\0\0\0\0,;"] {
            assert!(Picture::of(whole).is_ok());
            for cut in 4..whole.len() - 1 {
                assert_eq!(
                    Picture::of(&whole[..cut]),
                    Err(PictureError::Broken),
                    "{cut} of {whole:?}"
                );
            }
        }
        assert_eq!(Picture::of(&empty_png(0, 7)), Err(PictureError::Broken));
        for garbage in [
            &b"\xff\xd8\xff\xd9"[..],
            b"\x89PNG",
            b"RIFF\xff\xff\xff\xffWEBPVP8 ",
        ] {
            assert_eq!(Picture::of(garbage), Err(PictureError::Broken), "{garbage:?}");
        }
        assert_eq!(Picture::of(b""), Err(PictureError::OtherKind));
    }
}
