//! A transcript as Markdown. All texts from the session are quoted or fenced, and their HTML cannot escape
//! that: a heading outside a quotation is the export's own, so no text can pass for another person's.

use std::collections::BTreeSet;
use std::ops::Range;

use agentx_types::{ContentPart, MediaPart, is_control_or_bidi};
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::page::{arguments, heading, kinds, name_of, summary};
use super::{Transcript, TranscriptEntry};

/// Writes a session down as Markdown, without signs that would drive a terminal: control characters and those
/// that turn the direction of text are shown as `␛` or `<U+202E>`.
pub fn markdown(transcript: &Transcript) -> String {
    markdown_while(transcript, || true).unwrap_or_default()
}

/// Writes the same as [`markdown`], as long as `goes_on` returns true before each message; otherwise `None`.
pub fn markdown_while(transcript: &Transcript, goes_on: impl Fn() -> bool) -> Option<String> {
    let mut text = format!("# {}\n\n", plain(&heading(transcript)));
    for (name, value) in summary(transcript) {
        text.push_str(&format!("- {name}: {}\n", code(&value)));
    }
    for entry in &transcript.entries {
        if !goes_on() {
            return None;
        }
        text.push_str(&format!("\n## {}\n\n", plain(&name_of(entry))));
        text.push_str(&body(transcript, entry));
    }
    Some(visible(&text))
}

fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if u32::from(c) < 0x20 => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            c if is_control_or_bidi(c) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

fn body(transcript: &Transcript, entry: &TranscriptEntry) -> String {
    let mut parts: Vec<String> = entry
        .message
        .content
        .iter()
        .filter_map(|part| part_of(transcript, entry.seq, part))
        .collect();
    if let Some(model) = &entry.model {
        parts.insert(0, format!("*answered by* {}", code(model)));
    }
    if entry.partial {
        parts.push("*interrupted here*".into());
    }
    if let Some(act) = &entry.act {
        parts.push(code(act));
    }
    if parts.is_empty() {
        parts.push("*no messages*".into());
    }
    parts.join("\n\n") + "\n"
}

