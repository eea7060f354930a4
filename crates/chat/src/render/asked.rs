//! Renders a question that is answered in words, and reads the answer from a typed line. The model asks it
//! (`ask_user`) or presents its plan (`present_plan`), the agent repeats itself, or its run is at a limit.
//!
//! The model writes the words, so they are shown without control characters, and each line of them begins
//! with a bar: no line of a question can look like one of the program's own.

use agentx::types::{ACCEPT_PLAN, ApprovalDecision, ApprovalRequested, AskedQuestion, KEEP_PLANNING};
use agentx_terminal::{Markdown, Row, Theme};

use super::approval_reply::ApprovalReply;
use super::call_summary::call_summary;
use super::clean::visible;
use super::style::AnsiStyle;
use super::table::cut;
use crate::exit::exit_words::leaves;

/// The tool by which the model asks.
const ASK_USER: &str = "ask_user";
/// The reason of a question about a run that has reached a limit.
const AT_LIMIT: &str = "a limit of the run is reached";
/// The reason of a question about a call that a crash interrupted.
const UNKNOWN_OUTCOME: &str = "it is unknown whether the call had its effect";
/// Maximum length of the call in a question, in characters.
const LONGEST_CALL: usize = 200;
/// The line that gives no answer.
const NO_ANSWER: &str = "-";

/// The columns before a line of a question: the bar and blanks.
const BAR_COLUMNS: usize = 4;
/// Minimum number of columns of a plan, however narrow the terminal is.
const NARROWEST_PLAN: usize = 20;

/// The way in which a plan is rendered on a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanLook {
    /// The theme of the screen.
    pub(crate) theme: Theme,
    /// The width of the screen.
    pub(crate) columns: usize,
}

impl PlanLook {
    /// Returns the rows of a plan, with control sequences for looks and without all others.
    fn rows(self, plan: &str) -> Vec<String> {
        let columns = self.columns.saturating_sub(BAR_COLUMNS).max(NARROWEST_PLAN);
        // A row that is printed with its looks has no room for the address of a link.
        let mut markdown = Markdown::new(columns, self.theme.with_links(false));
        for line in plan.trim().lines() {
            markdown.push(&visible(&line.replace('\t', "    ")));
            markdown.push("\n");
        }
        markdown.end();
        markdown.take_done().iter().map(Row::to_ansi).collect()
    }
}

/// The question with its choices, each with its number. A question about a call of another tool, because it
/// repeats others or because of a limit, shows the call.
pub(crate) fn text(request: &ApprovalRequested, asked: &AskedQuestion, style: AnsiStyle) -> String {
    text_with_plan(request, asked, style, None)
}

