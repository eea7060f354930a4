//! The kind of a file by its first bytes: an image that a model can see, text, or binary.

use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt;

/// The number of bytes that are checked.
pub(crate) const SNIFFED: usize = 8 << 10;

/// The kind of a file by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Text,
    /// The media type.
    Image(&'static str),
    /// A PDF.
    Pdf,
    /// A description of the binary format.
    Binary(&'static str),
}

const UTF_16: &str = "UTF-16 (`iconv -f UTF-16 -t UTF-8` makes it UTF-8)";

/// Beginnings of files that are not text, most telling first.
const MAGIC: &[(&[u8], ContentKind)] = &[
    (b"\x89PNG\r\n\x1a\n", ContentKind::Image("image/png")),
    (b"\xff\xd8\xff", ContentKind::Image("image/jpeg")),
    (b"GIF87a", ContentKind::Image("image/gif")),
    (b"GIF89a", ContentKind::Image("image/gif")),
    (b"%PDF-", ContentKind::Pdf),
    (b"\x7fELF", ContentKind::Binary("a compiled program")),
    (b"PK\x03\x04", ContentKind::Binary("a zip archive")),
    (b"\x1f\x8b", ContentKind::Binary("gzip data")),
    (b"BZh", ContentKind::Binary("bzip2 data")),
    (b"\xfd7zXZ\x00", ContentKind::Binary("xz data")),
    (b"\x28\xb5\x2f\xfd", ContentKind::Binary("zstd data")),
    (b"SQLite format 3\x00", ContentKind::Binary("an SQLite database")),
    (b"\xff\xfe", ContentKind::Binary(UTF_16)),
    (b"\xfe\xff", ContentKind::Binary(UTF_16)),
];

/// Returns the kind of a file that begins with `start`.
pub(crate) fn sniff(start: &[u8]) -> ContentKind {
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return ContentKind::Image("image/webp");
    }
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
        return *kind;
    }
    if memchr::memchr(0, &start[..start.len().min(SNIFFED)]).is_some() {
        return ContentKind::Binary("binary data");
    }
    ContentKind::Text
}

/// Describes a path that is not a regular file; reading it could block for ever.
pub(crate) fn special(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_fifo() => Some("a named pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}
