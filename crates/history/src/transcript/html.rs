//! A transcript as one self-contained page: no script, no font, no external picture. Everything from the
//! session is text, and is escaped in one place.

use agentx_types::{BlobId, ContentPart, MediaPart, MediaSource, Role, is_control_or_bidi};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::page::{arguments, heading, kinds, name_of, summary};
use super::{PICTURES, Transcript, TranscriptEntry};

/// The style of the page. It follows the reader's light or dark mode.
const STYLE: &str = "\
:root{color-scheme:light dark}
body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}
h2{font-size:.85rem;font-weight:600;margin:1.5rem 0 .25rem;opacity:.7}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;font-size:.9rem;opacity:.8}
dd{margin:0;overflow-wrap:anywhere}
p,pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0}
pre{font:13px/1.45 ui-monospace,monospace;border-left:3px solid #8888;padding:.25rem .75rem}
section.user p{border-left:3px solid #3a7bd5;padding-left:.75rem}
summary{cursor:pointer;font-size:.9rem}
.failed summary,.broke{color:#c0392b}
.added{color:#1a7f37}
.removed{color:#c0392b}
.place{opacity:.6}
img{max-width:100%}
";

/// Writes a session down as a page.
pub fn html(transcript: &Transcript) -> String {
    let title = escaped(&heading(transcript));
    let mut page = format!(
        "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in summary(transcript) {
        page.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(&value)));
    }
    page.push_str("</dl>\n");
    for entry in &transcript.entries {
        page.push_str(&section(transcript, entry));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(transcript: &Transcript, entry: &TranscriptEntry) -> String {
    let class = match entry.message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "model",
        Role::Tool => "tool",
    };
    let mut text = format!(
        "<section class=\"{class}\" id=\"e{}\">\n<h2>{}</h2>\n",
        entry.seq,
        escaped(&name_of(entry))
    );
    if let Some(model) = &entry.model {
        text.push_str(&format!(
            "<p class=\"place\">answered by {}</p>\n",
            escaped(model)
        ));
    }
    for part in &entry.message.content {
        text.push_str(&part_of(transcript, part));
    }
    if entry.partial {
        text.push_str("<p class=\"broke\">interrupted here</p>\n");
    }
    if let Some(act) = &entry.act {
        text.push_str(&format!("<p class=\"act\">{}</p>\n", escaped(act)));
    }
    text.push_str("</section>\n");
    text
}

fn part_of(transcript: &Transcript, part: &ContentPart) -> String {
    match part {
        ContentPart::Text(text) if text.text.trim().is_empty() => String::new(),
        ContentPart::Text(text) => format!("<p>{}</p>\n", escaped(text.text.trim_end())),
        ContentPart::Thinking(thinking) if thinking.text.trim().is_empty() => String::new(),
        ContentPart::Thinking(thinking) => folded("", "thought", &thinking.text),
        ContentPart::Image(media) => picture(transcript, media),
        ContentPart::Audio(media) | ContentPart::File(media) => named(media),
        ContentPart::ToolCall(call) => {
            let diff = transcript.diffs.get(&call.tool_call_id).map(String::as_str);
            let mut text = folded("", &call.name, &arguments(&call.input, diff));
            text.push_str(&diff.map(diff_of).unwrap_or_default());
            text
        }
        ContentPart::ToolResult(result) => {
            let class = if result.is_error { "failed" } else { "" };
            let words = if result.is_error {
                "it failed"
            } else {
                "it answered"
            };
            let mut text = folded(class, words, &kinds(&result.content));
            for part in &result.content {
                if let ContentPart::Image(media) = part {
                    text.push_str(&picture(transcript, media));
                }
            }
            text
        }
        ContentPart::Opaque(_) => String::new(),
    }
}

/// A diff with coloured lines; the sign of a line shows its kind too.
fn diff_of(diff: &str) -> String {
    let mut text = "<pre class=\"diff\">".to_owned();
    for line in diff.trim_end_matches('\n').split('\n') {
        let class = match line.as_bytes().first() {
            Some(b'+') => "added",
            Some(b'-') => "removed",
            Some(b'@') => "place",
            _ => "",
        };
        match class {
            "" => text.push_str(&escaped(line)),
            class => text.push_str(&format!("<span class=\"{class}\">{}</span>", escaped(line))),
        }
        text.push('\n');
    }
    text + "</pre>\n"
}

fn folded(class: &str, title: &str, text: &str) -> String {
    format!(
        "<details class=\"{class}\"><summary>{}</summary><pre>{}</pre></details>\n",
        escaped(title),
        escaped(text.trim_end())
    )
}

fn picture(transcript: &Transcript, media: &MediaPart) -> String {
    let bytes = |blob: &BlobId| transcript.pictures.get(blob);
    match &media.source {
        MediaSource::Blob(blob) if PICTURES.contains(&media.media_type.as_str()) => match bytes(blob) {
            Some(bytes) => format!(
                "<p><img alt=\"{}\" src=\"data:{};base64,{}\"></p>\n",
                escaped(media.name.as_deref().unwrap_or_default()),
                media.media_type,
                STANDARD.encode(bytes)
            ),
            None => named(media),
        },
        _ => named(media),
    }
}

fn named(media: &MediaPart) -> String {
    let name = media.name.as_deref().unwrap_or(&media.media_type);
    format!("<p>[{}]</p>\n", escaped(name))
}

/// Escapes text so that a page treats it only as text. Invisible characters that change their surroundings
/// are shown by their number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if is_control_or_bidi(c) => out.push_str(&format!("\u{fffd}U+{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::{Message, MessageId, ThinkingPart, Timestamp, ToolCallId, ToolCallPart};

    #[test]
    fn nothing_that_was_said_becomes_a_part_of_the_page() {
        let bad = "</pre></details><script>alert('1')</script><img src=x onerror=\"a()\">\u{202e}\u{200e}\u{1b}[2J&amp;";
        let message = Message {
            message_id: MessageId::new("msg_1"),
            role: Role::Assistant,
            content: vec![
                ContentPart::text(bad),
                ContentPart::Thinking(ThinkingPart {
                    text: bad.into(),
                    provider: None,
                }),
                ContentPart::ToolCall(ToolCallPart {
                    tool_call_id: ToolCallId::new("t"),
                    name: bad.into(),
                    input: serde_json::json!({ bad: bad }),
                    provider: None,
                }),
                ContentPart::Image(MediaPart {
                    media_type: "image/svg+xml".into(),
                    source: MediaSource::Url("javascript:a()".into()),
                    name: Some(bad.into()),
                }),
            ],
            by: None,
        };
        let transcript = Transcript {
            diffs: [(ToolCallId::new("t"), format!("-{bad}\n+{bad}\n"))].into(),
            title: bad.into(),
            model: bad.into(),
            workspace: bad.into(),
            entries: vec![TranscriptEntry {
                seq: 1,
                at: Timestamp(0),
                agent: Some(bad.into()),
                model: Some(bad.into()),
                message,
                partial: true,
                act: Some(bad.into()),
            }],
            ..Transcript::default()
        };
        let page = html(&transcript);
        for sign in [
            "<script",
            "<img",
            "onerror=\"",
            "\u{202e}",
            "\u{200e}",
            "\u{1b}",
            "javascript:",
        ] {
            assert!(!page.contains(sign), "{sign} in {page}");
        }
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)"), "{page}");
        assert_eq!(
            page.matches("<details").count(),
            page.matches("</details>").count()
        );
    }
}
