//! A transcript as Markdown. What a model wrote is Markdown already and stands as it is; what a person or a tool said is quoted or
//! fenced, so that it cannot be taken for the model's.

use agentx_types::{ContentPart, MediaPart, Role};

use super::page::{arguments, heading, kinds, name_of, summary};
use super::{Entry, Transcript};

/// Writes a session down as Markdown, without signs that would drive a terminal: control characters and those that turn the direction
/// of text are shown as `␛` or `<U+202E>`.
pub fn markdown(transcript: &Transcript) -> String {
    let mut text = format!("# {}\n\n", one_line(&heading(transcript)));
    for (name, value) in summary(transcript) {
        text.push_str(&format!("- {name}: {}\n", code(&value)));
    }
    for entry in &transcript.entries {
        text.push_str(&format!("\n## {}\n\n", one_line(&name_of(entry))));
        text.push_str(&body(transcript, entry));
    }
    visible(&text)
}

fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if u32::from(c) < 0x20 => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

fn body(transcript: &Transcript, entry: &Entry) -> String {
    let mut parts: Vec<String> = entry
        .message
        .content
        .iter()
        .filter_map(|part| part_of(transcript, entry.message.role, part))
        .collect();
    if entry.partial {
        parts.push("*it broke off here*".into());
    }
    if parts.is_empty() {
        parts.push("*nothing was said*".into());
    }
    parts.join("\n\n") + "\n"
}

fn part_of(transcript: &Transcript, role: Role, part: &ContentPart) -> Option<String> {
    let text = match part {
        ContentPart::Text(text) if role == Role::Assistant => text.text.trim_end().to_owned(),
        ContentPart::Text(text) => quoted(&text.text),
        ContentPart::Thinking(thinking) => format!("*thought:*\n\n{}", quoted(&thinking.text)),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => media_name(media),
        ContentPart::ToolCall(call) => {
            let diff = transcript.diffs.get(&call.tool_call_id).map(String::as_str);
            let mut text = format!(
                "**{}** is asked for:\n\n{}",
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

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// A heading has one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fence that is longer than any that stands in the text.
fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let text = one_line(text);
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{ticks} {text} {ticks}"),
        false => format!("{ticks}{text}{ticks}"),
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_a_terminal() {
        assert_eq!(visible("a\tb\n你好"), "a\tb\n你好");
        assert_eq!(visible("\u{1b}]52;c;x\u{7}\r"), "␛]52;c;x␇␍");
        assert_eq!(visible("\u{9b}2J\u{202e}x\u{7f}"), "<U+009B>2J<U+202E>x<U+007F>");
    }

    #[test]
    fn nothing_gets_out_of_its_fence() {
        assert_eq!(fenced("a\n```\nb", ""), "````\na\n```\nb\n````");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(quoted("# a\n\nb\n"), "> # a\n>\n> b");
        assert_eq!(one_line("a\n# b"), "a # b");
    }
}
