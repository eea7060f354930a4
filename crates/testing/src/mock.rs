//! A model whose answers are in a file: the program `agentx-mock` puts it behind a socket, for tests in any
//! language.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::strict_server::unix_seconds;
use crate::vendors::{
    AnswerPart, Anthropic, BedrockServer, ChatServer, Dialect, GeminiServer, InteractionsServer, ModelAnswer,
    ResponsesServer, VendorRefusal, VertexServer,
};
use crate::{HttpRequest, ServerReply};

/// The end of the path of a request to Amazon Bedrock.
const BEDROCK: &str = "/invoke-with-response-stream";

/// The model of Anthropic that unknown names behave like.
const ORDINARY: &str = "claude-opus-4-6";

/// The answers of a mock, from a file of [JSON lines](MockAnswers::parse).
#[derive(Clone, Debug, Default)]
pub struct MockAnswers(Vec<MockLine>);

/// A scripted answer.
#[derive(Clone, Debug)]
struct MockLine {
    /// Only messages that contain this text get the answer.
    when: Option<String>,
    answer: ModelAnswer,
}

impl MockAnswers {
    /// Parses answers, one a line: a text as a JSON string, or an object with `text`, `thinking` and `calls`
    /// (`name`, `input`). Empty lines and those that begin with `#` are skipped.
    ///
    /// A line with `when` answers each message that contains this text; the first such line is used. The
    /// others answer in turn: the third one answers a conversation with two answers in it. So a repeated
    /// request, such as after a crash, gets the same answer.
    ///
    /// ```
    /// use agentx_testing::MockAnswers;
    ///
    /// let two = r#"
    /// "Hello."
    /// {"when": "weather", "calls": [{"name": "weather", "input": {"city": "Rome"}}]}
    /// "#;
    /// assert!(MockAnswers::parse(two).is_ok());
    ///
    /// let error = MockAnswers::parse("\n{}").unwrap_err();
    /// assert_eq!(error, "line 2 says nothing: give `text`, `thinking` or `calls`");
    /// ```
    ///
    /// # Errors
    /// Returns an error that names the first line that is not an answer.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().enumerate();
        let said = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let parsed = said.map(|(at, line)| {
            let value = serde_json::from_str(line);
            let value: Value = value.map_err(|error| format!("line {} is not JSON: {error}", at + 1))?;
            MockLine::of(&value).map_err(|what| format!("line {} {what}", at + 1))
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the answer to a request; an error names the missing line.
    fn to(&self, body: &Value) -> Result<ModelAnswer, String> {
        let (last, turn) = conversation_of(body);
        if self.0.is_empty() {
            return Ok(ModelAnswer::text(&last));
        }
        let is_meant = |line: &&MockLine| {
            line.when
                .as_ref()
                .is_some_and(|when| last.contains(when.as_str()))
        };
        let mut in_turn = self.0.iter().filter(|line| line.when.is_none());
        let found = self.0.iter().find(is_meant).or_else(|| in_turn.nth(turn));
        let line = found.ok_or_else(|| {
            format!(
                "the mock has no answer to a conversation with {turn} answers whose last message is: {last}"
            )
        })?;
        Ok(line.answer.clone().with_calls_of(turn))
    }
}

impl MockLine {
    fn of(value: &Value) -> Result<Self, String> {
        if let Some(text) = value.as_str() {
            return Ok(Self {
                when: None,
                answer: ModelAnswer::text(text),
            });
        }
        let fields = value.as_object().ok_or("is neither words nor an object")?;
        let known = ["when", "text", "thinking", "calls"];
        if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "has `{other}`; there are `when`, `text`, `thinking` and `calls`"
            ));
        }
        let words = |name: &str| match &value[name] {
            Value::Null => Ok(None),
            Value::String(words) => Ok(Some(words.clone())),
            _ => Err(format!("has a `{name}` that is not a string")),
        };
        let mut parts = Vec::new();
        parts.extend(words("thinking")?.map(AnswerPart::Thinking));
        parts.extend(words("text")?.map(AnswerPart::Text));
        for call in value["calls"].as_array().unwrap_or(&Vec::new()) {
            let name = call["name"].as_str().ok_or("has a call without a `name`")?;
            parts.push(AnswerPart::Call {
                id: String::new(),
                name: name.to_owned(),
                input: call.get("input").cloned().unwrap_or_else(|| json!({})),
            });
        }
        if parts.is_empty() {
            return Err("says nothing: give `text`, `thinking` or `calls`".to_owned());
        }
        Ok(Self {
            when: words("when")?,
            answer: ModelAnswer { parts, stop: None },
        })
    }
}

