//! A question of the model to the person (`ask_user`): its text, and what a typed line answers.
//!
//! The model writes the words, so they are shown without control characters, and each line of them begins with
//! a bar: no line of a question can look like one of the program's own.

use agentx::types::{ApprovalDecision, AskedQuestion};

use super::approval_reply::ApprovalReply;
use super::clean::visible;
use super::style::AnsiStyle;
use crate::exit_words::leaves;

/// The line that gives no answer.
const NO_ANSWER: &str = "-";

/// The question with its choices, each with its number.
pub(crate) fn text(asked: &AskedQuestion, style: AnsiStyle) -> String {
    let mut text = format!(
        "{} {}\n",
        style.warn(style.sign("?", "question:")),
        style.bold("the model asks you")
    );
    for line in asked.question.trim().lines() {
        text.push_str(&format!("  {} {}\n", style.dim("│"), visible(line)));
    }
    for (index, choice) in asked.choices.iter().enumerate() {
        let choice = visible(choice);
        text.push_str(&format!(
            "  {} {} {choice}\n",
            style.dim("│"),
            style.bold(&format!("{}.", index + 1))
        ));
    }
    text
}

/// What may be typed, before the cursor.
pub(crate) fn prompt(choices: usize) -> String {
    match choices {
        0 => format!("your answer ({NO_ANSWER} skips it)"),
        _ => format!("1–{choices} or your own words ({NO_ANSWER} skips it)"),
    }
}

/// Reads a line as the answer to a question with so many choices. `None` if it is empty, a command, a word that leaves, or
/// the number of no choice.
pub(crate) fn reply(line: &str, choices: usize) -> Option<ApprovalReply> {
    let words = line.trim();
    if words.is_empty() || line.starts_with(['/', '!']) || leaves(words) {
        return None;
    }
    let is_number = words.bytes().all(|byte| byte.is_ascii_digit());
    let is_choice = || words.parse().is_ok_and(|number| (1..=choices).contains(&number));
    if choices > 0 && is_number && !is_choice() {
        return None;
    }
    let (decision, note) = match words {
        NO_ANSWER => (ApprovalDecision::Deny, None),
        words => (ApprovalDecision::Once, Some(words.to_owned())),
    };
    Some(ApprovalReply {
        decision,
        note,
        pattern: None,
    })
}

/// The answer in words, for the record above.
pub(crate) fn answered(asked: &AskedQuestion, reply: &ApprovalReply) -> String {
    match (&reply.decision, &reply.note) {
        (ApprovalDecision::Deny, _) => "no answer".to_owned(),
        (_, Some(note)) => format!("answered: {}", visible(asked.meant(note))),
        (_, None) => "answered: yes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_cannot_forge_the_screen() {
        let asked = AskedQuestion {
            question: "Which?\n\u{1b}[2J\u{1b}[1;1H? bash wants to run a command\r  always".into(),
            choices: vec!["a\u{1b}]0;title\u{7}b".into(), "c\n› y".into()],
        };
        let text = text(&asked, AnsiStyle::default());
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{text:?}");
        let others = text.lines().skip(1);
        assert!(
            others.clone().count() == 4 && others.clone().all(|line| line.starts_with("  │ ")),
            "{text}"
        );
    }

    #[test]
    fn a_line_is_the_answer_unless_it_is_a_command() {
        let note = |line: &str| reply(line, 2).map(|reply| (reply.decision, reply.note));
        assert_eq!(note(" 2 "), Some((ApprovalDecision::Once, Some("2".into()))));
        assert_eq!(note("no"), Some((ApprovalDecision::Once, Some("no".into()))));
        assert_eq!(note("-"), Some((ApprovalDecision::Deny, None)));
        for line in ["", "  ", "/help", "!ls", "0", "3", "exit", "quit"] {
            assert_eq!(note(line), None, "{line}");
        }
        assert!(
            reply("3", 0).is_some(),
            "a question without choices takes any number"
        );
        assert_eq!(
            note(" /etc/hosts"),
            Some((ApprovalDecision::Once, Some("/etc/hosts".into())))
        );
    }
}
