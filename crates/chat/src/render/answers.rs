//! The answers to a question about a tool call. On a server, some of them do not count for everybody, and a
//! person is offered only those that count.

use agentx::runtime::PendingApproval;
use agentx::types::{ApprovalDecision, ApprovalRequested};
use agentx_terminal::{Line, Row};

use super::asked;
use super::clean::visible;
use super::form_reply;
use super::style::AnsiStyle;
use super::table::cut;

/// Maximum length of an invalid answer to repeat.
const LONGEST_LINE: usize = 160;

/// The kind of answer that a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedFor {
    /// Whether a call may run.
    Permission,
    /// Yes or no for a running tool.
    Consent,
    /// Words for a running tool, or one of so many choices.
    Form(usize),
    /// An answer to the model, out of so many choices or in words.
    Choice(usize),
    /// Whether the plan of the model is carried out.
    Plan,
}

/// The answers to a question that count for its reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    decisions: Vec<ApprovalDecision>,
    /// The kind of answer that the question wants.
    asks_for: AskedFor,
}

impl Default for Answers {
    fn default() -> Self {
        use ApprovalDecision::{Always, Deny, Once, Session};
        Self::of(vec![Once, Session, Always, Deny])
    }
}

impl Answers {
    fn of(decisions: Vec<ApprovalDecision>) -> Self {
        Self {
            decisions,
            asks_for: AskedFor::Permission,
        }
    }

    /// Returns the answers that the server of the session names; all answers if it names none.
    pub(crate) fn from_pending(asked: &PendingApproval) -> Self {
        asked.answers.clone().map(Self::of).unwrap_or_default()
    }

    /// Returns these answers as they are offered for this request: words for a question of the model or of a
    /// tool.
    #[must_use]
    pub(crate) fn to(self, request: &ApprovalRequested) -> Self {
        let asks_for = match (&request.question, &request.form) {
            (Some(asked), _) if asked.is_plan => AskedFor::Plan,
            (Some(asked), _) => AskedFor::Choice(asked.choices.len()),
            (None, Some(form)) => {
                let asks_for = if form_reply::has_fields(form) {
                    AskedFor::Form(form_reply::choices(form).len())
                } else {
                    AskedFor::Consent
                };
                return Self {
                    decisions: vec![ApprovalDecision::Once, ApprovalDecision::Deny],
                    asks_for,
                };
            }
            (None, None) => AskedFor::Permission,
        };
        Self { asks_for, ..self }
    }

    /// Returns these answers without those that keep a rule.
    #[must_use]
    pub(crate) fn without_rules(mut self) -> Self {
        self.decisions
            .retain(|decision| !matches!(decision, ApprovalDecision::Session | ApprovalDecision::Always));
        self
    }

    /// Returns whether this one counts.
    pub(crate) fn has(&self, decision: ApprovalDecision) -> bool {
        self.decisions.contains(&decision)
    }

    /// Returns whether the call can be allowed at all.
    pub(crate) fn can_allow(&self) -> bool {
        self.decisions
            .iter()
            .any(|decision| *decision != ApprovalDecision::Deny)
    }

    /// Returns the keys of the answers, in the order in which they are offered.
    fn keys(&self, between: &str, words: impl Fn(ApprovalDecision) -> &'static str) -> String {
        let words: Vec<&str> = self.decisions.iter().map(|decision| words(*decision)).collect();
        words.join(between)
    }

    /// The words before the cursor while a question is open.
    fn prompt(&self) -> String {
        match self.asks_for {
            AskedFor::Consent => return "answer? y yes · n no".to_owned(),
            AskedFor::Form(0) => return "answer? y ANSWER · n no answer".to_owned(),
            AskedFor::Form(choices) => return format!("answer? 1–{choices} or y ANSWER · n no answer"),
            AskedFor::Choice(choices) => return asked::prompt(choices),
            AskedFor::Plan => return "1 accepts the plan · your own words change it".to_owned(),
            AskedFor::Permission => {}
        }
        if self.can_allow() {
            format!("allow? {}", self.keys(" · ", key))
        } else {
            "the operator decides · n refuses it".to_owned()
        }
    }