impl ModelAnswer {
    /// Gives each call an id that follows from its position in the conversation.
    fn with_calls_of(mut self, turn: usize) -> Self {
        for (place, part) in self.parts.iter_mut().enumerate() {
            if let AnswerPart::Call { id, .. } = part {
                *id = format!("call_{turn}_{place}");
            }
        }
        self
    }
}

/// Returns the text of the last message, and the number of answers before it. At Responses, the items of one
/// answer are neighbours.
fn conversation_of(body: &Value) -> (String, usize) {
    let lists = ["input", "contents"].into_iter().map(|name| &body[name]);
    let list = lists
        .into_iter()
        .find(|list| list.is_array())
        .unwrap_or(&body["messages"]);
    let messages = list.as_array().map_or(&[][..], Vec::as_slice);
    let mut last = String::new();
    if let Some(message) = messages.last() {
        words_of(&message["content"], &mut last);
        words_of(&message["output"], &mut last);
        words_of(&message["parts"], &mut last);
        words_of(&message["result"], &mut last);
    }
    let is_answer = |item: &Value| {
        let is_call = item["type"].as_str().is_some_and(|kind| {
            kind.ends_with("_call") || ["reasoning", "thought", "model_output"].contains(&kind)
        });
        item["role"] == "assistant" || item["role"] == "model" || is_call
    };
    let is_one_item = !body["input"].is_array();
    let ends = messages.iter().enumerate().filter(|(at, item)| {
        is_answer(item) && (is_one_item || !messages.get(at + 1).is_some_and(is_answer))
    });
    (last, ends.count())
}

/// Collects the text of a message, from all of its parts.
fn words_of(content: &Value, words: &mut String) {
    match content {
        Value::String(text) => {
            words.push_str(text);
            words.push('\n');
        }
        Value::Array(parts) => parts.iter().for_each(|part| words_of(part, words)),
        Value::Object(part) => [
            "text",
            "content",
            "functionResponse",
            "response",
            "output",
            "error",
        ]
        .iter()
        .filter_map(|name| part.get(*name))
        .for_each(|inner| words_of(inner, words)),
        _ => {}
    }
}

/// A model server: it has the protocols of Anthropic (`/v1/messages`), OpenAI (`/v1/chat/completions`,
/// `/v1/responses`), Gemini (`/v1beta/models/NAME:streamGenerateContent`, `/v1beta/interactions`) and Amazon
/// Bedrock (`/model/ID/invoke-with-response-stream`, with any key and any signature), refuses the same
/// requests as the vendors, and answers from a file.
#[derive(Debug)]
pub struct Mock {
    answers: MockAnswers,
    anthropic: Mutex<Anthropic>,
    chat: Mutex<ChatServer>,
    responses: Mutex<ResponsesServer>,
    gemini: Mutex<GeminiServer>,
    interactions: Mutex<InteractionsServer>,
    bedrock: Mutex<BedrockServer>,
    vertex: Mutex<VertexServer>,
    delay: Duration,
    /// Statuses of the requests that come next.
    fails: Mutex<std::vec::IntoIter<u16>>,
}

impl Mock {
    /// Creates a server with these answers; without any, it repeats the user's message.
    pub fn new(answers: MockAnswers, dialect: Dialect) -> Self {
        Self {
            answers,
            anthropic: Mutex::new(Anthropic::new().knowing_all_as(ORDINARY)),
            chat: Mutex::new(ChatServer::new(dialect)),
            responses: Mutex::new(ResponsesServer::new()),
            gemini: Mutex::new(GeminiServer::new()),
            interactions: Mutex::new(InteractionsServer::new()),
            vertex: Mutex::new(VertexServer::new(Anthropic::new().knowing_all_as(ORDINARY))),
            bedrock: Mutex::new(
                BedrockServer::new("", Anthropic::new().knowing_all_as(ORDINARY)).accepting_anybody(),
            ),
            delay: Duration::ZERO,
            fails: Mutex::new(Vec::new().into_iter()),
        }
    }

