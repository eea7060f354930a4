//! Reads the properties of a picture from its header and its end: its kind, its size in pixels, and whether
//! it is complete.

use super::VendorRule;

/// The rules about pictures, of all vendors.
pub const PICTURE_RULES: &[VendorRule] = &[DATA, KIND, BROKEN, BYTES, PIXELS, MANY_PIXELS, COUNT];

pub(super) const DATA: VendorRule = VendorRule {
    name: "picture-base64",
    says: "The data of a picture is standard base64 and not empty.",
    source: "https://docs.claude.com/en/docs/build-with-claude/vision",
    date: "2026-11-22",
};
pub(super) const KIND: VendorRule = VendorRule {
    name: "picture-media-type",
    says: "A picture is a PNG, JPEG, GIF or WebP, and its media type says which.",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision.md",
    date: "2026-11-22",
};
pub(super) const BROKEN: VendorRule = VendorRule {
    name: "picture-broken",
    says: "A picture that cannot be decoded (a broken header, a missing end) is refused (`Could not process image`).",
    source: "https://github.com/anthropics/claude-code/issues/4778",
    date: "2025-08-04",
};
pub(super) const BYTES: VendorRule = VendorRule {
    name: "picture-bytes",
    says: "The base64 text of one picture has at most 10 MB (Anthropic; it was 5 MB of bytes before 2026).",
    source: "https://github.com/can1357/oh-my-pi/pull/10633",
    date: "2026-09-03",
};
pub(super) const PIXELS: VendorRule = VendorRule {
    name: "picture-pixels",
    says: "No side of a picture has more than 8,000 pixels (Anthropic).",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision.md",
    date: "2026-11-22",
};
pub(super) const MANY_PIXELS: VendorRule = VendorRule {
    name: "picture-pixels-of-many",
    says: "In a request with more than 20 pictures, no side of one has more than 2,000 pixels (Anthropic).",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision.md",
    date: "2026-11-22",
};
pub(super) const COUNT: VendorRule = VendorRule {
    name: "picture-count",
    says: "A request has at most 100 pictures for models with a window of 200,000 tokens, else 600 (Anthropic).",
    source: "https://platform.claude.com/docs/en/build-with-claude/vision.md",
    date: "2026-11-22",
};

/// A complete picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorPicture {
    /// The media type.
    pub media_type: &'static str,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl VendorPicture {
    /// Reads a picture; `None` if the bytes are not a complete picture.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let found = png_size(bytes)
            .map(|size| ("image/png", size))
            .or_else(|| gif_size(bytes).map(|size| ("image/gif", size)))
            .or_else(|| webp_size(bytes).map(|size| ("image/webp", size)))
            .or_else(|| jpeg_size(bytes).map(|size| ("image/jpeg", size)));
        let (media_type, (width, height)) = found?;
        (width > 0 && height > 0).then_some(Self {
            media_type,
            width,
            height,
        })
    }
}

/// Bytes with the header and the end of a PNG of this size, for tests of sizes: nothing is in it.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend(b"\x08\x02\0\0\0\0\0\0\0");
    bytes.extend(b"\0\0\0\0IEND\xaeB`\x82");
    bytes
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at + length)?;
    Some(part.iter().fold(0, |all, byte| (all << 8) | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let part = bytes.get(at..at + length)?;
    Some(
        part.iter()
            .rev()
            .fold(0, |all, byte| (all << 8) | u32::from(*byte)),
    )
}

fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let whole = bytes.starts_with(b"\x89PNG\r\n\x1a\n")
        && bytes.get(12..16)? == b"IHDR"
        && bytes.ends_with(b"IEND\xaeB`\x82");
    whole.then_some((number(bytes, 16, 4)?, number(bytes, 20, 4)?))
}

fn gif_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let begins = bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a");
    (begins && bytes.ends_with(b";")).then_some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let begins = bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP";
    let length = little(bytes, 4, 4)? as usize;
    if !begins || bytes.len() < length.saturating_add(8) {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        _ => None,
    }
}

fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    if !bytes.starts_with(b"\xff\xd8") || !bytes.ends_with(b"\xff\xd9") {
        return None;
    }
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        if mark != 0xff {
            return None;
        }
        let is_frame = matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            return Some((number(bytes, at + 7, 2)?, number(bytes, at + 5, 2)?));
        }
        at += 2 + number(bytes, at + 2, 2)? as usize;
    }
}

/// Returns whether an address of a picture is one that OpenAI loads, or has the bytes of the type that it
/// names.
pub(super) fn is_sent_well(url: &str) -> bool {
    let Some((kind, data)) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        return url.starts_with("https://") || url.starts_with("http://");
    };
    let found = super::base64(data).and_then(|bytes| VendorPicture::of(&bytes));
    found.is_some_and(|found| found.media_type == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pictures_have_a_size_and_broken_ones_have_none() {
        let picture = png(640, 9_000);
        let known = VendorPicture {
            media_type: "image/png",
            width: 640,
            height: 9_000,
        };
        assert_eq!(VendorPicture::of(&picture), Some(known));
        assert_eq!(VendorPicture::of(&picture[..picture.len() - 3]), None);
        assert_eq!(
            VendorPicture::of(b"GIF89a\x02\0\x03\0\0;").map(|one| (one.width, one.height)),
            Some((2, 3))
        );
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\0\x05\0\x07\x01\0\0\0\xff\xd9";
        assert_eq!(
            VendorPicture::of(jpeg).map(|one| (one.width, one.height)),
            Some((7, 5))
        );
        for garbage in [
            &b""[..],
            b"\x89PNG",
            b"GIF89a",
            b"\xff\xd8\xff\xd9",
            b"RIFF\0\0\0\0WEBP",
        ] {
            assert_eq!(VendorPicture::of(garbage), None);
        }
    }
}
