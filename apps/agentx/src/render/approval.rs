//! The question about a tool call, and the answers that a person may type.

use agentx::config::show_rule;
use agentx::runtime::{FileInQuestion, PendingApproval};
use agentx::types::{ApprovalDecision, ApprovalRequested};
use agentx_terminal::{Line, Row};
use serde_json::Value;

use super::clean::visible;
use super::diff::unified;
use super::style::Style;

/// The words before the cursor while a question is open.
pub(crate) const PROMPT: &str = "allow? y once · s session · a always · n no › ";

/// The same in a terminal that is so wide: broken between words.
pub(crate) fn prompt_in(width: usize) -> String {
    let rows = Line::new(PROMPT.trim_end(), Default::default()).rows(width.saturating_sub(2).max(1));
    let rows: Vec<String> = rows.iter().map(Row::text).collect();
    format!("{} ", rows.join("\n"))
}

/// The same, where keys are read one by one.
pub(crate) const PROMPT_OF_KEYS: &str = "allow? y once · s session · a always · n no · with Alt at once › ";

/// The same, for who listens.
const PROMPT_IN_WORDS: &str =
    "allow it? type y for this once, s for this session, a for always, n for no, and press Enter";

/// What is printed where the answer is a line.
pub(crate) fn prompt_of_lines(style: Style) -> &'static str {
    style.sign(PROMPT.trim_end(), PROMPT_IN_WORDS)
}

/// What can be typed besides, where a rule is kept.
const OTHER_RULE: &str = "  (a PATTERN keeps another)";

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What was decided.
    pub(crate) decision: ApprovalDecision,
    /// A word to the model.
    pub(crate) note: Option<String>,
    /// The pattern that the kept rule is to have, in place of the one that was shown.
    pub(crate) pattern: Option<String>,
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

/// The question as a chat puts it: whoever may answer may also name another rule.
pub(crate) fn put(request: &ApprovalRequested, file: &FileInQuestion, may: bool, style: Style) -> String {
    let text = question(request, file, style);
    match may {
        true => format!("{}{}\n", text.trim_end(), style.dim(OTHER_RULE)),
        false => text,
    }
}

/// Lines of a change that are shown.
const DIFF_LINES: usize = 40;

/// The file that a call changes, where it changes one.
pub(crate) fn edited_path(request: &ApprovalRequested) -> Option<&str> {
    let input = &request.input;
    let edits = input.get("old_string").is_some() && input.get("new_string").is_some();
    let writes = request.name == "write" && input.get("content").is_some();
    (edits || writes).then(|| input.get("path")?.as_str()).flatten()
}

/// A change as a diff: of the file, where it is known as it is, else of what is replaced.
fn change(request: &ApprovalRequested, before: Option<&str>, style: Style) -> Option<Vec<String>> {
    edited_path(request)?;
    let text = |name: &str| request.input.get(name).and_then(Value::as_str);
    let (old, new) = match (text("old_string"), text("new_string"), before) {
        (Some(from), Some(to), Some(file)) if !from.is_empty() && file.contains(from) => {
            let all = request.input.get("replace_all").and_then(Value::as_bool) == Some(true);
            let changed = match all {
                true => file.replace(from, to),
                false => file.replacen(from, to, 1),
            };
            (file.to_owned(), changed)
        }
        (Some(from), Some(to), _) => (from.to_owned(), to.to_owned()),
        _ => (before.unwrap_or_default().to_owned(), text("content")?.to_owned()),
    };
    let lines = unified(&old, &new, DIFF_LINES, style);
    Some(match lines.is_empty() {
        true => vec![style.dim("nothing in the file changes")],
        false => lines,
    })
}

/// What is asked: every argument whole, nothing hidden in it, a change of a file as a diff of it as it is now; why; and the
/// rule that "always" would keep.
pub(crate) fn question(request: &ApprovalRequested, file: &FileInQuestion, style: Style) -> String {
    let mut text = format!(
        "{} {}\n",
        style.warn(style.sign("?", "question:")),
        style.bold(&format!("{} wants to run", visible(&request.name)))
    );
    let diff = change(request, file.text.as_deref(), style);
    let in_diff = |name: &str| diff.is_some() && ["old_string", "new_string", "content"].contains(&name);
    match &request.input {
        Value::Object(arguments) => {
            for (name, value) in arguments.iter().filter(|(name, _)| !in_diff(name)) {
                argument(&mut text, name, value);
            }
        }
        other => argument(&mut text, "input", other),
    }
    for line in diff.into_iter().flatten() {
        text.push_str(&format!("    {line}\n"));
    }
    if !request.reason.is_empty() {
        text.push_str(&style.dim(&format!("  because {}", visible(&request.reason))));
        text.push('\n');
    }
    let rule = visible(&show_rule(&request.suggested));
    text.push_str(&style.dim(&format!("  always would keep: {rule}")));
    text.push('\n');
    if let Some(why) = &file.withheld {
        let words = format!("  the file as it is now is not shown: {}", visible(why));
        text.push_str(&style.dim(&words));
        text.push('\n');
    }
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

/// Reads an answer: a letter or its word, after `n` a word to the model, after `a` and `s` the pattern of the rule to keep, which
/// has to fit the call. Anything else is no answer, so that what
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
    let given = (!rest.is_empty()).then(|| rest.to_owned());
    let (note, pattern) = match decision {
        ApprovalDecision::Deny => (given, None),
        ApprovalDecision::Session | ApprovalDecision::Always => (None, given),
        ApprovalDecision::Once if given.is_some() => return None,
        ApprovalDecision::Once => (None, None),
    };
    Some(Answer {
        decision,
        note,
        pattern,
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
                pattern: None,
            })
        };
        assert_eq!(
            parse(" Y "),
            Some(Answer {
                decision: ApprovalDecision::Once,
                note: None,
                pattern: None
            })
        );
        assert_eq!(
            parse("always"),
            Some(Answer {
                decision: ApprovalDecision::Always,
                note: None,
                pattern: None
            })
        );
        assert_eq!(parse("n use git mv"), deny("use git mv"));
        assert_eq!(parse("no, 用别的"), deny("用别的"));
        assert_eq!(
            parse("a git status *").and_then(|answer| answer.pattern),
            Some("git status *".into())
        );
        for line in ["", "yes please do", "yess", "any new idea", "nope", "maybe"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
