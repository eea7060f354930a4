//! A transcript as Markdown. What a model wrote is Markdown already and stands as it is; what a person or a tool said is quoted or
//! fenced, so that it cannot be taken for the model's.

use agentx_types::{ContentPart, MediaPart, Role};

use super::page::{arguments, heading, kinds, name_of, summary};
use super::{Entry, Transcript};

/// Writes a session down as Markdown.
pub fn markdown(transcript: &Transcript) -> String {
    let mut text = format!("# {}\n\n", one_line(&heading(transcript)));
    for (name, value) in summary(transcript) {
        text.push_str(&format!("- {name}: {}\n", code(&value)));
    }
    for entry in &transcript.entries {
        text.push_str(&format!("\n## {}\n\n", one_line(&name_of(entry))));
        text.push_str(&body(transcript, entry));
    }
    text
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
    fn nothing_gets_out_of_its_fence() {
        assert_eq!(fenced("a\n```\nb", ""), "````\na\n```\nb\n````");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(quoted("# a\n\nb\n"), "> # a\n>\n> b");
        assert_eq!(one_line("a\n# b"), "a # b");
    }
}
