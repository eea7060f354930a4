//! Asks the person at the client whether a call may run that the rules ask about.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentx_runtime::{BoxFuture, CallApprover, CallInQuestion};
use agentx_types::{is_control_or_bidi, is_invisible};
use serde_json::{Value, json};

use super::questions::{CallQuestions, ClientAnswer, ClientQuestion};

/// The longest arguments that are shown, in bytes. Nobody is asked about a call that they cannot see whole.
const SHOWN: usize = 16 << 10;
/// The key of such a question.
const KEY: &str = "approval";

/// Asks the person at the client of one call about that call, and those that it makes.
#[derive(Debug)]
pub struct ClientApprover {
    questions: CallQuestions,
    was_asked: AtomicBool,
}

impl ClientApprover {
    /// Whom a call asks; `None` if the client cannot be asked.
    pub fn of(questions: CallQuestions) -> Option<Arc<Self>> {
        questions.can_ask().then(|| {
            Arc::new(Self {
                questions,
                was_asked: AtomicBool::new(false),
            })
        })
    }

    /// Returns whether the client was asked.
    pub fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }
}

impl CallApprover for ClientApprover {
    fn approve(&self, call: CallInQuestion) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let by = call.by.as_ref();
            let by = by.map(|by| format!(" for {by}")).unwrap_or_default();
            let what = format!("{}{by}", call.tool.name);
            let Some(question) = approval_question(KEY, &what, &call.input, &call.reason) else {
                return false;
            };
            self.was_asked.store(true, Ordering::Relaxed);
            let answer = self.questions.ask(question).await;
            matches!(answer, Some(ClientAnswer::Accepted(_)))
        })
    }
}

/// The question whether a tool may be called; `None` if its arguments are too long to be shown.
pub(super) fn approval_question(
    key: &str,
    what: &str,
    input: &Value,
    reason: &str,
) -> Option<ClientQuestion> {
    let input = serde_json::to_string_pretty(input).ok()?;
    if input.len() > SHOWN {
        return None;
    }
    let message =
        format!("AgentX asks: may it call {what}? {reason}.\n{input}\nAccept allows this call once.");
    Some(ClientQuestion {
        key: key.to_owned(),
        message: visible_text(&message),
        schema: json!({"type": "object", "properties": {}}),
    })
}

/// The text with its invisible characters as escapes, so that the person reads what will run.
pub(super) fn visible_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && (is_invisible(c) || is_control_or_bidi(c)) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_the_whole_call_and_nothing_hides_in_it() {
        let input = json!({"command": "rm x\u{202e}\u{200b}"});
        let asked = approval_question("k", "bash for report", &input, "the rule asks").unwrap();
        assert!(
            asked.message.contains("call bash for report? the rule asks."),
            "{}",
            asked.message
        );
        assert!(
            asked.message.contains(r"rm x\u{202e}\u{200b}"),
            "{}",
            asked.message
        );
        assert_eq!(asked.schema, json!({"type": "object", "properties": {}}));
        let long = json!({"command": "x".repeat(SHOWN)});
        assert_eq!(approval_question("k", "bash", &long, "the rule asks"), None);
    }
}
