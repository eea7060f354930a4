//! The question of a running tool, as an MCP server and the sandbox ask it: its choices, and the answer that
//! a typed line is. It is answered with the same words as other questions: `y` accepts, with words behind it
//! if it has fields; `n` and `-` decline; a number or the word itself takes one of its choices. Other words
//! are messages to the agent, because an answer goes to another program.

use agentx::types::ApprovalDecision;
use serde_json::Value;

use super::approval_reply::ApprovalReply;
use super::clean::visible;

/// The line that declines, as in questions of the model.
pub(crate) const DECLINES: &str = "-";
/// Maximum number of choices with numbers.
const MOST_CHOICES: usize = 20;

/// Returns whether a form has fields to fill in; without any, it is a question for yes or no.
pub(crate) fn has_fields(form: &Value) -> bool {
    form["properties"]
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
}

/// Returns the choices of a form whose only field takes one of a list; none of any other form.
pub(crate) fn choices(form: &Value) -> Vec<&str> {
    let fields = form["properties"].as_object();
    let Some(field) = fields
        .filter(|fields| fields.len() == 1)
        .and_then(|fields| fields.values().next())
    else {
        return Vec::new();
    };
    if field["type"] == "boolean" {
        return vec!["yes", "no"];
    }
    if field["type"] == "array" {
        return Vec::new();
    }
    let listed = field["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let titled = field["oneOf"]
        .as_array()
        .or(field["anyOf"].as_array())
        .into_iter()
        .flatten();
    let all = listed.chain(titled.filter_map(|choice| choice["const"].as_str()));
    all.take(MOST_CHOICES).collect()
}

/// Returns the choices as lines, each with its number.
pub(crate) fn numbered(form: &Value) -> Vec<String> {
    let choices = choices(form).into_iter().enumerate();
    choices
        .map(|(index, choice)| format!("    {}. {}", index + 1, visible(choice)))
        .collect()
}

/// Reads a line as the answer to a form; `None` if it is none.
pub(crate) fn reply(line: &str, form: &Value) -> Option<ApprovalReply> {
    let line = line.trim();
    let choices = choices(form);
    let chosen = |words: &str| {
        let number = words.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let by_number = number.and_then(|index| choices.get(index)).copied();
        choices
            .iter()
            .find(|choice| **choice == words)
            .copied()
            .or(by_number)
    };
    let answer = |decision, note: Option<&str>| {
        Some(ApprovalReply {
            decision,
            note: note.filter(|note| !note.is_empty()).map(str::to_owned),
            pattern: None,
        })
    };
    let (word, rest) = line.split_once([' ', ',', ':', '—']).unwrap_or((line, ""));
    let rest = rest.trim();
    match word.to_lowercase().as_str() {
        _ if line == DECLINES => answer(ApprovalDecision::Deny, None),
        "decline" | "cancel" if rest.is_empty() => answer(ApprovalDecision::Deny, None),
        "n" | "no" => answer(ApprovalDecision::Deny, Some(rest)),
        "y" | "yes" | "accept" => answer(ApprovalDecision::Once, Some(chosen(rest).unwrap_or(rest))),
        _ => answer(ApprovalDecision::Once, Some(chosen(line)?)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(line: &str, form: &Value) -> Option<(ApprovalDecision, Option<String>)> {
        reply(line, form).map(|reply| (reply.decision, reply.note))
    }

    fn accepted(note: &str) -> Option<(ApprovalDecision, Option<String>)> {
        Some((ApprovalDecision::Once, Some(note.to_owned())))
    }

    #[test]
    fn a_choice_is_taken_by_its_number_or_its_word() {
        for field in [
            json!({"type": "string", "enum": ["red", "dark blue"]}),
            json!({"type": "string", "oneOf": [{"const": "red", "title": "R"}, {"const": "dark blue"}]}),
        ] {
            let form = json!({"type": "object", "properties": {"colour": field}});
            assert_eq!(numbered(&form), ["    1. red", "    2. dark blue"]);
            for line in ["2", "y 2", "dark blue", "y dark blue", "accept 2"] {
                assert_eq!(said(line, &form), accepted("dark blue"), "{line}");
            }
            for line in ["3", "0", "blue", "then run the tests"] {
                assert_eq!(said(line, &form), None, "{line}");
            }
        }
        let switch = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
        assert_eq!(
            (said("1", &switch), said("y no", &switch)),
            (accepted("yes"), accepted("no"))
        );
        assert_eq!(
            said("n", &switch),
            Some((ApprovalDecision::Deny, None)),
            "it declines"
        );
    }

    #[test]
    fn every_form_is_accepted_and_declined_in_the_same_words() {
        let text = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let empty = json!({"type": "object"});
        assert!(has_fields(&text) && !has_fields(&empty) && !has_fields(&Value::Null));
        for form in [&text, &empty, &Value::Null] {
            assert!(choices(form).is_empty());
            for line in ["n", "No", "-", "decline", "cancel"] {
                assert_eq!(said(line, form), Some((ApprovalDecision::Deny, None)), "{line}");
            }
            assert_eq!(said("y", form), Some((ApprovalDecision::Once, None)));
            for line in ["1", "always", "- a list", "cancel that", "Ada"] {
                assert_eq!(said(line, form), None, "{line}");
            }
        }
        assert_eq!(said("y: Ada, 36", &text), accepted("Ada, 36"));
    }
}