fn part_of(transcript: &Transcript, seq: u64, part: &ContentPart) -> Option<String> {
    let text = match part {
        ContentPart::Text(text) => quoted(&with_own_footnotes(&text.text, &format!("{seq}-"))),
        ContentPart::Thinking(thinking) => {
            let text = with_own_footnotes(&thinking.text, &format!("{seq}-thought-"));
            format!("*thought:*\n\n{}", quoted(&text))
        }
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => media_name(media),
        ContentPart::ToolCall(call) => {
            let diff = transcript.diffs.get(&call.tool_call_id).map(String::as_str);
            let mut text = format!(
                "**{}** called with:\n\n{}",
                code(&call.name),
                fenced(&arguments(&call.input, diff), "json")
            );
            if let Some(diff) = diff {
                text.push_str(&format!("\n\n{}", fenced(diff, "diff")));
            }
            text
        }
        ContentPart::ToolResult(result) => {
            let mut text = fenced(&kinds(&result.content), "");
            if result.is_error {
                text.insert_str(0, "*it failed:*\n\n");
            }
            text
        }
        ContentPart::Opaque(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

fn media_name(media: &MediaPart) -> String {
    code(media.name.as_deref().unwrap_or(&media.media_type))
}

/// Returns the text with `prefix` before the label of each footnote, in the text and at its definition. In
/// one document, the first definition of a label stands for all, and the footnotes of other messages would be
/// lost.
fn with_own_footnotes(text: &str, prefix: &str) -> String {
    const BEGIN: &str = "[^";
    if !text.contains(BEGIN) {
        return text.to_owned();
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let events = Parser::new_ext(text, options).into_offset_iter();
    let is_footnote = |event: &Event<'_>| {
        matches!(
            event,
            Event::FootnoteReference(_) | Event::Start(Tag::FootnoteDefinition(_))
        )
    };
    let labels = events
        .filter(|(event, _)| is_footnote(event))
        .filter_map(|(_, place)| {
            let begins = text.get(place.clone())?.find(BEGIN)?;
            Some(place.start + begins + BEGIN.len())
        });
    let (mut own, mut done) = (String::with_capacity(text.len()), 0);
    for at in labels.collect::<BTreeSet<usize>>() {
        own.push_str(&text[done..at]);
        own.push_str(prefix);
        done = at;
    }
    own.push_str(&text[done..]);
    own
}

/// Writes text as a quotation. Its Markdown stays, but begins and ends in the quotation; its HTML becomes
/// text.
fn quoted(text: &str) -> String {
    let line = |line: &str| {
        if line.trim().is_empty() {
            ">".to_owned()
        } else {
            format!("> {line}")
        }
    };
    let lines: Vec<String> = text.trim_end().lines().map(line).collect();
    // Looked at as it will be read: quoted, and with its signs made visible.
    without_html(visible(&lines.join("\n")))
}

/// Maximum number of searches for HTML in a text: escaping some may change how the text after it is parsed.
const LOOKS: usize = 4;

/// The same text with each `<` that begins HTML written as `&lt;`; code is unchanged.
fn without_html(mut text: String) -> String {
    for _ in 0..LOOKS {
        let found = html_in(&text);
        if found.is_empty() {
            return text;
        }
        text = with_inert(&text, &found);
    }
    text.replace('<', "&lt;")
}

/// The same text without HTML in these ranges, which are in order.
fn with_inert(text: &str, html: &[Range<usize>]) -> String {
    let (mut inert, mut done) = (String::with_capacity(text.len()), 0);
    for place in html.iter().filter(|place| place.start < place.end) {
        // A range may lie within the one before it.
        let start = place.start.max(done);
        if start < place.end {
            inert.push_str(&text[done..start]);
            inert.push_str(&text[start..place.end].replace('<', "&lt;"));
            done = place.end;
        }
    }
    inert.push_str(&text[done..]);
    inert
}

/// Returns the ranges of HTML in a text, in order.
fn html_in(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let html = events.filter(|(event, _)| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
    html.map(|(_, place)| place).collect()
}

/// Words in a heading: one line, without HTML.
fn plain(text: &str) -> String {
    one_line(text).replace('<', "&lt;")
}

/// A heading has one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fence that is longer than any in the text.
fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let text = one_line(text);
    if text.starts_with('`') || text.ends_with('`') {
        format!("{ticks} {text} {ticks}")
    } else {
        format!("{ticks}{text}{ticks}")
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use agentx_types::{Message, Role, Timestamp, ToolCallPart, ToolResultPart};
    use pulldown_cmark::TagEnd;

    use super::*;

    #[test]
    fn nothing_drives_a_terminal() {
        assert_eq!(visible("a\tb\n你好"), "a\tb\n你好");
        assert_eq!(visible("\u{1b}]52;c;x\u{7}\r"), "␛]52;c;x␇␍");
        assert_eq!(visible("\u{9b}2J\u{202e}x\u{7f}"), "<U+009B>2J<U+202E>x<U+007F>");
        assert_eq!(visible("a\u{200e}b\u{200f}"), "a<U+200E>b<U+200F>");
    }

    #[test]
    fn html_in_nested_and_adjacent_places_becomes_text_once() {
        let text = "a<b>c<i>d";
        for (places, expected) in [
            (vec![], text),
            (vec![1..4, 5..8], "a&lt;b>c&lt;i>d"),
            (vec![1..8, 5..8], "a&lt;b>c&lt;i>d"),
            (vec![1..4, 4..9], "a&lt;b>c&lt;i>d"),
        ] {
            assert_eq!(with_inert(text, &places), expected, "{places:?}");
        }
        let long = "<b>".repeat(100_000);
        assert_eq!(without_html(long).matches('<').count(), 0);
    }

    #[test]
    fn nothing_gets_out_of_its_fence() {
        assert_eq!(fenced("a\n```\nb", ""), "````\na\n```\nb\n````");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(quoted("# a\n\nb\n"), "> # a\n>\n> b");
        assert_eq!(one_line("a\n# b"), "a # b");
    }

    #[test]
    fn html_in_a_quotation_is_text_and_code_stays_as_it_is() {
        for (said, shown) in [
            ("a < b", "> a < b"),
            ("`Vec<String>`", "> `Vec<String>`"),
            ("```\n<h2>\n```", "> ```\n> <h2>\n> ```"),
            ("- a\n  ```\n  <b>\n  ```", "> - a\n>   ```\n>   <b>\n>   ```"),
            (
                "</blockquote><h2>Person</h2>",
                "> &lt;/blockquote>&lt;h2>Person&lt;/h2>",
            ),
            ("<!-- \nall", "> &lt;!-- \n> all"),
            ("\\<h2>", "> \\<h2>"),
            ("\t<h2>", "> \t&lt;h2>"),
            ("` \n\n<h2>`", "> ` \n>\n> &lt;h2>`"),
            // Once the first tag is text, the code begins elsewhere.
            ("<a title=\"`\"> x `<h2>`", "> &lt;a title=\"`\"> x `&lt;h2>`"),
            (
                "| ` | a |\n| - | - |\n| ` | <h2> ` |",
                "> | ` | a |\n> | - | - |\n> | ` | &lt;h2> ` |",
            ),
        ] {
            assert_eq!(quoted(said), shown);
        }
    }

    #[test]
    fn each_message_keeps_its_own_footnotes() {
        let said =
            "So[^1] and[^note], not [^2] or `[^1]`.\n\n[^1]: *One.*\n\n    More[^note].\n\n[^note]: Two.";
        let own = "So[^7-1] and[^7-note], not [^2] or `[^1]`.\n\n[^7-1]: *One.*\n\n    More[^7-note].\n\n\
                   [^7-note]: Two.";
        assert_eq!(with_own_footnotes(said, "7-"), own);
        let message = |seq: u64| TranscriptEntry {
            seq,
            at: Timestamp(0),
            agent: None,
            model: None,
            message: Message {
                message_id: "msg_1".into(),
                role: Role::Assistant,
                content: vec![ContentPart::text("So[^1].\n\n[^1]: One.")],
                by: None,
            },
            partial: false,
            act: None,
        };
        let transcript = Transcript {
            entries: vec![message(3), message(8)],
            ..Transcript::default()
        };
        let written = markdown(&transcript);
        let options = Options::ENABLE_FOOTNOTES;
        let events: Vec<Event<'_>> = Parser::new_ext(&written, options).collect();
        let labels = |is: fn(&Event<'_>) -> Option<String>| events.iter().filter_map(is).collect::<Vec<_>>();
        let defined = labels(|event| match event {
            Event::Start(Tag::FootnoteDefinition(label)) => Some(label.to_string()),
            _ => None,
        });
        let referred = labels(|event| match event {
            Event::FootnoteReference(label) => Some(label.to_string()),
            _ => None,
        });
        assert_eq!(
            (defined, referred),
            (
                vec!["3-1".into(), "8-1".into()],
                vec!["3-1".to_owned(), "8-1".to_owned()]
            )
        );
    }

    /// For any text of anybody: every heading that a reader finds is the export's own, and nothing is HTML.
    #[test]
    fn nobodys_words_become_a_heading_or_html() {
        let hostile = [
            "## Person · 2026-11-20 12:36:15\n\n> yes, delete it",
            "Person · 2026-11-20 12:36:15\n---",
            "</blockquote>\n\n<h2>Person</h2>",
            "```\nnever closed",
            "<!-- never closed",
            "- ```\n<h2>Person</h2>",
            "    x\n## Person",
            "\u{d}## Person",
            "a\u{d}\n\u{d}\n## Person",
            "\u{b}\n## Person\u{c}\n## Person",
            "[a]: <\n## Person",
            "<pre>\n\n## Person\n",
        ];
        let message = |role: Role, text: &str| Message {
            message_id: "msg_1".into(),
            role,
            content: vec![
                ContentPart::text(text),
                ContentPart::Thinking(agentx_types::ThinkingPart {
                    text: text.to_owned(),
                    provider: None,
                }),
                ContentPart::ToolCall(ToolCallPart {
                    tool_call_id: "call_1".into(),
                    name: text.to_owned(),
                    input: serde_json::json!({ "x": text }),
                    provider: None,
                }),
                ContentPart::ToolResult(ToolResultPart {
                    tool_call_id: "call_1".into(),
                    name: text.to_owned(),
                    content: vec![ContentPart::text(text)],
                    is_error: true,
                }),
            ],
            by: None,
        };
        for text in hostile {
            let entries = [Role::User, Role::Assistant, Role::Tool].map(|role| TranscriptEntry {
                seq: 1,
                at: Timestamp(0),
                agent: Some(text.to_owned()).filter(|_| role == Role::Assistant),
                model: Some(text.to_owned()),
                message: message(role, text),
                partial: true,
                act: Some(text.to_owned()),
            });
            let transcript = Transcript {
                title: text.to_owned(),
                entries: entries.into(),
                diffs: [("call_1".into(), text.to_owned())].into(),
                ..Transcript::default()
            };
            let written = markdown(&transcript);
            assert!(html_in(&written).is_empty(), "{written}");
            let (mut depth, mut headings) = (0, 0);
            for event in Parser::new_ext(&written, Options::ENABLE_TABLES) {
                match event {
                    Event::Start(Tag::BlockQuote(_)) => depth += 1,
                    Event::End(TagEnd::BlockQuote(_)) => depth -= 1,
                    Event::Start(Tag::Heading { .. }) => headings += usize::from(depth == 0),
                    _ => {}
                }
            }
            assert_eq!(headings, 1 + transcript.entries.len(), "{written}");
        }
    }

    #[test]
    fn the_model_that_answered_is_named_where_it_is_another() {
        let message = |model: Option<&str>| TranscriptEntry {
            seq: 1,
            at: Timestamp(0),
            agent: None,
            model: model.map(str::to_owned),
            message: Message {
                message_id: "msg_1".into(),
                role: Role::Assistant,
                content: vec![ContentPart::text("So.")],
                by: None,
            },
            partial: false,
            act: None,
        };
        let transcript = Transcript {
            entries: vec![message(None), message(Some("flint"))],
            ..Transcript::default()
        };
        let written = markdown(&transcript);
        assert_eq!(written.matches("*answered by*").count(), 1, "{written}");
        assert!(written.contains("*answered by* `flint`\n\n> So."), "{written}");
        let page = crate::transcript::html(&transcript);
        assert!(
            page.contains("<p class=\"place\">answered by flint</p>\n<p>So.</p>"),
            "{page}"
        );
    }

    #[test]
    fn what_another_person_did_is_told_under_their_name() {
        let message = Message {
            message_id: "".into(),
            role: Role::User,
            content: Vec::new(),
            by: Some("own_b".into()),
        };
        let transcript = Transcript {
            entries: vec![TranscriptEntry {
                seq: 1,
                at: Timestamp(0),
                agent: None,
                model: None,
                message,
                partial: false,
                act: Some("stopped the run".into()),
            }],
            ..Transcript::default()
        };
        let written = markdown(&transcript);
        assert!(written.contains("Another person (own_b)"), "{written}");
        assert!(written.contains("`stopped the run`"), "{written}");
        assert!(!written.contains("nothing was said"), "{written}");
        assert_eq!(markdown_while(&transcript, || false), None, "nobody waits for it");
    }
}
