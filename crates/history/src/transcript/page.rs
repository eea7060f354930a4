//! Texts that both forms of a transcript share.

use agentx_types::{ContentPart, Role, Usage};
use serde_json::{Map, Value};

use super::{Transcript, TranscriptEntry, time_of};

/// Returns the heading.
pub(super) fn heading(transcript: &Transcript) -> String {
    match (transcript.title.trim(), &transcript.session_id) {
        ("", Some(id)) => id.to_string(),
        ("", None) => "A session".into(),
        (title, _) => title.to_owned(),
    }
}

/// Returns the facts about the whole session.
pub(super) fn summary(transcript: &Transcript) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(id) = &transcript.session_id {
        lines.push(("session", id.to_string()));
    }
    if let Some((parent, at_seq)) = &transcript.parent {
        lines.push(("fork of", format!("{parent} at {at_seq}")));
    }
    lines.push(("model", transcript.model.clone()));
    lines.push(("directory", transcript.workspace.clone()));
    if let (Some(first), Some(last)) = (transcript.entries.first(), transcript.entries.last()) {
        let (first, last) = (time_of(first.at), time_of(last.at));
        lines.push(("time", format!("{first} to {last} UTC")));
    }
    let usage = &transcript.usage;
    let read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    // Models that were called and cost nothing have no known price; those of the offline demo are free.
    let is_free = ["scripted", "demo"].contains(&transcript.model.as_str());
    let has_no_price = transcript.cost_usd == 0.0 && *usage != Usage::default() && !is_free;
    let cost = if has_no_price {
        "$?".to_owned()
    } else {
        format!("${:.4}", transcript.cost_usd)
    };
    lines.push((
        "tokens",
        format!("{read} in, {} out, {cost}", usage.output_tokens),
    ));
    lines.retain(|(_, value)| !value.is_empty());
    lines
}

/// Returns the speaker and the time. An agent's name is arbitrary, so no line begins with it.
pub(super) fn name_of(entry: &TranscriptEntry) -> String {
    let who = match (entry.message.role, &entry.agent) {
        (Role::System, None) => "Instructions".to_owned(),
        (Role::User, None) => match &entry.message.by {
            Some(by) => format!("Another person ({by})"),
            None => "Person".to_owned(),
        },
        (Role::Assistant, None) => "Model".to_owned(),
        (Role::Tool, None) => "Tool".to_owned(),
        (Role::System, Some(agent)) => format!("Instructions of {agent}"),
        (Role::User, Some(agent)) => format!("To {agent}"),
        (Role::Assistant, Some(agent)) => format!("Agent {agent}"),
        (Role::Tool, Some(agent)) => format!("Tool of {agent}"),
    };
    format!("{who} · {}", time_of(entry.at))
}

/// The arguments of a call, laid out. If its diff is shown, the arguments in the diff are left out.
pub(super) fn arguments(input: &Value, diff: Option<&str>) -> String {
    const SHOWN: [&str; 3] = ["old_string", "new_string", "content"];
    if let (Some(_), Value::Object(all)) = (diff, input) {
        let rest = all.iter().filter(|(name, _)| !SHOWN.contains(&name.as_str()));
        let rest: Map<String, Value> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        return arguments(&Value::Object(rest), None);
    }
    serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string())
}

/// The text in a result; other parts are named.
pub(super) fn kinds(content: &[ContentPart]) -> String {
    let mut text = String::new();
    for part in content {
        match part {
            ContentPart::Text(part) => text.push_str(&part.text),
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                text.push_str(&format!(
                    "[{}]\n",
                    media.name.as_deref().unwrap_or(&media.media_type)
                ));
            }
            _ => {}
        }
    }
    text
}
