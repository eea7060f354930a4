//! The vendors of one history, and the models that they sell.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::Odd;
use crate::chance::Random;
use crate::refused_texts;
use agentx_llm::{Catalog, ModelError, NoBlobs, WireOptions, build, header, named_part};
use agentx_testing::HttpRequest;
use agentx_testing::vendors::{
    Anthropic, AnthropicAccepted, BedrockServer, ChatServer, ConverseServer, Dialect, GeminiServer,
    InteractionsServer, ModelAnswer, ResponsesServer, VendorRefusal, VertexServer,
};
use agentx_types::{Api, MessagePlace, ModelRequest, ModelSpec};

/// Models of every protocol and age, by provider and id.
const MODELS: &[(&str, &str)] = &[
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-sonnet-5-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("anthropic", "claude-fable-5-1"),
    ("anthropic", "claude-opus-4-8"),
    ("anthropic", "claude-sonnet-4-6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("bedrock", "us.anthropic.claude-opus-5-5-v1:0"),
    ("bedrock", "anthropic.claude-sonnet-4-6"),
    ("bedrock-converse", "us.amazon.nova-pro-v1:0"),
    ("bedrock-converse", "mistral.mistral-large-3-675b-instruct"),
    ("vertex-anthropic", "claude-opus-4-8"),
    ("vertex-anthropic", "claude-sonnet-5-5"),
    ("openai", "gpt-5.6-terra"),
    ("openai", "gpt-5.4-mini"),
    ("openai", "gpt-5"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-6-sol"),
    ("openai", "gpt-6.1-terra"),
    ("google", "gemini-4-argon"),
    ("google", "gemini-3.8-flash"),
    ("google", "gemini-3.1-pro-preview"),
    ("google", "gemini-2.5-flash"),
    ("mistral", "mistral-large-latest"),
    ("deepseek", "deepseek-v4-flash"),
    ("groq", "openai/gpt-oss-120b"),
    ("groq", "made-up-instruct"),
    ("ollama", "made-up-local"),
    ("llamacpp", "made-up-local"),
    ("openrouter", "mistralai/made-up-devstral"),
];

/// The key that the clouds know, made up.
const CLOUD_KEY: &str = "made-up-key";

static CATALOG: OnceLock<Catalog> = OnceLock::new();

/// The vendors.
pub(crate) struct Shop {
    catalog: &'static Catalog,
    anthropic: Anthropic,
    bedrock: BedrockServer,
    converse: ConverseServer,
    vertex: VertexServer,
    chats: BTreeMap<String, ChatServer>,
    responses: ResponsesServer,
    gemini: GeminiServer,
    interactions: InteractionsServer,
    window: Option<u64>,
}

/// A vendor's interpretation of an accepted request.
#[derive(Default)]
pub(crate) struct Asked {
    /// The bytes of the answer.
    pub(crate) stream: Vec<u8>,
    /// The number of dropped thinking blocks.
    pub(crate) dropped: u64,
    /// The number of those that were dropped because an earlier part had changed.
    pub(crate) changed_prefixes: u64,
    /// Whether the beginning was cut off silently.
    pub(crate) is_cut: bool,
}

impl Shop {
    /// Returns all of them. If `window` is the assumed size of windows, theirs are at most as large.
    pub(crate) fn open(random: &mut Random, window: Option<u64>) -> Self {
        let assumed = window;
        let window = window.map(|tokens| random.one_of(&[tokens, tokens / 2]).unwrap());
        let mut anthropic = Anthropic::new();
        if random.below(4) == 0 {
            anthropic = anthropic.of_an_older_account();
        }
        if let Some(window) = window {
            anthropic = anthropic.with_window(window);
        }
        let local = random
            .one_of(&[
                Dialect::LlamaCpp,
                Dialect::LlamaCppPython,
                Dialect::Devstral,
                Dialect::Gemma,
            ])
            .unwrap();
        let dialects = [
            ("openai", Dialect::OpenAi),
            ("mistral", Dialect::Mistral),
            ("deepseek", Dialect::DeepSeek),
            ("groq", Dialect::Groq),
            ("ollama", Dialect::Ollama),
            ("llamacpp", local),
            ("openrouter", Dialect::Devstral),
        ];
        let chat = |dialect| match window {
            // It does not report its window, which is often much smaller than assumed.
            Some(window) if dialect == Dialect::Ollama => ChatServer::new(dialect).with_window(window / 2),
            Some(window) => ChatServer::new(dialect).with_window(window),
            None => ChatServer::new(dialect).with_window(1_000_000),
        };
        let mut responses = ResponsesServer::new().with_window(window.unwrap_or(1_000_000));
        if random.below(4) == 0 {
            responses = responses.unverified();
        }
        Self {
            responses,
            gemini: GeminiServer::new().with_window(window.unwrap_or(1_000_000)),
            interactions: InteractionsServer::new().with_window(window.unwrap_or(1_000_000)),
            catalog: CATALOG.get_or_init(Catalog::builtin),
            bedrock: BedrockServer::new("us-east-1", anthropic.clone()).with_api_key(CLOUD_KEY),
            converse: ConverseServer::new().with_window(window.unwrap_or(1_000_000)),
            vertex: VertexServer::new(anthropic.clone()).with_tokens_like(CLOUD_KEY),
            anthropic,
            chats: dialects
                .map(|(name, dialect)| (name.to_owned(), chat(dialect)))
                .into(),
            window: assumed,
        }
    }

    pub(crate) fn model(&self, random: &mut Random) -> ModelSpec {
        let (provider, id) = random.one_of(MODELS).unwrap();
        let left_out = [
            ("mistral", Odd::Mistral),
            ("claude-sonnet-4-5", Odd::ThinkingBudget),
        ];
        if left_out
            .iter()
            .any(|(name, odd)| [provider, id].contains(name) && !odd.happens())
        {
            return self.model(random);
        }
        let mut model = self.catalog.resolve_at(provider, id).unwrap();
        // Another address is asked by Chat Completions, but for models that take tools only at Responses.
        if model.api == Api::OpenaiResponses && random.below(2) == 0 && id != "gpt-6.1-terra" {
            model.api = Api::OpenaiChat;
        }
        if model.api == Api::Gemini && random.below(3) == 0 {
            model.api = Api::GeminiInteractions;
        }
        if let Some(window) = self.window {
            model.context_window = window;
            model.max_output_tokens = model.max_output_tokens.min(window / 4);
        }
        model
    }

    /// Sends a request to its vendor. Returns the stream of `answer`, or a refusal.
    pub(crate) fn ask(
        &mut self,
        request: &ModelRequest,
        answer: &ModelAnswer,
    ) -> Result<Asked, VendorRefusal> {
        let wire = self.catalog.wire_options(&request.model);
        let body = build(request, &wire, &NoBlobs);
        refused_texts::check(request.model.api, &body).map_err(|refusal| *refusal)?;
        let plain = |stream: String| Asked {
            stream: stream.into_bytes(),
            ..Asked::default()
        };
        match request.model.api {
            Api::OpenaiResponses => {
                return Ok(plain(self.responses.check(&body)?.stream(answer)));
            }
            Api::Gemini => {
                let path = format!("/v1beta/models/{}:streamGenerateContent", request.model.id);
                return Ok(plain(self.gemini.check(&path, &body)?.stream(answer)));
            }
            Api::GeminiInteractions => {
                return Ok(plain(self.interactions.check(&body)?.stream(answer)));
            }
            Api::BedrockConverse => {
                let accepted = self.converse.check(&request.model.id, &body)?;
                return Ok(Asked {
                    stream: accepted.stream(answer),
                    ..Asked::default()
                });
            }
            Api::Bedrock => return self.ask_bedrock(request, body, answer),
            Api::VertexAnthropic => {
                let accepted = self.vertex.check(&to_vertex(request, &wire, body))?;
                return Ok(of_messages(&accepted, accepted.stream(answer).into_bytes()));
            }
            _ => {}
        }
        match self.chats.get_mut(&request.model.provider) {
            Some(chat) => {
                let accepted = chat.check(&body)?;
                Ok(Asked {
                    stream: accepted.stream(answer).into_bytes(),
                    dropped: 0,
                    changed_prefixes: 0,
                    is_cut: accepted.cut_off > 0,
                })
            }
            None => {
                let beta = header(request, &wire).filter(|(name, _)| *name == "anthropic-beta");
                let beta = beta.map(|(_, value)| value).unwrap_or_default();
                let accepted = self.anthropic.check(&body, beta)?;
                Ok(of_messages(&accepted, accepted.stream(answer).into_bytes()))
            }
        }
    }

    /// Returns the part of the conversation that a refusal of this request names.
    pub(crate) fn refused_place(&self, request: &ModelRequest, error: &ModelError) -> Option<MessagePlace> {
        let wire = self.catalog.wire_options(&request.model);
        named_part(request, &wire, &NoBlobs, error.place.as_deref()?)
    }

    fn ask_bedrock(
        &mut self,
        request: &ModelRequest,
        body: Vec<u8>,
        answer: &ModelAnswer,
    ) -> Result<Asked, VendorRefusal> {
        let id = request.model.id.replace(':', "%3A");
        let sent = HttpRequest {
            method: "POST".into(),
            path: format!("/model/{id}/invoke-with-response-stream"),
            headers: vec![("authorization".into(), format!("Bearer {CLOUD_KEY}"))],
            body,
        };
        let accepted = self.bedrock.check(&sent, 0)?;
        Ok(of_messages(&accepted.messages, accepted.stream(answer)))
    }
}

fn to_vertex(request: &ModelRequest, wire: &WireOptions, body: Vec<u8>) -> HttpRequest {
    let mut headers = vec![("authorization".into(), format!("Bearer {CLOUD_KEY}"))];
    if let Some((name, value)) = header(request, wire) {
        headers.push((name.into(), value.into()));
    }
    let model = &request.model.id;
    HttpRequest {
        method: "POST".into(),
        path: format!(
            "/v1/projects/made-up/locations/global/publishers/anthropic/models/{model}:streamRawPredict"
        ),
        headers,
        body,
    }
}

fn of_messages(accepted: &AnthropicAccepted, stream: Vec<u8>) -> Asked {
    Asked {
        stream,
        dropped: accepted.dropped.len() as u64,
        changed_prefixes: accepted.changed_prefixes().count() as u64,
        is_cut: false,
    }
}
