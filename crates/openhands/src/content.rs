//! Turns texts and pictures of a log into content parts. Pictures and very long texts become blobs.

use std::collections::BTreeMap;

use agentx_types::{BlobId, ContentPart, MediaPart, MediaSource};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::json;

/// Maximum number of bytes of a result's text in an event. For a longer text, the event has the beginning and
/// the end, and a blob has the whole.
const MOST_RESULT: usize = 256 * 1024;
/// Maximum number of bytes of a text in the details of a result.
const MOST_DETAIL: usize = 4 * 1024;

/// The bytes that events refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogBlobs {
    kept: BTreeMap<BlobId, Vec<u8>>,
}

impl LogBlobs {
    /// Stores bytes and returns their name.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::with_suffix(blake3::hash(&bytes).to_hex());
        self.kept.insert(id.clone(), bytes);
        id
    }

    /// Returns all blobs: names, and bytes in base64.
    pub(crate) fn into_base64(self) -> Vec<(BlobId, String)> {
        let encoded = |(id, bytes): (BlobId, Vec<u8>)| (id, STANDARD.encode(bytes));
        self.kept.into_iter().map(encoded).collect()
    }

    /// Returns the picture at an address, which may contain the bytes itself (`data:`); `None` if there is
    /// none.
    pub(crate) fn picture(&mut self, url: &str) -> Option<ContentPart> {
        if let Some(data) = url.strip_prefix("data:") {
            let (head, body) = data.split_once(',')?;
            let media_type = head.split(';').next().unwrap_or_default();
            let bytes = STANDARD.decode(body.trim()).ok()?;
            let is_picture = media_type.starts_with("image/") && head.ends_with(";base64");
            let source = MediaSource::Blob(self.keep(bytes));
            return is_picture.then(|| image(media_type, source));
        }
        let is_address = url.starts_with("https://") || url.starts_with("http://");
        is_address.then(|| image(type_of(url), MediaSource::Url(url.to_owned())))
    }

    /// Moves an overlong text into a blob. Returns the excerpt for the event, and the name of the blob.
    pub(crate) fn shorten(&mut self, text: &str) -> (String, Option<BlobId>) {
        if text.len() <= MOST_RESULT {
            return (text.to_owned(), None);
        }
        let head = floor(text, MOST_RESULT / 2);
        let tail = ceil(text, text.len() - MOST_RESULT / 2);
        let left_out = tail - head;
        let blob = self.keep(text.as_bytes().to_vec());
        let shown = format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            &text[..head],
            &text[tail..]
        );
        (shown, Some(blob))
    }
}

fn image(media_type: &str, source: MediaSource) -> ContentPart {
    ContentPart::Image(MediaPart {
        media_type: media_type.to_owned(),
        source,
        name: None,
    })
}

fn type_of(url: &str) -> &'static str {
    let path = url
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match path.rsplit('.').next() {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => "image/png",
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the first character boundary at or after `at`.
fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Returns the text and pictures of a V1 content list or a plain text, and the number of pictures that could
/// not be read.
pub(crate) fn parts(value: &Value, blobs: &mut LogBlobs) -> (Vec<ContentPart>, usize) {
    let (mut found, mut lost) = (Vec::new(), 0);
    let list = match value {
        Value::String(text) => {
            found.extend((!text.is_empty()).then(|| ContentPart::text(text.as_str())));
            return (found, 0);
        }
        Value::Array(list) => list.as_slice(),
        _ => return (found, 0),
    };
    for part in list {
        if let Some(text) = part.as_str().or_else(|| part.get("text").and_then(Value::as_str)) {
            found.extend((!text.is_empty()).then(|| ContentPart::text(text)));
        }
        for url in json::list(part, "image_urls").iter().filter_map(Value::as_str) {
            match blobs.picture(url) {
                Some(picture) => found.push(picture),
                None => lost += 1,
            }
        }
    }
    (found, lost)
}

/// Returns the text of a content list or a plain text.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let texts = list
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            texts.collect()
        }
        _ => String::new(),
    }
}

/// Returns a value with its long texts cut, and the number of cuts.
pub(crate) fn bounded(value: &Value) -> (Value, usize) {
    match value {
        Value::String(text) if text.len() > MOST_DETAIL => {
            let head = &text[..floor(text, MOST_DETAIL)];
            (
                Value::String(format!("{head}[… {} bytes left out]", text.len() - head.len())),
                1,
            )
        }
        Value::Array(list) => {
            let (values, cuts): (Vec<Value>, Vec<usize>) = list.iter().map(bounded).unzip();
            (Value::Array(values), cuts.iter().sum())
        }
        Value::Object(fields) => {
            let mut cut = 0;
            let mut kept = Map::new();
            for (key, value) in fields {
                let (value, cuts) = bounded(value);
                cut += cuts;
                kept.insert(key.clone(), value);
            }
            (Value::Object(kept), cut)
        }
        other => (other.clone(), 0),
    }
}

/// Returns the output of a command as OpenHands shows it to the model, including the lines that its shell
/// added.
pub(crate) fn command_output(content: &str, metadata: &Value) -> String {
    let mut text = format!(
        "{}{content}{}",
        json::text(metadata, "prefix"),
        json::text(metadata, "suffix")
    );
    let mut line = |title: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("\n[{title}{value}]"));
        }
    };
    line("Current working directory: ", json::text(metadata, "working_dir"));
    line(
        "Python interpreter: ",
        json::text(metadata, "py_interpreter_path"),
    );
    if let Some(code) = metadata
        .get("exit_code")
        .and_then(Value::as_i64)
        .filter(|code| *code != -1)
    {
        line("Command finished with exit code ", &code.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_texts_keep_their_ends_and_the_whole() {
        let mut blobs = LogBlobs::default();
        let text = format!("begin{}end", "ä".repeat(MOST_RESULT));
        let (shown, blob) = blobs.shorten(&text);
        assert!(shown.starts_with("begin") && shown.ends_with("end") && shown.len() < MOST_RESULT + 100);
        assert_eq!(blobs.kept[&blob.unwrap()], text.as_bytes());
        assert_eq!(blobs.shorten("short"), ("short".to_owned(), None));
        let (cut, cuts) = bounded(&json!({"a": ["ä".repeat(MOST_DETAIL)], "b": 1}));
        assert_eq!((cuts, &cut["b"]), (1, &json!(1)));
        assert!(cut["a"][0].as_str().unwrap().ends_with("bytes left out]"));
    }

    #[test]
    fn pictures_are_bytes_or_addresses() {
        let mut blobs = LogBlobs::default();
        for (url, is_one) in [
            ("data:image/png;base64,AAAA", true),
            ("https://example.org/a.jpg?x", true),
            ("data:image/png;base64,***", false),
            ("data:text/plain;base64,AAAA", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(blobs.picture(url).is_some(), is_one, "{url}");
        }
    }
}
