//! `wait`: the model suspends its run until a time. The machine sets a timer; the log has the time at which
//! it is due, so that the program may end meanwhile, and the next program that opens the session ends the
//! wait.
//!
//! An agent has this tool only if its program enables it (`tools.optional: [wait]`, or its name in the file
//! of an agent), because a waiting run resumes without a person.

use agentx_types::{Access, AgentConfig, Timestamp, ToolSpec, since};
use serde_json::{Value, json};

/// The tool that waits.
pub const WAIT: &str = "wait";
/// Maximum length of a wait, in seconds.
pub const LONGEST_WAIT_SECONDS: u64 = 31 * DAY;
/// The seconds of a day.
const DAY: u64 = 24 * 3_600;
/// Maximum number of characters of a reason that lists show.
const SHOWN_REASON_CHARS: usize = 200;

/// The tool, if the agent has it and no other tool of this name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    let has_it = config.wait && config.rules_version >= since::WAITS_ARE_FACTS;
    (has_it && !config.tools.iter().any(|tool| tool.name == WAIT)).then(tool)
}

/// Returns the tool's description for the model.
pub fn tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT_SECONDS, "description": "How long to wait."},
            "until": {"type": "string", "description": "The time until which to wait, with its offset (RFC 3339), in place of `seconds`: 2026-11-30T08:00:00+01:00."},
            "reason": {"type": "string", "description": "What you wait for, in one line, for the person."},
        },
        "required": ["reason"],
        "additionalProperties": false,
    });
    let about = "Waits until a time, at most 31 days, and then continues; the program may end meanwhile. Use it for what takes its time elsewhere, such as a build or an answer of a person, not for a command that runs in this session.";
    ToolSpec::new(WAIT.to_owned(), about.to_owned(), schema, Access::Internal).with_idempotent(true)
}

/// Reads the arguments of a call at the time `now`. An `Err` is the message to the model about them.
///
/// | arguments | result |
/// | --- | --- |
/// | `seconds`, from 1 to those of 31 days | so many seconds after `now` |
/// | `until`, a time of the next 31 days | that time |
/// | both, or neither | `Err` |
/// | any other | `Err` that says what is allowed |
pub(crate) fn due_at(input: &Value, now: Timestamp) -> Result<Timestamp, String> {
    let until = TimeArgument {
        key: "until",
        longest_days: LONGEST_WAIT_SECONDS / DAY,
    };
    time_in(input, now, until)
}

/// An argument that names a time, beside `seconds`.
#[derive(Clone, Copy)]
pub(crate) struct TimeArgument {
    /// Its name.
    pub(crate) key: &'static str,
    /// Maximum number of days until the time.
    pub(crate) longest_days: u64,
}

/// Reads the time in the arguments of a call: `seconds`, or a time with its offset. An `Err` is the message
/// to the model about them.
pub(crate) fn time_in(input: &Value, now: Timestamp, argument: TimeArgument) -> Result<Timestamp, String> {
    let TimeArgument { key, longest_days } = argument;
    let longest = longest_days * DAY;
    let given = |key: &str| input.get(key).filter(|value| !value.is_null());
    match (given("seconds"), given(key)) {
        (Some(seconds), None) => {
            let seconds = seconds.as_u64().filter(|seconds| (1..=longest).contains(seconds));
            let millis = seconds
                .map(|seconds| seconds * 1_000)
                .ok_or_else(|| format!("`seconds` has to be a whole number from 1 to {longest}."))?;
            Ok(now.after_millis(millis))
        }
        (None, Some(time)) => {
            let time = time.as_str().and_then(Timestamp::from_rfc3339).ok_or_else(|| {
                format!("`{key}` has to be a time with its offset, such as 2026-11-30T08:00:00+01:00.")
            })?;
            if time <= now {
                return Err(format!("`{key}` is over: it is {} now.", now.rfc3339()));
            }
            if time.millis_since(now) > longest * 1_000 {
                return Err(format!(
                    "`{key}` is more than {longest_days} days away: it is {} now.",
                    now.rfc3339()
                ));
            }
            Ok(time)
        }
        (Some(_), Some(_)) => Err(format!("Give `seconds` or `{key}`, not both.")),
        (None, None) => Err(format!("Give `seconds` or `{key}`.")),
    }
}

/// Returns what a call waits for, as its model says it, in one line of at most 200 characters.
///
/// ```
/// use agentx_agent::wait;
/// use serde_json::json;
///
/// assert_eq!(wait::reason(&json!({"seconds": 5, "reason": "the\nbuild"})), "the build");
/// assert_eq!(wait::reason(&json!({"seconds": 5})), "");
/// ```
pub fn reason(input: &Value) -> String {
    let reason = input.get("reason").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = reason.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN_REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_763_629_200_000_000);

    #[test]
    fn a_wait_ends_after_the_seconds_or_at_the_time_that_it_names() {
        let due = |input: Value| due_at(&input, NOW).unwrap();
        assert_eq!(due(json!({"seconds": 90})), Timestamp(NOW.0 + 90_000_000));
        assert_eq!(
            due(json!({"seconds": 90, "until": null})),
            Timestamp(NOW.0 + 90_000_000)
        );
        let until = Timestamp(NOW.0 + 3_600_000_000);
        assert_eq!(due(json!({"until": until.rfc3339()})), until);
    }

    #[test]
    fn a_wait_is_bounded_and_a_refusal_says_what_is_wrong() {
        let past = NOW.rfc3339();
        let far = NOW.after_millis(32 * 86_400_000).rfc3339();
        for (input, words) in [
            (json!({}), "Give `seconds` or `until`."),
            (json!({"seconds": 1, "until": "x"}), "not both"),
            (json!({"seconds": 0}), "from 1 to 2678400"),
            (json!({"seconds": -1}), "from 1 to 2678400"),
            (json!({"seconds": 2_678_401}), "from 1 to 2678400"),
            (json!({"until": "tomorrow"}), "2026-11-30T08:00:00+01:00"),
            (json!({"until": past}), "`until` is over"),
            (json!({"until": far}), "more than 31 days away"),
        ] {
            let refused = due_at(&input, NOW).unwrap_err();
            assert!(refused.contains(words), "{input}: {refused}");
        }
    }
}