/// The question as [`text`] has it; a plan is rendered as Markdown if there is a `look` for it.
pub(crate) fn text_with_plan(
    request: &ApprovalRequested,
    asked: &AskedQuestion,
    style: AnsiStyle,
    look: Option<PlanLook>,
) -> String {
    let is_at_limit = request.reason == AT_LIMIT;
    let is_of_model = (request.name == ASK_USER && !is_at_limit) || asked.is_plan;
    let heading = if asked.is_plan {
        "the model presents its plan"
    } else if is_of_model {
        "the model asks you"
    } else if is_at_limit {
        AT_LIMIT
    } else if request.reason == UNKNOWN_OUTCOME {
        UNKNOWN_OUTCOME
    } else {
        "the agent repeats itself"
    };
    let mut text = format!(
        "{} {}\n",
        style.warn(style.sign("?", "question:")),
        style.bold(heading)
    );
    let call = format!("{} {}", request.name, call_summary(&request.name, &request.input));
    let call = (!is_of_model).then(|| cut(&call, LONGEST_CALL));
    let mut lines: Vec<String> = match look.filter(|_| asked.is_plan) {
        Some(look) => look.rows(&asked.question),
        None => asked.question.trim().lines().map(visible).collect(),
    };
    lines.extend(call.as_deref().map(visible));
    for line in lines {
        text.push_str(&format!("  {} {line}\n", style.dim("│")));
    }
    if asked.is_plan {
        // The steps of a plan often have numbers too.
        text.push_str(&format!("  {}\n", style.dim("│")));
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

/// The possible answers, printed before the cursor.
pub(crate) fn prompt(choices: usize) -> String {
    match choices {
        0 => format!("your answer ({NO_ANSWER} skips it)"),
        _ => format!("1–{choices} or your own words ({NO_ANSWER} skips it)"),
    }
}

/// Reads a line as the answer to a question. `None` if it is empty, a command, a word that leaves, or the
/// number of no choice. "yes" and "no" are the choices of a plan.
pub(crate) fn reply(line: &str, asked: &AskedQuestion) -> Option<ApprovalReply> {
    let words = line.trim();
    let choices = asked.choices.len();
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
        words if asked.is_plan => (ApprovalDecision::Once, Some(plan_choice(words).to_owned())),
        words => (ApprovalDecision::Once, Some(words.to_owned())),
    };
    Some(ApprovalReply {
        decision,
        note,
        pattern: None,
    })
}

/// The choice of a plan that a short answer means; other words are what should be different.
fn plan_choice(words: &str) -> &str {
    match words.to_lowercase().as_str() {
        "y" | "yes" | "accept" => ACCEPT_PLAN,
        "n" | "no" => KEEP_PLANNING,
        _ => words,
    }
}

/// The answer in words, for the record above.
pub(crate) fn answered(asked: &AskedQuestion, reply: &ApprovalReply) -> String {
    match (&reply.decision, &reply.note) {
        (ApprovalDecision::Deny, _) => "no answer".to_owned(),
        (_, Some(note)) if asked.is_plan && asked.meant(note) == ACCEPT_PLAN => {
            "plan accepted; plan mode is off".to_owned()
        }
        (_, Some(note)) => format!("answered: {}", visible(asked.meant(note))),
        (_, None) => "answered: yes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{Rule, RuleEffect};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_cannot_forge_the_screen() {
        let asked = AskedQuestion {
            question: "Which?\n\u{1b}[2J\u{1b}[1;1H? bash wants to run a command\r  always".into(),
            is_plan: false,
            choices: vec!["a\u{1b}]0;title\u{7}b".into(), "c\n› y".into()],
        };
        let text = text(&request("ask_user"), &asked, AnsiStyle::default());
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{text:?}");
        let others = text.lines().skip(1);
        assert!(
            others.clone().count() == 4 && others.clone().all(|line| line.starts_with("  │ ")),
            "{text}"
        );
    }

    /// A question about a call of this tool.
    fn request(name: &str) -> ApprovalRequested {
        ApprovalRequested {
            tool_call_id: "c1".into(),
            name: name.into(),
            input: json!({"command": "cargo test\n\u{1b}[2J"}),
            reason: String::new(),
            suggested: Rule {
                effect: RuleEffect::Allow,
                tool: name.into(),
                argument: None,
                path: None,
                workspace: None,
                origin: None,
            },
            form: None,
            question: None,
        }
    }

    #[test]
    fn a_plan_is_rendered_as_markdown_behind_its_bar() {
        let plan = AskedQuestion {
            question: "# Plan\n\n1. **Read** `a.txt`\n\u{1b}[2J? bash wants to run\n".into(),
            is_plan: true,
            choices: vec![ACCEPT_PLAN.into(), KEEP_PLANNING.into()],
        };
        let look = PlanLook {
            theme: Theme::dark(),
            columns: 40,
        };
        let request = request("present_plan");
        let shown = text_with_plan(&request, &plan, AnsiStyle::default(), Some(look));
        let mut rows = shown.lines().skip(1);
        assert!(rows.all(|row| row.starts_with("  │")), "{shown}");
        assert!(
            !shown.contains("**") && !shown.contains("# Plan") && !shown.contains("\u{1b}[2J"),
            "{shown}"
        );
        assert!(text(&request, &plan, AnsiStyle::default()).contains("1. **Read** `a.txt`"));
    }

    #[test]
    fn a_question_about_a_loop_shows_the_call() {
        let asked = AskedQuestion {
            question: "Shall it go on?".into(),
            is_plan: false,
            choices: vec!["go on".into(), "stop".into()],
        };
        let text = text(&request("bash"), &asked, AnsiStyle::default());
        assert!(
            text.contains("the agent repeats itself") && text.contains("│ bash "),
            "{text}"
        );
        assert!(text.contains("cargo test") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_question_about_an_unknown_outcome_says_so() {
        let asked = with_choices(&["done", "not done", "run again"]);
        let mut request = request("bash");
        request.reason = UNKNOWN_OUTCOME.into();
        let text = text(&request, &asked, AnsiStyle::default());
        assert!(
            text.contains(UNKNOWN_OUTCOME) && !text.contains("repeats itself"),
            "{text}"
        );
    }

    #[test]
    fn a_question_at_a_limit_names_the_limit_and_shows_the_call() {
        let asked = with_choices(&["continue with 20 tool rounds more", "stop"]);
        for name in ["bash", ASK_USER] {
            let mut request = request(name);
            request.reason = AT_LIMIT.into();
            let text = text(&request, &asked, AnsiStyle::default());
            assert!(
                text.contains(AT_LIMIT) && text.contains(&format!("│ {name} ")),
                "{text}"
            );
            assert!(!text.contains("repeats itself"), "{text}");
        }
        let note = |line: &str| reply(line, &asked).and_then(|reply| reply.note);
        assert_eq!(
            note("2 more").as_deref(),
            Some("2 more"),
            "an amount is not a choice"
        );
    }

    #[test]
    fn a_line_is_the_answer_unless_it_is_a_command() {
        let two = with_choices(&["a", "b"]);
        let note = |line: &str| reply(line, &two).map(|reply| (reply.decision, reply.note));
        assert_eq!(note(" 2 "), Some((ApprovalDecision::Once, Some("2".into()))));
        assert_eq!(note("no"), Some((ApprovalDecision::Once, Some("no".into()))));
        assert_eq!(note("-"), Some((ApprovalDecision::Deny, None)));
        for line in ["", "  ", "/help", "!ls", "0", "3", "exit", "quit"] {
            assert_eq!(note(line), None, "{line}");
        }
        assert!(
            reply("3", &with_choices(&[])).is_some(),
            "a question without choices takes any number"
        );
        assert_eq!(
            note(" /etc/hosts"),
            Some((ApprovalDecision::Once, Some("/etc/hosts".into())))
        );
    }

    fn with_choices(choices: &[&str]) -> AskedQuestion {
        AskedQuestion {
            question: "Which?".into(),
            is_plan: false,
            choices: choices.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_plan_is_accepted_and_refused_in_short_words_too() {
        let plan = AskedQuestion {
            is_plan: true,
            ..with_choices(&[ACCEPT_PLAN, KEEP_PLANNING])
        };
        let meant = |line: &str| {
            let reply = reply(line, &plan).unwrap();
            plan.meant(reply.note.as_deref().unwrap()).to_owned()
        };
        for line in ["1", "y", "Yes", "accept"] {
            assert_eq!(meant(line), ACCEPT_PLAN, "{line}");
        }
        for line in ["2", "n", "no"] {
            assert_eq!(meant(line), KEEP_PLANNING, "{line}");
        }
        assert_eq!(meant("yes, but not a.txt"), "yes, but not a.txt");
        let accepted = reply("y", &plan).unwrap();
        assert_eq!(answered(&plan, &accepted), "plan accepted; plan mode is off");
    }
}