    /// Returns the prompt, wrapped to `width`.
    pub fn prompt_in(&self, width: usize) -> String {
        let words = format!("{} ›", self.prompt());
        let rows = Line::new(&words, Default::default()).rows(width.saturating_sub(2).max(1));
        let rows: Vec<String> = rows.iter().map(Row::text).collect();
        format!("{} ", rows.join("\n"))
    }

    /// Returns the prompt for single keys. The hint at keys that answer at once is only in a prompt that fits
    /// into a row of `width` columns with it.
    pub(crate) fn prompt_of_keys(&self, width: usize) -> String {
        let plain = format!("{} › ", self.prompt());
        if matches!(self.asks_for, AskedFor::Choice(_) | AskedFor::Plan) {
            return plain;
        }
        let whole = format!("{} · Alt+letter at once › ", self.prompt());
        if agentx_terminal::width(&whole) < width {
            whole
        } else {
            plain
        }
    }

    /// Returns the prompt for answers that are lines; for a screen reader, in words.
    pub(crate) fn prompt_of_lines(&self, style: AnsiStyle) -> String {
        let words = if self.asks_for == AskedFor::Consent {
            "answer it? type y for yes, or n for no, then press Enter".to_owned()
        } else if let AskedFor::Form(choices) = self.asks_for {
            let number = match choices {
                0 => String::new(),
                choices => format!("a number from 1 to {choices}, or "),
            };
            format!("answer it? type {number}y and the answer, or n for no answer, then press Enter")
        } else if self.asks_for != AskedFor::Permission {
            format!("type {}, then press Enter", self.prompt())
        } else if self.can_allow() {
            format!(
                "allow it? type {}, then press Enter",
                self.keys(", ", key_in_words)
            )
        } else {
            "the operator decides; type n to refuse it, then press Enter".to_owned()
        };
        style.sign(&format!("{} ›", self.prompt()), &words).to_owned()
    }

    /// The error for a line that matches no answer.
    pub fn wrong(&self, line: &str) -> String {
        let shown = cut(&visible(line.trim()), LONGEST_LINE);
        match self.asks_for {
            AskedFor::Choice(_) | AskedFor::Plan => {
                return format!("`{shown}` is not one of the choices: {}", self.prompt());
            }
            AskedFor::Consent | AskedFor::Form(_) => {
                return format!("`{shown}` is not one of the answers: {}", self.prompt());
            }
            AskedFor::Permission => {}
        }
        format!("`{shown}` is not one of the answers: {}", self.keys(", ", key))
    }

    /// The same in a chat, where any other text at a question about a call is a message to the agent.
    pub(crate) fn wrong_in_chat(&self, line: &str) -> String {
        let wrong = self.wrong(line);
        if self.asks_for == AskedFor::Permission {
            format!("{wrong}; a whole sentence would wait as a message to the agent")
        } else {
            wrong
        }
    }

    /// Returns the notice about an answer that does not count here.
    pub(crate) fn not_counted(&self) -> String {
        if self.can_allow() {
            format!("ignored; valid answers: {}", self.keys(", ", key))
        } else {
            format!("ignored: only the server's operator may allow this call; {REFUSE_OR_STOP}")
        }
    }
}

/// The options of a person who may not allow the call.
pub(crate) const REFUSE_OR_STOP: &str = "`n` refuses it, Ctrl-C stops the run";

fn key(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::Once => "y once",
        ApprovalDecision::Session => "s session",
        ApprovalDecision::Always => "a always",
        ApprovalDecision::Deny => "n no",
    }
}

fn key_in_words(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::Once => "y once",
        ApprovalDecision::Session => "s for this session",
        ApprovalDecision::Always => "a for always",
        ApprovalDecision::Deny => "n for no",
    }
}

/// The words that mean yes or no to people, but decide nothing here.
const NEARLY: [&str; 21] = [
    "ok",
    "okay",
    "k",
    "yeah",
    "yep",
    "yup",
    "sure",
    "yes please",
    "please",
    "go ahead",
    "do it",
    "allow",
    "nope",
    "nah",
    "deny",
    "cancel",
    // A person who asks what the answers are.
    "?",
    "??",
    "help",
    "what?",
    "maybe",
];

