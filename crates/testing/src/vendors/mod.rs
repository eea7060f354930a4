//! Model servers as strict as the vendors: they refuse the same requests as a vendor, in the vendor's words.
//!
//! [`Anthropic`], [`ChatServer`], [`ResponsesServer`], [`GeminiServer`], [`InteractionsServer`],
//! [`BedrockServer`] and [`ConverseServer`] check a request and either accept it or return the
//! [`VendorRule`] that it breaks. They do no I/O, so that a test can check requests without a server;
//! [`crate::StrictServer`] puts them behind a socket.
//!
#![doc = include_str!("../../docs/strict-vendors.md")]

mod answer_schema;
mod anthropic;
mod bedrock;
mod bytes;
mod chat;
mod converse;
mod count;
mod gemini;
mod google_tokens;
mod interactions;
mod picture;
mod responses;
mod vertex;

pub use anthropic::{AcceptedMessages as AnthropicAccepted, Anthropic, RULES as ANTHROPIC_RULES};
pub use bedrock::{AcceptedInvocation as BedrockAccepted, BedrockServer, RULES as BEDROCK_RULES};
pub use bytes::{base64, fingerprint};
pub use chat::{AcceptedCompletion as ChatAccepted, ChatServer, Dialect, RULES as CHAT_RULES};
pub use converse::{AcceptedConversation as ConverseAccepted, ConverseServer, RULES as CONVERSE_RULES};
pub use gemini::{AcceptedContent as GeminiAccepted, GeminiServer, RULES as GEMINI_RULES};
pub use google_tokens::{GoogleTokenServer, RULES as GOOGLE_TOKEN_RULES};
pub use interactions::{
    AcceptedInteraction as InteractionsAccepted, InteractionsServer, RULES as INTERACTIONS_RULES,
};
pub use picture::{PICTURE_RULES, VendorPicture, png};
pub use responses::{AcceptedResponse as ResponsesAccepted, RULES as RESPONSES_RULES, ResponsesServer};

pub use vertex::{RULES as VERTEX_RULES, VertexServer};

use gemini::{is_name as is_gemini_name, version as gemini_version};
use serde_json::{Value, json};

/// A rule of a vendor, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorRule {
    /// A short name, unique among the rules.
    pub name: &'static str,
    /// The rule, as one sentence.
    pub says: &'static str,
    /// The source, or `reported` if no public page was found.
    pub source: &'static str,
    /// The date of the source, or of the day on which a page without a date was read.
    pub date: &'static str,
}

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorRefusal {
    /// The rule that it breaks.
    pub rule: &'static VendorRule,
    /// The status of the answer.
    pub status: u16,
    /// The vendor's message.
    pub message: String,
    /// The body of the answer, in the vendor's form.
    pub body: Value,
}

impl VendorRefusal {
    /// Returns whether the request is too long for the model: every long session gets there, so its form is
    /// not at fault.
    pub fn is_full_window(&self) -> bool {
        [
            "anthropic-window",
            "chat-window",
            "chat-window-with-answer",
            "responses-window",
            "gemini-window",
            "interactions-window",
            "converse-window",
        ]
        .contains(&self.rule.name)
    }

    fn anthropic(rule: &'static VendorRule, status: u16, message: impl Into<String>) -> Self {
        let message = message.into();
        let kind = match status {
            404 => "not_found_error",
            413 => "request_too_large",
            _ => "invalid_request_error",
        };
        let error = json!({ "type": kind, "message": message });
        let body = json!({ "type": "error", "error": error, "request_id": "req_made_up" });
        Self {
            rule,
            status,
            message,
            body,
        }
    }
}

/// The counted tokens of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedTokens {
    /// Tokens that were neither read from the cache nor written to it.
    pub input: u64,
    /// Tokens that were written to the cache.
    pub cache_write: u64,
    /// Tokens that were read from the cache.
    pub cache_read: u64,
}

impl CountedTokens {
    /// Returns the sum of all tokens.
    pub fn total(&self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }
}

/// The answer of a model: parts in order.
#[derive(Clone, Debug, Default)]
pub struct ModelAnswer {
    /// The parts.
    pub parts: Vec<AnswerPart>,
    /// The stop reason in the vendor's word; `None` for the natural one.
    pub stop: Option<&'static str>,
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum AnswerPart {
    /// Words that are thought.
    Thinking(String),
    /// A text.
    Text(String),
    /// A call of a tool.
    Call {
        /// The id of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Value,
    },
}

impl ModelAnswer {
    /// Words.
    pub fn text(text: &str) -> Self {
        Self::default().then(AnswerPart::Text(text.to_owned()))
    }

    /// And then this.
    #[must_use]
    pub fn then(mut self, part: AnswerPart) -> Self {
        self.parts.push(part);
        self
    }

    fn has_calls(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, AnswerPart::Call { .. }))
    }
}

/// Returns the rules of all vendors as a table in Markdown.
pub fn table() -> String {
    let rules = [
        ANTHROPIC_RULES,
        PICTURE_RULES,
        BEDROCK_RULES,
        CONVERSE_RULES,
        CHAT_RULES,
        RESPONSES_RULES,
        GEMINI_RULES,
        INTERACTIONS_RULES,
        VERTEX_RULES,
        GOOGLE_TOKEN_RULES,
    ]
    .into_iter()
    .flatten();
    let mut table =
        String::from("| rule | what a request must satisfy | source | date |\n| --- | --- | --- | --- |\n");
    for rule in rules {
        let VendorRule {
            name,
            says,
            source,
            date,
        } = rule;
        table += &format!(
            "| `{name}` | {} | {} | {date} |\n",
            says.replace('|', "\\|"),
            linked(source)
        );
    }
    table
}

fn linked(source: &str) -> String {
    source
        .split(' ')
        .map(|word| {
            if word.starts_with("https://") {
                format!("<{word}>")
            } else {
                word.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}
