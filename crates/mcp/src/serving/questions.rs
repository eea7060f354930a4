//! The questions of a running call to the person at its client (elicitation), and their answers.
//!
//! The client acts for the person whose token it has, or who started this program: its answer is that
//! person's answer.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time limit for an answer. After that the call continues as if the answer were no.
const PATIENCE: Duration = Duration::from_secs(600);
/// The beginning of the `Mcp-Session-Id` of a client that can be asked.
const ASKABLE: &str = "elicitation-";

/// A question to the person at a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientQuestion {
    /// Names the question among those of its call.
    pub key: String,
    /// The text of the question.
    pub message: String,
    /// The JSON Schema of the answer: an object with fields of plain types.
    pub schema: Value,
}

/// The answer of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientAnswer {
    /// The person accepted, with these values of the fields.
    Accepted(Map<String, Value>),
    /// The person declined, or gave no answer.
    Declined,
}

impl ClientAnswer {
    /// Reads the result of an elicitation; `None` if it is not one.
    pub(super) fn read(result: &Value) -> Option<Self> {
        match result.get("action")?.as_str()? {
            "accept" => match result.get("content") {
                None | Some(Value::Null) => Some(Self::Accepted(Map::new())),
                Some(Value::Object(content)) => Some(Self::Accepted(content.clone())),
                Some(_) => None,
            },
            "decline" | "cancel" => Some(Self::Declined),
            _ => None,
        }
    }
}

/// A client's response to a request of this server.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientResponse {
    /// The id of the request.
    pub(super) id: Value,
    /// The answer; `None` if the client answered with an error, or something else.
    pub(super) answer: Option<ClientAnswer>,
}

/// Returns whether a client with these capabilities can be asked by a form.
pub(super) fn can_be_asked(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.get("elicitation"));
    let Some(modes) = elicitation.and_then(Value::as_object) else {
        return false;
    };
    // Without a mode it means forms, as in the versions that had only these.
    modes.contains_key("form") || !modes.contains_key("url")
}

/// Returns the `Mcp-Session-Id` for a client that can be asked. Over HTTP a client of a version with a
/// handshake declares its capabilities once. The id repeats them with each request, so the server keeps no
/// state.
pub(super) fn askable_session() -> Option<String> {
    Some(format!("{ASKABLE}{}", crate::oauth::random().ok()?))
}

/// Returns whether the `Mcp-Session-Id` of a request says that its client can be asked. It is the client's
/// own word, as its capabilities are.
pub fn is_askable_session(id: &str) -> bool {
    id.starts_with(ASKABLE)
}

/// The request by which a client of a version with a handshake is asked.
pub(super) fn request(id: &str, question: &ClientQuestion) -> Value {
    let params = json!({"message": question.message, "requestedSchema": question.schema});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params})
}

/// The part of a result `input_required` that asks.
pub(super) fn input_request(question: &ClientQuestion) -> Value {
    let params = json!({"mode": "form", "message": question.message, "requestedSchema": question.schema});
    json!({"method": "elicitation/create", "params": params})
}

/// A question that waits for its answer. Dropping it lets the call continue without an answer.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) question: ClientQuestion,
    pub(super) answer: oneshot::Sender<ClientAnswer>,
    /// The time after which nobody waits for the answer any more.
    pub(super) until: Instant,
}

/// Asks the person at the client of one call.
#[derive(Clone, Debug, Default)]
pub struct CallQuestions {
    /// `None` if the client cannot be asked.
    asks: Option<mpsc::Sender<OpenQuestion>>,
    /// Fires when the call is cancelled.
    cancel: CancellationToken,
}

impl CallQuestions {
    pub(super) fn new(asks: Option<mpsc::Sender<OpenQuestion>>, cancel: CancellationToken) -> Self {
        Self { asks, cancel }
    }

    /// Returns whether the client can be asked.
    pub fn can_ask(&self) -> bool {
        self.asks.is_some()
    }

    /// Asks, and waits for the answer. `None` if nobody can be asked, nobody answers in time, or the call is
    /// cancelled.
    pub async fn ask(&self, question: ClientQuestion) -> Option<ClientAnswer> {
        let asks = self.asks.as_ref()?;
        let (answer, answered) = oneshot::channel();
        let until = Instant::now() + PATIENCE;
        let asked = async {
            let question = OpenQuestion {
                question,
                answer,
                until,
            };
            asks.send(question).await.ok()?;
            answered.await.ok()
        };
        let in_time = tokio::time::timeout_at(until, asked);
        self.cancel.run_until_cancelled(in_time).await?.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_action_with_an_object() {
        let content = json!({"action": "accept", "content": {"a": 1}});
        let accepted = ClientAnswer::read(&content);
        assert!(matches!(accepted, Some(ClientAnswer::Accepted(content)) if content["a"] == 1));
        for declined in [json!({"action": "decline"}), json!({"action": "cancel"})] {
            assert_eq!(ClientAnswer::read(&declined), Some(ClientAnswer::Declined));
        }
        for other in [
            json!(12_345),
            json!(null),
            json!({"action": "yes"}),
            json!({"action": true}),
            json!({"content": {}}),
            json!({"action": "accept", "content": [1]}),
        ] {
            assert_eq!(ClientAnswer::read(&other), None, "{other}");
        }
    }

    #[test]
    fn a_client_is_asked_by_forms_only_if_it_says_that_it_shows_them() {
        let asked = |capabilities: Value| can_be_asked(Some(&capabilities));
        assert!(asked(json!({"elicitation": {}})));
        assert!(asked(json!({"elicitation": {"form": {}, "url": {}}})));
        assert!(!asked(json!({"elicitation": {"url": {}}})));
        assert!(!asked(json!({"elicitation": true})));
        assert!(!asked(json!({"sampling": {}})));
        assert!(!can_be_asked(None));
        assert!(is_askable_session(&askable_session().unwrap()));
        assert!(!is_askable_session("1868a90c"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_nobody_answers_ends() {
        let (asks, mut asked) = mpsc::channel(1);
        let questions = CallQuestions::new(Some(asks), CancellationToken::new());
        let question = ClientQuestion {
            key: "k".into(),
            message: "m".into(),
            schema: json!({"type": "object"}),
        };
        assert_eq!(questions.ask(question.clone()).await, None);
        assert!(asked.recv().await.unwrap().answer.is_closed());
        questions.cancel.cancel();
        assert_eq!(questions.ask(question.clone()).await, None);
        assert_eq!(CallQuestions::default().ask(question).await, None);
    }
}
