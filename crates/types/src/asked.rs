//! Questions that a model asks a person with the tool `ask_user`, and the behaviour if nobody can answer.

use serde::{Deserialize, Serialize};

use crate::{ApprovalDecision, ContentPart};

/// The behaviour if nobody can answer a question of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AskUser {
    /// If nobody can answer, the call's result says so, and the model decides for itself.
    Decide,
    /// If nobody can answer, the question waits until somebody can.
    Wait,
}

/// The end of the reason of a run whose latest message alone takes more than the model can read: no summary
/// of the conversation helps.
pub const INPUT_TOO_LARGE: &str = "the message itself is too large for the model";

/// The result of a question that nobody can answer. A front end that has nobody to ask refuses with this as
/// the note.
pub const NOBODY_ANSWERS: &str =
    "Nobody is here to answer. Decide yourself, and say in your answer what you assumed.";

/// The result of a plan that nobody can accept.
pub const NOBODY_ACCEPTS: &str =
    "Nobody is here to accept the plan. End your turn with the whole plan as your answer.";

/// Returns whether the result of a call is [`NOBODY_ANSWERS`] or [`NOBODY_ACCEPTS`]. Such a result is not a
/// failure, so that the model continues, and not a success: people see that nobody answered.
///
/// ```
/// use agentx_types::{ContentPart, NOBODY_ANSWERS, is_unanswered};
/// assert!(is_unanswered(&[ContentPart::text(NOBODY_ANSWERS)]));
/// assert!(!is_unanswered(&[ContentPart::text("The person answers: red")]));
/// ```
pub fn is_unanswered(result: &[ContentPart]) -> bool {
    let [part] = result else { return false };
    part.as_text()
        .is_some_and(|text| [NOBODY_ANSWERS, NOBODY_ACCEPTS].contains(&text))
}

/// The answer that accepts a plan: the first choice.
pub const ACCEPT_PLAN: &str = "Accept the plan";
/// The other choice of a plan.
pub const KEEP_PLANNING: &str = "Keep planning";

/// A question of the model to the person, as every front end shows it. It is answered by an approval: `once`
/// with the answer as its note, or `deny` for no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedQuestion {
    /// The words of the question, as the model wrote them: they may hold control characters.
    pub question: String,
    /// Answers to choose from; none for free text. An answer in other words counts too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether the question is a plan, as Markdown. It is accepted by the answer [`ACCEPT_PLAN`]; any other
    /// answer says what to change. A front end switches plan mode off before it sends that answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_plan: bool,
}

impl AskedQuestion {
    /// Returns whether a decision settles the question: it has words, or gives no answer (`deny`).
    ///
    /// ```
    /// use agentx_types::{ApprovalDecision, AskedQuestion};
    /// let asked = AskedQuestion { question: "Which?".into(), choices: Vec::new(), is_plan: false };
    /// assert!(!asked.is_settled_by(ApprovalDecision::Once, Some(" ")));
    /// assert!(asked.is_settled_by(ApprovalDecision::Once, Some("red")));
    /// assert!(asked.is_settled_by(ApprovalDecision::Deny, None));
    /// ```
    pub fn is_settled_by(&self, decision: ApprovalDecision, note: Option<&str>) -> bool {
        decision == ApprovalDecision::Deny || note.is_some_and(|note| !note.trim().is_empty())
    }

    /// Returns the answer that a person's text means: the number of a choice, from 1, means that choice.
    ///
    /// ```
    /// use agentx_types::AskedQuestion;
    /// let asked = AskedQuestion { question: "Which?".into(), choices: vec!["red".into(), "blue".into()], is_plan: false };
    /// assert_eq!(asked.meant(" 2 "), "blue");
    /// assert_eq!(asked.meant("3"), "3");
    /// assert_eq!(asked.meant("none of them"), "none of them");
    /// ```
    pub fn meant<'a>(&'a self, words: &'a str) -> &'a str {
        let words = words.trim();
        let number = words
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        number
            .and_then(|index| self.choices.get(index))
            .map_or(words, String::as_str)
    }
}
