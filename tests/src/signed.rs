//! Answers of a model that thinks, as its vendor streams them: with signatures that bind the thinking to
//! everything before it. A later request is refused if it has thinking and its beginning changed, as by the
//! vendor.

use std::time::Duration;

use agentx_testing::CheckedRequest;
use agentx_testing::vendors::{AnswerPart, ModelAnswer};
use serde_json::json;

use crate::model_server::Reply;

/// An answer with thinking, and how the credentials are sent.
#[derive(Clone, Debug, Default)]
pub struct Signed {
    /// The answer of the model.
    pub answer: ModelAnswer,
    /// The pause before each event of the stream.
    pub pace: Duration,
    /// After so many events nothing more is sent. `None` sends the complete answer.
    pub stalls_after: Option<usize>,
}

impl From<Signed> for Reply {
    fn from(answer: Signed) -> Self {
        Self::Signed(answer)
    }
}

impl Signed {
    /// The model thinks these words.
    pub fn thinking(words: &str) -> Self {
        let answer = ModelAnswer::default().then(AnswerPart::Thinking(words.to_owned()));
        Self {
            answer,
            ..Self::default()
        }
    }

    /// And then it says these.
    #[must_use]
    pub fn says(self, words: &str) -> Self {
        self.then(AnswerPart::Text(words.to_owned()))
    }

    /// And then it has a command run.
    #[must_use]
    pub fn runs(self, id: &str, command: &str) -> Self {
        self.then(AnswerPart::Call {
            id: id.to_owned(),
            name: "bash".to_owned(),
            input: json!({ "command": command }),
        })
    }

    /// The stream stops, without an end, after so many events.
    #[must_use]
    pub fn stalls_after(self, events: usize) -> Self {
        Self {
            stalls_after: Some(events),
            ..self
        }
    }

    /// Each event waits so long.
    #[must_use]
    pub fn paced(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    fn then(self, part: AnswerPart) -> Self {
        Self {
            answer: self.answer.then(part),
            ..self
        }
    }

    /// Returns the response to an accepted request.
    pub(crate) fn reply_to(self, accepted: &CheckedRequest) -> Reply {
        let CheckedRequest::Anthropic(accepted) = accepted else {
            panic!("only Anthropic Messages has thinking with signatures");
        };
        let stream = accepted.stream(&self.answer);
        let whole = stream.split_inclusive("\n\n").map(str::to_owned);
        Reply::Events {
            events: whole.take(self.stalls_after.unwrap_or(usize::MAX)).collect(),
            pace: self.pace,
            stalls: self.stalls_after.is_some(),
        }
    }
}
