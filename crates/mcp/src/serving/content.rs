//! The result of a tool as content of the protocol: each part becomes a block of its kind, and the result of
//! a tool with an output schema is also structured content.

use agentx_runtime::ToolOutcome;
use agentx_types::{ContentPart, MediaPart, MediaSource};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The beginning of the addresses of files in results that have no address themselves.
const RESULTS: &str = "agentx://results/";

/// The answer to `tools/call`. The results of some tools have a schema, which the tool itself checks.
pub(super) fn called(outcome: &ToolOutcome, has_schema: bool) -> Value {
    let parts = outcome.content.iter().enumerate();
    let content: Vec<Value> = parts.map(|(place, part)| block(place, part)).collect();
    let mut result = json!({"content": content, "isError": outcome.is_error()});
    if let Some(value) = structured(outcome).filter(|_| has_schema) {
        result["structuredContent"] = value;
    }
    result
}

/// Returns the value of a result that is one JSON object. Links to files may follow it.
fn structured(outcome: &ToolOutcome) -> Option<Value> {
    let [ContentPart::Text(part), links @ ..] = &*outcome.content else {
        return None;
    };
    if !links.iter().all(is_link) {
        return None;
    }
    let value: Value = serde_json::from_str(&part.text).ok()?;
    (!outcome.is_error() && value.is_object()).then_some(value)
}

fn is_link(part: &ContentPart) -> bool {
    let ContentPart::File(file) = part else {
        return false;
    };
    matches!(file.source, MediaSource::Url(_))
}

fn block(place: usize, part: &ContentPart) -> Value {
    match part {
        ContentPart::Text(part) => text(&part.text),
        ContentPart::Image(media) => medium("image", media),
        ContentPart::Audio(media) => medium("audio", media),
        ContentPart::File(media) => file(place, media),
        ContentPart::Thinking(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Opaque(_) => text("[a part that only models read is left out]"),
    }
}

/// A block of text.
pub(super) fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

/// A picture or a sound.
fn medium(kind: &str, media: &MediaPart) -> Value {
    match &media.source {
        MediaSource::Base64(data) => json!({"type": kind, "data": data, "mimeType": media.media_type}),
        MediaSource::Url(address) => link(address, media),
        MediaSource::Blob(_) => left_out(media),
    }
}

/// A file: an embedded resource, with its words if it has words.
fn file(place: usize, media: &MediaPart) -> Value {
    if let MediaSource::Url(address) = &media.source {
        return link(address, media);
    }
    let named = media.name.as_deref().filter(|name| name.contains("://"));
    let address = named.map_or_else(|| format!("{RESULTS}{place}"), str::to_owned);
    match resource(&address, media) {
        Some(resource) => json!({"type": "resource", "resource": resource}),
        None => left_out(media),
    }
}

/// The contents of a resource with this address; `None` if its bytes are not there.
pub(super) fn resource(address: &str, media: &MediaPart) -> Option<Value> {
    let MediaSource::Base64(data) = &media.source else {
        return None;
    };
    let mut resource = json!({"uri": address, "mimeType": media.media_type});
    match words(media, data) {
        Some(words) => resource["text"] = words.into(),
        None => resource["blob"] = data.as_str().into(),
    }
    Some(resource)
}

/// Returns the words of a file whose type says that it has words.
fn words(media: &MediaPart, data: &str) -> Option<String> {
    let is_text = media.media_type.starts_with("text/") || media.media_type == "application/json";
    let bytes = STANDARD.decode(data).ok().filter(|_| is_text)?;
    String::from_utf8(bytes).ok()
}

fn link(address: &str, media: &MediaPart) -> Value {
    let name = media.name.as_deref().unwrap_or(address);
    json!({"type": "resource_link", "uri": address, "name": name, "mimeType": media.media_type})
}

/// The note about a medium whose bytes found no room, or are gone.
fn left_out(media: &MediaPart) -> Value {
    let name = media.name.as_deref().unwrap_or(&media.media_type);
    text(&format!("[{name} is left out: it is too large for an answer]"))
}

#[cfg(test)]
mod tests {
    use agentx_types::ToolStatus;

    use super::*;

    fn media(media_type: &str, source: MediaSource, name: Option<&str>) -> MediaPart {
        MediaPart {
            media_type: media_type.into(),
            source,
            name: name.map(str::to_owned),
        }
    }

    fn bytes(data: &str) -> MediaSource {
        MediaSource::Base64(data.into())
    }

    #[test]
    fn each_part_of_a_result_is_a_block_of_its_kind() {
        let picture = media("image/png", bytes("iVBO"), Some("a.png"));
        let large = media("image/png", MediaSource::Blob("b3_1".into()), Some("large.png"));
        let far = media(
            "image/png",
            MediaSource::Url("https://example.org/a.png".into()),
            None,
        );
        let outcome = ToolOutcome {
            content: vec![
                ContentPart::text("words"),
                ContentPart::Image(picture),
                ContentPart::Audio(media("audio/wav", bytes("UklG"), None)),
                ContentPart::File(media("text/plain", bytes("YWJj"), Some("made-up://a"))),
                ContentPart::File(media("application/pdf", bytes("JVBE"), Some("a.pdf"))),
                ContentPart::Image(far),
                ContentPart::Image(large),
            ],
            status: ToolStatus::Success,
            details: None,
        };
        let link = json!({
            "type": "resource_link",
            "uri": "https://example.org/a.png",
            "name": "https://example.org/a.png",
            "mimeType": "image/png",
        });
        let expected = json!([
            {"type": "text", "text": "words"},
            {"type": "image", "data": "iVBO", "mimeType": "image/png"},
            {"type": "audio", "data": "UklG", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "made-up://a", "mimeType": "text/plain", "text": "abc"}},
            {"type": "resource", "resource": {"uri": "agentx://results/4", "mimeType": "application/pdf", "blob": "JVBE"}},
            link,
            {"type": "text", "text": "[large.png is left out: it is too large for an answer]"},
        ]);
        assert_eq!(called(&outcome, false)["content"], expected);
    }

    #[test]
    fn only_an_object_of_a_tool_with_a_schema_is_structured() {
        let given = |outcome: ToolOutcome, has_schema: bool| {
            called(&outcome, has_schema).get("structuredContent").cloned()
        };
        let object = || ToolOutcome::success(r#"{"n": 7}"#);
        assert_eq!(given(object(), true), Some(json!({"n": 7})));
        assert_eq!(given(object(), false), None);
        for other in ["[7]", "words"] {
            assert_eq!(given(ToolOutcome::success(other), true), None, "{other}");
        }
        let failed = ToolOutcome::failed(ToolStatus::Failed, r#"{"n": 7}"#);
        assert_eq!(given(failed, true), None);
        let with = |source: MediaSource| {
            let mut outcome = object();
            outcome
                .content
                .push(ContentPart::File(media("text/plain", source, None)));
            given(outcome, true)
        };
        let linked = with(MediaSource::Url("agentx://blob/b3_1".into()));
        assert_eq!(linked, Some(json!({"n": 7})));
        assert_eq!(with(bytes("YWJj")), None);
    }
}
