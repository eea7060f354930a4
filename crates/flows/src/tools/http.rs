//! A tool that sends one HTTP request.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_agent_files::definition::{AuthKind, HttpTool, ToolDefinition};
use agentx_agent_files::jq::JqFilter;
use agentx_luau_tools::{EffectError, EffectKind};
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::ToolSpec;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::keyed::key_in;
use super::run::{RunningTool, SharedToolParts, failed};
use super::spec::spec;
use crate::grants::Grants;
use crate::world::network::AllowedHosts;
use crate::world::{CallOrigin, Network, ToolsShared};

/// The number of characters of an error response that the model sees.
const SHOWN_CHARS: usize = 2_000;

/// The name under which the log has a secret in base64.
const AUTHORIZATION: &str = "authorization";

/// The header by which a server knows a repeated request.
const KEY_HEADER: &str = "Idempotency-Key";

struct HttpRunner {
    spec: ToolSpec,
    request: Arc<HttpCall>,
    ground: Arc<SharedToolParts>,
}

struct HttpCall {
    definition: HttpTool,
    /// The argument with the key of the call.
    key: Option<String>,
    makes_body: Option<JqFilter>,
    makes_result: Option<JqFilter>,
}

pub(super) fn tool(
    shared: &Arc<ToolsShared>,
    definition: &ToolDefinition,
    http: &HttpTool,
) -> Result<Arc<dyn Tool>, String> {
    let filter = |text: &Option<String>| text.as_deref().map(JqFilter::compile).transpose();
    let request = HttpCall {
        makes_body: filter(&http.req_body_jq).map_err(|error| format!("req_body_jq: {error}"))?,
        makes_result: filter(&http.resp_body_jq).map_err(|error| format!("resp_body_jq: {error}"))?,
        definition: http.clone(),
        key: definition.idempotency_key.clone(),
    };
    let variables: Vec<String> = http.variables().into_iter().map(str::to_owned).collect();
    let endpoint = filled(&http.endpoint, shared).unwrap_or_default();
    let host = reqwest::Url::parse(&endpoint).ok();
    let host = host.and_then(|url| url.host_str().map(str::to_owned));
    let max = usize::try_from(http.max_response_bytes()).unwrap_or(usize::MAX);
    let ground = SharedToolParts {
        name: definition.name.clone(),
        hash: hash(definition),
        grants: Arc::new(Grants {
            env: variables,
            ..Grants::default()
        }),
        network: Arc::new(Network::new(
            AllowedHosts::new(host),
            shared.parts.lookup.clone(),
            max,
            shared.answers.clone(),
        )),
        shared: shared.clone(),
        origin: CallOrigin::Whole,
    };
    Ok(Arc::new(HttpRunner {
        spec: spec(definition),
        request: Arc::new(request),
        ground: Arc::new(ground),
    }))
}

/// Returns a hash that distinguishes definitions.
pub(super) fn hash(definition: &ToolDefinition) -> String {
    let text = serde_json::to_string(definition).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Tool for HttpRunner {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (ground, request) = (self.ground.clone(), self.request.clone());
        Box::pin(async move {
            let encoded = request
                .encoded(&ground.shared)
                .map(|token| (AUTHORIZATION.to_owned(), token));
            let mut running = match ground.begin_with(&context, encoded) {
                Ok(running) => running,
                Err(outcome) => return outcome,
            };
            let came_to = request.perform(&input, &ground, &mut running).await;
            let came_to = came_to.map_err(|error| failed(&ground.name, &error));
            running.end(&context, came_to).await
        })
    }
}

impl HttpCall {
    /// Returns the base64 form of a secret.
    fn encoded(&self, shared: &ToolsShared) -> Option<String> {
        let auth = self
            .definition
            .auth
            .as_ref()
            .filter(|auth| auth.kind == AuthKind::Basic)?;
        let token = filled(&auth.token, shared).ok()?;
        token.contains(':').then(|| STANDARD.encode(token))
    }

    async fn perform(
        &self,
        input: &Value,
        ground: &SharedToolParts,
        running: &mut RunningTool,
    ) -> Result<Value, EffectError> {
        let asked = self.asked(input, &ground.shared)?;
        let answer = running.perform(EffectKind::Http, asked).await?;
        let status = answer.get("status").and_then(Value::as_u64).unwrap_or_default();
        let body = answer.get("body").and_then(Value::as_str).unwrap_or_default();
        if !(200..300).contains(&status) {
            let shown: String = body.chars().take(SHOWN_CHARS).collect();
            return Err(EffectError::new(
                "http_status",
                format!("the server answered {status}: {shown}"),
            ));
        }
        let Some(filter) = &self.makes_result else {
            return Ok(Value::String(body.to_owned()));
        };
        let parsed = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        run(filter, parsed, "resp_body_jq").await
    }

    fn asked(&self, input: &Value, shared: &ToolsShared) -> Result<Value, EffectError> {
        let http = &self.definition;
        let mut headers = Map::new();
        for (name, value) in &http.headers {
            headers.insert(name.clone(), Value::String(filled(value, shared)?));
        }
        let has_own = headers.keys().any(|name| name.eq_ignore_ascii_case(KEY_HEADER));
        let key = self.key.as_deref().filter(|_| !has_own);
        if let Some(key) = key.and_then(|field| key_in(input, field)) {
            headers.insert(KEY_HEADER.to_owned(), Value::String(key));
        }
        if let Some(auth) = &http.auth {
            let token = filled(&auth.token, shared)?;
            let value = match auth.kind {
                AuthKind::Bearer => format!("Bearer {token}"),
                AuthKind::Basic if token.contains(':') => format!("Basic {}", STANDARD.encode(token)),
                AuthKind::Basic => format!("Basic {token}"),
            };
            headers.insert("authorization".to_owned(), Value::String(value));
        }
        let mut asked =
            json!({"method": http.method, "url": filled(&http.endpoint, shared)?, "headers": headers});
        let made = match &self.makes_body {
            Some(filter) => {
                let made = filter.run(&json!({"input": input}));
                made.map_err(|error| EffectError::new("failed", format!("req_body_jq: {error}")))?
            }
            None => input.clone(),
        };
        let in_query = matches!(http.method.as_str(), "GET" | "HEAD" | "DELETE");
        let key = if in_query { "query" } else { "json" };
        asked[key] = made;
        if let Some(timeout) = http.timeout {
            asked["timeout_ms"] = json!(timeout.0);
        }
        Ok(asked)
    }
}

/// Runs a filter on a blocking thread.
pub(super) async fn run(filter: &JqFilter, input: Value, what: &'static str) -> Result<Value, EffectError> {
    let filter = filter.clone();
    let made = tokio::task::spawn_blocking(move || filter.run(&input)).await;
    let failed = |error: &dyn std::fmt::Display| EffectError::new("failed", format!("{what}: {error}"));
    made.map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))
}

/// Returns a text with its `${NAME}`s filled in.
fn filled(text: &str, shared: &ToolsShared) -> Result<String, EffectError> {
    let mut out = String::new();
    let mut rest = text;
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        if !known.contains_key(name) {
            let value = shared.parts.known.env(name);
            let missing =
                || EffectError::new("not_found", format!("the environment variable {name} is not set"));
            known.insert(name, value.ok_or_else(missing)?);
        }
        out.push_str(before);
        out.push_str(known.get(name).map_or("", String::as_str));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
