//! The content that a server returned: its kind by media type and first bytes, and its text.

use encoding_rs::{Encoding, UTF_8};

/// The bytes in which a page may name its encoding.
const SNIFFED: usize = 1_024;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Html,
    Pdf,
    Json,
    /// Text that is shown as it is.
    Text,
}

/// The kind of a page by its media type, without parameters and in lower case, and its first bytes.
///
/// # Errors
/// Returns the media type if it is nothing that can be read.
pub(super) fn kind(media_type: &str, bytes: &[u8]) -> Result<PageKind, String> {
    match media_type {
        _ if bytes.starts_with(b"%PDF-") => Ok(PageKind::Pdf),
        "application/pdf" => Err("application/pdf, but is not a PDF".to_owned()),
        "text/html" | "application/xhtml+xml" => Ok(PageKind::Html),
        "application/json" => Ok(PageKind::Json),
        other if other.ends_with("+json") => Ok(PageKind::Json),
        other if is_text(other) => Ok(PageKind::Text),
        "" | "application/octet-stream" | "binary/octet-stream" => sniffed(bytes),
        other => Err(other.to_owned()),
    }
}

/// Returns whether a media type is known before its bytes to be nothing that can be read.
pub(super) fn is_refused(media_type: &str) -> bool {
    kind(media_type, b"").is_err()
        && !matches!(
            media_type,
            "application/pdf" | "" | "application/octet-stream" | "binary/octet-stream"
        )
}

fn is_text(media_type: &str) -> bool {
    let others = [
        "application/xml",
        "application/javascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-ndjson",
    ];
    media_type.starts_with("text/") || media_type.ends_with("+xml") || others.contains(&media_type)
}

/// The kind of bytes whose type the server does not tell.
fn sniffed(bytes: &[u8]) -> Result<PageKind, String> {
    let start = &bytes[..bytes.len().min(SNIFFED)];
    let text = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    if text.starts_with("<!doctype html") || text.starts_with("<html") {
        return Ok(PageKind::Html);
    }
    if start.contains(&0) || std::str::from_utf8(bytes).is_err() {
        return Err("of an unknown type, and not text".to_owned());
    }
    Ok(PageKind::Text)
}

/// The text of bytes: in the encoding of the header, or the one that an HTML page names in itself, or UTF-8.
pub(super) fn text(bytes: &[u8], content_type: &str, kind: PageKind) -> String {
    let named = parameter(content_type).or_else(|| {
        let start = &bytes[..bytes.len().min(SNIFFED)];
        (kind == PageKind::Html).then(|| named_in_page(start)).flatten()
    });
    // A mark of the byte order at the beginning counts before all.
    named.unwrap_or(UTF_8).decode(bytes).0.into_owned()
}

/// The encoding in `text/html; charset=…`.
fn parameter(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type
        .split(';')
        .skip(1)
        .filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The encoding in `<meta charset=…>` or `<meta content="…; charset=…">`.
fn named_in_page(start: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let tag = start
        .split("<meta")
        .skip(1)
        .find_map(|tag| tag.split('>').next()?.split_once("charset"))?
        .1;
    let label = tag
        .trim_start()
        .strip_prefix('=')?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c));
    let found = Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])?;
    // A page that could be read so far is in no encoding of two bytes.
    let is_wide = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&found);
    Some(if is_wide { UTF_8 } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_of_the_kind_that_its_type_and_its_bytes_say() {
        for (media_type, bytes, wanted) in [
            ("text/html", &b"<p>"[..], Some(PageKind::Html)),
            ("", b" <!DOCTYPE HTML><p>", Some(PageKind::Html)),
            ("", b"words", Some(PageKind::Text)),
            ("", b"\0\x01", None),
            ("application/octet-stream", b"%PDF-1.7", Some(PageKind::Pdf)),
            ("application/pdf", b"<html>", None),
            ("application/ld+json", b"{}", Some(PageKind::Json)),
            ("image/svg+xml", b"<svg/>", Some(PageKind::Text)),
            ("image/png", b"\x89PNG", None),
            ("video/mp4", b"", None),
        ] {
            assert_eq!(kind(media_type, bytes).ok(), wanted, "{media_type}");
        }
        assert!(is_refused("image/png") && !is_refused("application/pdf") && !is_refused(""));
    }

    #[test]
    fn text_is_read_in_the_encoding_that_is_named() {
        let html = |bytes: &[u8], content_type: &str| text(bytes, content_type, PageKind::Html);
        assert_eq!(html(b"\xcf\xf0\xe8", "text/html; charset=windows-1251"), "При");
        assert_eq!(
            html(b"<meta charset='windows-1251'>\xcf", "text/html"),
            "<meta charset='windows-1251'>П"
        );
        let older = b"<meta http-equiv=Content-Type content=\"text/html; charset=shift_jis\">\x82\xa0";
        assert!(html(older, "text/html").ends_with('あ'));
        assert_eq!(html("é".as_bytes(), "text/html; charset=made-up"), "é");
        assert_eq!(
            html(b"<meta charset=utf-16>\xc3\xa9", ""),
            "<meta charset=utf-16>é"
        );
        assert_eq!(
            text(b"<meta charset=windows-1251>", "text/plain", PageKind::Text).len(),
            27
        );
    }
}
