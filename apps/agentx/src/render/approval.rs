//! The question about a tool call, and the answers that a person may type.

use agentx::config::show_rule;
use agentx::runtime::PendingApproval;
use agentx::types::{ApprovalDecision, ApprovalRequested};
use serde_json::Value;

use super::clean::visible;
use super::style::Style;

/// The words before the cursor while a question is open.
pub(crate) const PROMPT: &str = "allow? y once · s session · a always · n no › ";

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What was decided.
    pub(crate) decision: ApprovalDecision,
    /// A word to the model.
    pub(crate) note: Option<String>,
}

/// A question that was open before, as it was put then.
pub(crate) fn open(asked: &PendingApproval) -> ApprovalRequested {
    ApprovalRequested {
        tool_call_id: asked.tool_call_id.clone(),
        name: asked.name.clone(),
        input: asked.input.clone(),
        reason: asked.reason.clone(),
        suggested: asked.suggested.clone(),
    }
}

/// What is asked: every argument whole, nothing hidden in it; why; and the rule that "always" would keep.
pub(crate) fn question(request: &ApprovalRequested, style: Style) -> String {
    let mut text = format!(
        "{} {}\n",
        style.warn("?"),
        style.bold(&format!("{} wants to run", visible(&request.name)))
    );
    match &request.input {
        Value::Object(arguments) => {
            for (name, value) in arguments {
                argument(&mut text, name, value);
            }
        }
        other => argument(&mut text, "input", other),
    }
    if !request.reason.is_empty() {
        text.push_str(&style.dim(&format!("  because {}", visible(&request.reason))));
        text.push('\n');
    }
    let rule = visible(&show_rule(&request.suggested));
    text.push_str(&style.dim(&format!("  always would keep: {rule}")));
    text.push('\n');
    text
}

fn argument(text: &mut String, name: &str, value: &Value) {
    let shown = match value {
        Value::String(words) => words.clone(),
        other => other.to_string(),
    };
    let mut lines = shown.split('\n');
    text.push_str(&format!(
        "  {}: {}\n",
        visible(name),
        visible(lines.next().unwrap_or_default())
    ));
    for line in lines {
        text.push_str(&format!("    {}\n", visible(line)));
    }
}

/// Reads an answer: a letter or its word, and after `n` a word to the model. Anything else is no answer, so that what
/// a person types for the agent never decides by accident.
pub(crate) fn parse(line: &str) -> Option<Answer> {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':', '—']).unwrap_or((line, ""));
    let rest = rest.trim();
    let decision = match word.to_lowercase().as_str() {
        "y" | "yes" | "once" => ApprovalDecision::Once,
        "s" | "session" => ApprovalDecision::Session,
        "a" | "always" => ApprovalDecision::Always,
        "n" | "no" => ApprovalDecision::Deny,
        _ => return None,
    };
    if decision != ApprovalDecision::Deny && !rest.is_empty() {
        return None;
    }
    Some(Answer {
        decision,
        note: (!rest.is_empty()).then(|| rest.to_owned()),
    })
}

/// The answer in words, for the record above.
pub(crate) fn answered(answer: &Answer) -> &'static str {
    match answer.decision {
        ApprovalDecision::Once => "allowed once",
        ApprovalDecision::Session => "allowed for this session",
        ApprovalDecision::Always => "always allowed",
        ApprovalDecision::Deny => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clear_answers_decide() {
        let deny = |note: &str| {
            Some(Answer {
                decision: ApprovalDecision::Deny,
                note: Some(note.into()),
            })
        };
        assert_eq!(
            parse(" Y "),
            Some(Answer {
                decision: ApprovalDecision::Once,
                note: None
            })
        );
        assert_eq!(
            parse("always"),
            Some(Answer {
                decision: ApprovalDecision::Always,
                note: None
            })
        );
        assert_eq!(parse("n use git mv"), deny("use git mv"));
        assert_eq!(parse("no, 用别的"), deny("用别的"));
        for line in ["", "yes please do", "yess", "a new idea", "nope", "maybe"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