    /// Delays each answer by this time.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Lets the first requests for an answer fail with these statuses, in order.
    #[must_use]
    pub fn failing(mut self, statuses: Vec<u16>) -> Self {
        self.fails = Mutex::new(statuses.into_iter());
        self
    }

    /// Returns the reply to a request, and a short description for a log.
    pub fn answer(&self, request: &HttpRequest) -> (ServerReply, String) {
        let path = request.path.split('?').next().unwrap_or_default();
        let answered = match path {
            _ if path.ends_with("/models") => {
                let models = json!({ "object": "list", "data": [{ "id": "mock", "object": "model" }] });
                return (ServerReply::json(200, &models), "its models".to_owned());
            }
            _ if [
                "/messages",
                "/chat/completions",
                "/responses",
                ":streamGenerateContent",
                "/interactions",
                BEDROCK,
                ":streamRawPredict",
            ]
            .iter()
            .any(|end| path.ends_with(end)) =>
            {
                match locked(&self.fails).next() {
                    Some(status) => Err(failure(
                        status,
                        &format!("the mock fails with {status}, as it was told"),
                    )),
                    None if path.ends_with(BEDROCK) => self.frames(request),
                    None => self.stream(path, request),
                }
            }
            _ => Err(failure(
                404,
                "the mock has /v1/messages, /v1/chat/completions, /v1/responses, \
                 /v1beta/models/NAME:streamGenerateContent, /v1beta/interactions, \
                 /model/ID/invoke-with-response-stream and /v1/models",
            )),
        };
        match answered {
            Ok(reply) => (reply.waiting(self.delay), "an answer".to_owned()),
            Err((status, body, why)) => (ServerReply::json(status, &body), format!("{status}: {why}")),
        }
    }

    /// Returns the answer of a model at Amazon Bedrock.
    fn frames(&self, request: &HttpRequest) -> Result<ServerReply, (u16, Value, String)> {
        let refused = |refusal: VendorRefusal| (refusal.status, refusal.body, refusal.message);
        let accepted = locked(&self.bedrock).check(request, unix_seconds());
        let accepted = accepted.map_err(refused)?;
        let answer = self
            .answers
            .to(&request.json())
            .map_err(|why| failure(400, &why))?;
        Ok(ServerReply::frames().then(accepted.stream(&answer)))
    }

    fn stream(&self, path: &str, request: &HttpRequest) -> Result<ServerReply, (u16, Value, String)> {
        Ok(ServerReply::stream().then(self.events(path, request)?))
    }

    /// Returns the answer as the vendor streams it.
    fn events(&self, path: &str, request: &HttpRequest) -> Result<String, (u16, Value, String)> {
        let refused = |refusal: VendorRefusal| (refusal.status, refusal.body, refusal.message);
        let answer = || self.answers.to(&request.json()).map_err(|why| failure(400, &why));
        if path.ends_with("/messages") {
            let beta = request.header("anthropic-beta").unwrap_or_default();
            let accepted = locked(&self.anthropic).check(&request.body, beta);
            return Ok(accepted.map_err(refused)?.stream(&answer()?));
        }
        if path.ends_with(":streamRawPredict") {
            let accepted = locked(&self.vertex).check(request);
            return Ok(accepted.map_err(refused)?.stream(&answer()?));
        }
        if path.ends_with("/responses") {
            let accepted = locked(&self.responses).check(&request.body);
            return Ok(accepted.map_err(refused)?.stream(&answer()?));
        }
        if path.ends_with(":streamGenerateContent") {
            let accepted = locked(&self.gemini).check(path, &request.body);
            return Ok(accepted.map_err(refused)?.stream(&answer()?));
        }
        if path.ends_with("/interactions") {
            let accepted = locked(&self.interactions).check(&request.body);
            return Ok(accepted.map_err(refused)?.stream(&answer()?));
        }
        let accepted = locked(&self.chat).check(&request.body);
        Ok(accepted.map_err(refused)?.stream(&answer()?))
    }
}

/// Returns a failure in a form that all protocols know.
fn failure(status: u16, message: &str) -> (u16, Value, String) {
    let error = json!({ "type": "api_error", "message": message });
    let body = json!({ "type": "error", "error": error });
    (status, body, message.to_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