/// Returns whether a line was meant as an answer but is not valid: a number, as other programs take it, or a
/// word that is nearly one.
pub(crate) fn is_nearly_answer(line: &str) -> bool {
    let words = line.trim().trim_end_matches(['.', '!']).to_lowercase();
    let is_number = !words.is_empty() && words.bytes().all(|byte| byte.is_ascii_digit());
    is_number || NEARLY.contains(&words.replace(',', "").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_an_answer_is_no_message_while_a_question_is_open() {
        let told = "`1` is not one of the answers: y once, s session, a always, n no";
        for line in [
            " 1 ",
            "ok",
            "OK!",
            "nope",
            "yes, please",
            "go ahead.",
            "?",
            "help",
            "maybe",
        ] {
            assert!(is_nearly_answer(line), "{line}");
        }
        assert_eq!(Answers::default().wrong(" 1 "), told);
        let in_chat = Answers::default().wrong_in_chat("help");
        assert!(
            in_chat.ends_with("; a whole sentence would wait as a message to the agent"),
            "{in_chat}"
        );
        for line in [
            "",
            "1 more file, please",
            "one",
            "ok, and then write a test",
            "allow me to explain",
        ] {
            assert!(!is_nearly_answer(line), "{line}");
        }
    }

    #[test]
    fn a_question_of_a_tool_says_how_it_is_answered() {
        let of = |form: serde_json::Value| {
            let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
                "tool_call_id": "call_1/1", "name": "sandbox", "input": {}, "reason": "", "form": form,
                "suggested": {"effect": "allow", "tool": "sandbox"},
            }))
            .unwrap();
            Answers::default().to(&request)
        };
        let text = serde_json::json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let choice = serde_json::json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}});
        let consent = of(serde_json::json!({"type": "object"}));
        assert_eq!(consent.prompt(), "answer? y yes · n no");
        assert_eq!(of(text).prompt(), "answer? y ANSWER · n no answer");
        assert_eq!(of(choice).prompt(), "answer? 1–2 or y ANSWER · n no answer");
        assert_eq!(
            consent.wrong("ok"),
            "`ok` is not one of the answers: answer? y yes · n no"
        );
    }

    #[test]
    fn a_plan_says_what_its_answers_do() {
        let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1", "name": "present_plan", "input": {}, "reason": "",
            "suggested": {"effect": "allow", "tool": "present_plan"},
            "question": {"question": "1. Write it", "choices": ["accept", "keep planning"], "is_plan": true},
        }))
        .unwrap();
        let answers = Answers::default().to(&request);
        assert_eq!(
            answers.prompt_of_keys(80),
            "1 accepts the plan · your own words change it › "
        );
        assert!(
            answers
                .wrong("3")
                .contains("is not one of the choices: 1 accepts the plan")
        );
    }

    #[test]
    fn a_question_offers_the_answers_that_count() {
        use ApprovalDecision::{Always, Deny, Once};
        let (all, once, none) = (
            Answers::default(),
            Answers::of(vec![Once, Deny]),
            Answers::of(vec![Deny]),
        );
        let prompts = [&all, &once, &none].map(|answers| answers.prompt_in(80));
        assert_eq!(
            prompts,
            [
                "allow? y once · s session · a always · n no › ",
                "allow? y once · n no › ",
                "the operator decides · n refuses it › "
            ]
        );
        let keys = [80, 60].map(|width| all.prompt_of_keys(width));
        assert_eq!(
            keys,
            [
                "allow? y once · s session · a always · n no · Alt+letter at once › ",
                "allow? y once · s session · a always · n no › "
            ]
        );
        assert!(once.has(Once) && !once.has(Always) && !none.has(Once) && none.has(Deny));
        assert_eq!(once.not_counted(), "ignored; valid answers: y once, n no");
        let words = AnsiStyle::default();
        assert!(
            !none.prompt_of_lines(words).contains('y'),
            "{}",
            none.prompt_of_lines(words)
        );
    }
}
