//! Anthropic's models at Vertex AI, as strict as Google is about the path, the token and the version. The
//! model behind it has the strictness of [`Anthropic`].

use serde_json::{Map, Value, json};

use super::{Anthropic, AnthropicAccepted, VendorRefusal, VendorRule};
use crate::HttpRequest;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Vertex AI for models of Anthropic.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    PATH: "vertex-path", "A request is a POST to `/v1/projects/P/locations/L/publishers/anthropic/models/M:streamRawPredict`.",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude", "2026-11-28";
    TOKEN: "vertex-token", "A request has an access token as a bearer.",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude", "2026-11-28";
    VERSION: "vertex-version", "The body has `anthropic_version: vertex-2023-10-16`.",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude", "2026-11-28";
    BODY: "vertex-body", "The body has no `model`, which is in the path.",
        "https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/lib/vertex/_client.py", "2026-08-08";
}

/// The server.
#[derive(Clone, Debug)]
pub struct VertexServer {
    model: Anthropic,
    /// The beginning of the tokens that it accepts; `None` for any.
    token: Option<String>,
}

impl VertexServer {
    /// Creates a server with this model behind it, which accepts any token.
    pub fn new(model: Anthropic) -> Self {
        Self { model, token: None }
    }

    /// Accepts only tokens that begin so.
    #[must_use]
    pub fn with_tokens_like(mut self, start: &str) -> Self {
        self.token = Some(start.to_owned());
        self
    }

    /// Looks at a request.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, request: &HttpRequest) -> Result<AnthropicAccepted, VendorRefusal> {
        let Some(model) = model_of(request) else {
            return Err(refuse(
                PATH,
                404,
                "The requested URL was not found on this server.",
            ));
        };
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let is_known = |token: &str| {
            self.token
                .as_ref()
                .is_none_or(|start| token.starts_with(start.as_str()))
        };
        if !bearer.is_some_and(is_known) {
            let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie \
                           or other valid authentication credential.";
            return Err(refuse(TOKEN, 401, message));
        }
        let mut body: Map<String, Value> = serde_json::from_slice(&request.body)
            .map_err(|_| refuse(BODY, 400, "Invalid JSON payload received."))?;
        if body.contains_key("model") {
            return Err(refuse(BODY, 400, "model: Extra inputs are not permitted"));
        }
        if body.remove("anthropic_version") != Some(json!("vertex-2023-10-16")) {
            return Err(refuse(VERSION, 400, "anthropic_version: Field required"));
        }
        body.insert("model".to_owned(), json!(model.replace('@', "-")));
        let beta = request.header("anthropic-beta").unwrap_or_default();
        self.model.check(Value::Object(body).to_string().as_bytes(), beta)
    }
}

/// The model that the path names.
fn model_of(request: &HttpRequest) -> Option<&str> {
    let path = request.path.strip_prefix("/v1/projects/")?;
    let (place, model) = path.split_once("/publishers/anthropic/models/")?;
    let (project, location) = place.split_once("/locations/")?;
    let model = model.strip_suffix(":streamRawPredict")?;
    let is_whole = [project, location, model]
        .iter()
        .all(|part| !part.is_empty() && !part.contains('/'));
    (is_whole && request.method == "POST").then_some(model)
}

/// A refusal in the form of Google.
fn refuse(rule: &'static VendorRule, status: u16, message: &str) -> VendorRefusal {
    let word = match status {
        401 => "UNAUTHENTICATED",
        404 => "NOT_FOUND",
        _ => "INVALID_ARGUMENT",
    };
    VendorRefusal {
        rule,
        status,
        message: message.to_owned(),
        body: json!({ "error": { "code": status, "message": message, "status": word } }),
    }
}
