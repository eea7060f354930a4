//! `remind_me`: the model sets a reminder for the person. The machine sets a timer; the log has the time at
//! which it is due, so that the program may end meanwhile. A reminder that is due opens a run, in which the
//! model tells the person.
//!
//! An agent has this tool only if the person's settings enable it (`tools.optional: [remind_me]`), because a
//! run begins without a person.

use agentx_types::{Access, AgentConfig, ReminderSettings, Timestamp, ToolSpec, since};
use serde_json::{Value, json};

use super::wait::{TimeArgument, time_in};

/// The tool that sets reminders.
pub const REMIND_ME: &str = "remind_me";
/// Maximum number of reminders of a session that are not due.
pub const MAX_REMINDERS: usize = 50;
/// Maximum number of days until a reminder is due.
const LONGEST_DAYS: u64 = 366;
/// Maximum length of a reminder, in characters.
const LONGEST_TEXT: usize = 500;

/// The tool, if the agent has it and no other tool of this name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    let is_new = config.rules_version >= since::REMINDERS_ARE_FACTS;
    let settings = config.reminders.as_ref().filter(|_| is_new)?;
    let is_free = !config.tools.iter().any(|tool| tool.name == REMIND_ME);
    is_free.then(|| tool(settings))
}

/// Returns the tool's description for the model.
pub fn tool(settings: &ReminderSettings) -> ToolSpec {
    let zone = match settings.time_zone.as_str() {
        "" => String::new(),
        zone => format!(" The user's time zone is {zone}."),
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "description": "What to remind the user of, in one sentence in their language."},
            "at": {"type": "string", "description": format!("When, with the offset of the user's time zone (RFC 3339): 2026-11-30T08:00:00+01:00.{zone}")},
            "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_DAYS * 86_400, "description": "In how many seconds, in place of `at`."},
        },
        "required": ["text"],
        "additionalProperties": false,
    });
    let about = "Reminds the user once, at a time that they asked for, within a year. Returns at once; when it is time, you get a message and tell them. Only set what the user asked for.";
    ToolSpec::new(REMIND_ME.to_owned(), about.to_owned(), schema, Access::Internal).with_idempotent(true)
}

/// Reads the arguments of a call at the time `now`: the text in one line, and the time. An `Err` is the
/// message to the model about them.
pub(crate) fn reminder(input: &Value, now: Timestamp) -> Result<(String, Timestamp), String> {
    let text = input.get("text").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let length = text.chars().count();
    if length == 0 || length > LONGEST_TEXT {
        return Err(format!("`text` has to have 1 to {LONGEST_TEXT} characters."));
    }
    let at = TimeArgument {
        key: "at",
        longest_days: LONGEST_DAYS,
    };
    Ok((text, time_in(input, now, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_763_629_200_000_000);

    #[test]
    fn a_reminder_has_words_and_a_time_of_the_next_year() {
        let at = NOW.after_millis(86_400_000 * 200);
        let read = reminder(&json!({"text": " call\nBob ", "at": at.rfc3339()}), NOW);
        assert_eq!(read, Ok(("call Bob".to_owned(), at)));
        let read = reminder(&json!({"text": "tea", "seconds": 90}), NOW);
        assert_eq!(read, Ok(("tea".to_owned(), NOW.after_millis(90_000))));
    }

    #[test]
    fn a_refusal_says_what_is_wrong() {
        let far = NOW.after_millis(86_400_000 * 367).rfc3339();
        for (input, words) in [
            (json!({"seconds": 5}), "`text` has to have"),
            (json!({"text": " ", "seconds": 5}), "`text` has to have"),
            (json!({"text": "x".repeat(501), "seconds": 5}), "1 to 500"),
            (json!({"text": "tea"}), "Give `seconds` or `at`."),
            (
                json!({"text": "tea", "at": "8:00"}),
                "`at` has to be a time with its offset",
            ),
            (
                json!({"text": "tea", "at": "2020-01-01T08:00:00Z"}),
                "`at` is over",
            ),
            (json!({"text": "tea", "at": far}), "more than 366 days away"),
        ] {
            let refused = reminder(&input, NOW).unwrap_err();
            assert!(refused.contains(words), "{input}: {refused}");
        }
    }

    #[test]
    fn the_model_is_told_the_time_zone_of_the_person() {
        let settings = ReminderSettings {
            time_zone: "Europe/Berlin".into(),
        };
        let schema = tool(&settings).input_schema.to_string();
        assert!(schema.contains("time zone is Europe/Berlin"), "{schema}");
    }
}
