//! `ask_user`: the model asks the person a question, with answers to choose from or for free text. The
//! machine asks the question itself: it waits like a call that needs a decision, so every front end can
//! answer it, a restart asks it again, and the answer is an `approval` in the log.
//!
//! | the person's decision | the model reads |
//! | --- | --- |
//! | `once`, with a note | the note; the number of a choice means that choice |
//! | `once`, without a note | nothing: the question stays open (`yes` before version 9 of the rules) |
//! | `deny` | that there is no answer, and the note |
//! | `deny`, with [`NOBODY_ANSWERS`](agentx_types::NOBODY_ANSWERS) as the note | only that |
//!
//! If the approval mode refuses instead of asking, nobody can answer: then the result says so, or the
//! question waits, depending on [`AskUser`]. Rules that ask or allow have no effect here; a rule that denies
//! does.

use agentx_types::{Access, AgentConfig, ApprovalMode, AskUser, AskedQuestion, ToolSpec};

use serde_json::{Value, json};

/// The tool that asks the person.
pub const ASK_USER: &str = "ask_user";
/// Maximum length of a question, in characters.
pub const MOST_QUESTION_CHARS: usize = 2_000;
/// Maximum number of choices.
pub const MOST_CHOICES: usize = 10;
/// Maximum length of a choice, in characters.
pub const MOST_CHOICE_CHARS: usize = 200;

/// The tool, if the agent has it and no other tool of this name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    config.ask_user?;
    (!config.tools.iter().any(|tool| tool.name == ASK_USER)).then(tool)
}

/// Returns whether a question is answered with [`NOBODY_ANSWERS`](agentx_types::NOBODY_ANSWERS) instead of
/// waiting.
pub(crate) fn is_unattended(config: &AgentConfig) -> bool {
    config.approval == ApprovalMode::Deny && config.ask_user != Some(AskUser::Wait)
}

/// Returns the tool's description for the model.
pub fn tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question, with all that the person has to know to answer it. At most 2000 characters."},
            "choices": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from, 2 to 10, each at most 200 characters, the one that you recommend first. The person may answer in other words. Leave it out for free text."},
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    let about = "Asks the person a question and waits for the answer. Use it if the task can be read in different ways, or if only the person can decide; not for what you can find out yourself, and not for leave to call a tool, which is asked for by itself.";
    ToolSpec::new(ASK_USER.to_owned(), about.to_owned(), schema, Access::Internal).with_idempotent(true)
}

/// Reads the arguments of a call. An `Err` is the message to the model about them.
///
/// | arguments | result |
/// | --- | --- |
/// | `question` is missing, not a text, or only blanks | `Err` |
/// | `question` has more than 2,000 characters | `Err` |
/// | `choices` is missing or empty | a question for free text |
/// | 1 choice, or more than 10 | `Err` |
/// | a choice is empty, longer than 200 characters, or there twice | `Err` that names its number |
/// | any other | a question; blanks around each choice are removed |
pub(crate) fn question(input: &Value) -> Result<AskedQuestion, String> {
    let question = input.get("question").and_then(Value::as_str).unwrap_or_default();
    let length = question.chars().count();
    if question.trim().is_empty() {
        return Err("`question` is empty.".to_owned());
    }
    if length > MOST_QUESTION_CHARS {
        return Err(format!(
            "`question` has {length} characters; at most {MOST_QUESTION_CHARS} are shown to the person."
        ));
    }
    let choices = input.get("choices").and_then(Value::as_array);
    let choices: Vec<String> = choices
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|choice| choice.trim().to_owned())
        .collect();
    let count = choices.len();
    if count == 1 || count > MOST_CHOICES {
        return Err(format!(
            "`choices` has {count} entries; give 2 to {MOST_CHOICES}, or none."
        ));
    }
    for (index, choice) in choices.iter().enumerate() {
        let length = choice.chars().count();
        let what = match length {
            0 => "is empty".to_owned(),
            _ if length > MOST_CHOICE_CHARS => {
                format!("has {length} characters; at most {MOST_CHOICE_CHARS} are allowed")
            }
            _ if choices[..index].contains(choice) => "is there twice".to_owned(),
            _ => continue,
        };
        return Err(format!("Entry {} of `choices` {what}.", index + 1));
    }
    Ok(AskedQuestion {
        question: question.to_owned(),
        choices,
        is_plan: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_bounded_and_a_refusal_says_what_is_wrong() {
        let long = "x".repeat(MOST_QUESTION_CHARS + 1);
        let many: Vec<String> = (0..=MOST_CHOICES).map(|n| n.to_string()).collect();
        let cases = [
            (json!({"question": "  \n"}), "`question` is empty."),
            (json!({"question": long}), "has 2001 characters; at most 2000"),
            (
                json!({"question": "q", "choices": ["a"]}),
                "has 1 entries; give 2 to 10",
            ),
            (json!({"question": "q", "choices": many}), "has 11 entries"),
            (
                json!({"question": "q", "choices": ["a", " "]}),
                "Entry 2 of `choices` is empty.",
            ),
            (
                json!({"question": "q", "choices": ["a", "a "]}),
                "Entry 2 of `choices` is there twice.",
            ),
            (
                json!({"question": "q", "choices": ["a", "y".repeat(201)]}),
                "has 201 characters",
            ),
        ];
        for (input, words) in cases {
            let refused = question(&input).unwrap_err();
            assert!(refused.contains(words), "{input}: {refused}");
        }
        let asked = question(&json!({"question": "Which?", "choices": [" red", "blue"]})).unwrap();
        assert_eq!(asked.choices, ["red", "blue"]);
    }
}
