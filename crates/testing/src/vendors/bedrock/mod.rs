//! Amazon Bedrock in front of Anthropic's models, as strict as AWS is: who asks, and in which form. The model
//! behind it has the strictness of [`Anthropic`].

mod frames;
mod rules;
mod signature;

pub(super) use frames::event as event_frame;
pub use rules::RULES;

use serde_json::{Map, Value, json};

use super::{Anthropic, AnthropicAccepted, ModelAnswer, VendorRefusal, VendorRule};
use crate::HttpRequest;

/// The version that a body names.
const VERSION: &str = "bedrock-2023-05-31";

/// The operation that takes a request in the model's own protocol.
const INVOKE: &str = "/invoke-with-response-stream";

/// The operation of Converse.
const CONVERSE: &str = "/converse-stream";

/// An access key that the server knows.
#[derive(Clone, Debug)]
struct AccessKey {
    id: String,
    secret: String,
    token: Option<String>,
}

/// The server.
#[derive(Clone, Debug)]
pub struct BedrockServer {
    region: String,
    keys: Vec<AccessKey>,
    bearer: Option<String>,
    accepts_anybody: bool,
    model: Anthropic,
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedInvocation {
    /// The request for the model.
    pub messages: AnthropicAccepted,
    /// The id of the model, as the path names it.
    pub model: String,
}

impl AcceptedInvocation {
    /// Returns the whole answer in frames.
    pub fn stream(&self, answer: &ModelAnswer) -> Vec<u8> {
        frames::of_messages(&self.messages.stream(answer))
    }

    /// Returns the beginning of an answer, up to its first events, and an exception.
    pub fn broken_stream(&self, answer: &ModelAnswer, exception: &str, message: &str) -> Vec<u8> {
        let whole = self.messages.stream(answer);
        let mut events = whole.split_inclusive("\n\n");
        let first: String = events.by_ref().take(3).collect();
        let mut frames = frames::of_messages(&first);
        frames.extend(frames::exception(exception, message));
        frames
    }
}

impl BedrockServer {
    /// Creates a server of this region with this model behind it. It knows no access key and no API key.
    pub fn new(region: &str, model: Anthropic) -> Self {
        Self {
            region: region.to_owned(),
            keys: Vec::new(),
            bearer: None,
            accepts_anybody: false,
            model,
        }
    }

    /// Knows an access key; a temporary one has a token.
    #[must_use]
    pub fn with_access_key(mut self, id: &str, secret: &str, token: Option<&str>) -> Self {
        self.keys.push(AccessKey {
            id: id.to_owned(),
            secret: secret.to_owned(),
            token: token.map(str::to_owned),
        });
        self
    }

    /// Knows an API key, which is sent as a bearer token.
    #[must_use]
    pub fn with_api_key(mut self, key: &str) -> Self {
        self.bearer = Some(key.to_owned());
        self
    }

    /// Accepts every signature and every API key: for a mock that knows no secrets.
    #[must_use]
    pub fn accepting_anybody(mut self) -> Self {
        self.accepts_anybody = true;
        self
    }

    /// Looks at a request that came at a time.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(
        &mut self,
        request: &HttpRequest,
        unix_seconds: u64,
    ) -> Result<AcceptedInvocation, VendorRefusal> {
        let model = model_of(request, INVOKE)?;
        self.check_caller(request, unix_seconds)?;
        let Some(name) = name_of(&model) else {
            return Err(refuse(
                rules::MODEL,
                400,
                "The provided model identifier is invalid.",
            ));
        };
        let (body, beta) = messages_of(&request.body, name)?;
        let checked = self.model.check(&body, &beta);
        let messages = checked.map_err(|refusal| VendorRefusal {
            body: json!({ "message": refusal.message }),
            ..refusal
        })?;
        Ok(AcceptedInvocation { messages, model })
    }

    /// Looks at who sends a request of Converse that came at a time. Returns the id of the model.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn model_of_converse(
        &self,
        request: &HttpRequest,
        unix_seconds: u64,
    ) -> Result<String, VendorRefusal> {
        let model = model_of(request, CONVERSE)?;
        self.check_caller(request, unix_seconds)?;
        Ok(model)
    }

    fn check_caller(&self, request: &HttpRequest, unix_seconds: u64) -> Result<(), VendorRefusal> {
        let Some(authorization) = request.header("authorization") else {
            return Err(refuse(rules::TOKEN, 403, "Missing Authentication Token"));
        };
        match authorization.strip_prefix("Bearer ") {
            _ if self.accepts_anybody => Ok(()),
            Some(key) if self.bearer.as_deref() == Some(key) => Ok(()),
            Some(_) => Err(refuse(rules::BEARER, 403, "The API key is not valid.")),
            None => signature::check(request, authorization, &self.keys, &self.region, unix_seconds),
        }
    }

    /// Returns the name of the exception that AWS sends in `x-amzn-errortype` with a refusal
    /// (<https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html>).
    pub fn exception(refusal: &VendorRefusal) -> &'static str {
        match (refusal.rule.name, refusal.status) {
            ("bedrock-no-credentials", _) => "MissingAuthenticationTokenException",
            ("bedrock-access-key", _) => "UnrecognizedClientException",
            ("bedrock-path", _) => "UnknownOperationException",
            (name, 403) if name != "bedrock-bearer" => "InvalidSignatureException",
            (_, 403) => "AccessDeniedException",
            (_, 404) => "ResourceNotFoundException",
            _ => "ValidationException",
        }
    }
}

/// The model that the path names, decoded; the path ends with the operation.
fn model_of(request: &HttpRequest, operation: &str) -> Result<String, VendorRefusal> {
    let path = request.path.strip_prefix("/model/");
    let segment = path.and_then(|path| path.strip_suffix(operation));
    let segment = segment.filter(|segment| !segment.is_empty() && !segment.contains(['/', '?', ':']));
    let model = segment.filter(|_| request.method == "POST").and_then(decoded);
    model.ok_or_else(|| refuse(rules::PATH, 404, "The operation is not known."))
}

fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The name that Anthropic gives the model: that behind `anthropic.`, without the version of Bedrock. `None`
/// for models of others.
fn name_of(model: &str) -> Option<&str> {
    let (_, name) = model.rsplit_once("anthropic.")?;
    let name = name.split(':').next()?;
    let version = name.rsplit_once("-v").filter(|(_, version)| version.len() == 1);
    Some(version.map_or(name, |(name, _)| name))
}

/// The body and the betas as Anthropic itself would get them.
fn messages_of(body: &[u8], model: &str) -> Result<(Vec<u8>, String), VendorRefusal> {
    let mut body: Map<String, Value> = serde_json::from_slice(body).map_err(|_| {
        refuse(
            rules::BODY,
            400,
            "Malformed input request, please reformat your input and try again.",
        )
    })?;
    for key in ["model", "stream"] {
        if body.contains_key(key) {
            let message = format!(
                "Malformed input request: #: extraneous key [{key}] is not permitted, please reformat your input and try again."
            );
            return Err(refuse(rules::BODY, 400, &message));
        }
    }
    match body.remove("anthropic_version") {
        Some(version) if version == VERSION => {}
        Some(_) => return Err(refuse(rules::VERSION, 400, "Invalid API version")),
        None => return Err(refuse(rules::VERSION, 400, "anthropic_version: Field required")),
    }
    let betas = match body.remove("anthropic_beta") {
        None => Vec::new(),
        Some(betas) => serde_json::from_value::<Vec<String>>(betas)
            .map_err(|_| refuse(rules::BETA, 400, "anthropic_beta: Input should be a valid list"))?,
    };
    body.insert("model".to_owned(), json!(model));
    body.insert("stream".to_owned(), json!(true));
    Ok((Value::Object(body).to_string().into_bytes(), betas.join(",")))
}

/// A refusal in the form of AWS.
fn refuse(rule: &'static VendorRule, status: u16, message: &str) -> VendorRefusal {
    VendorRefusal {
        rule,
        status,
        message: message.to_owned(),
        body: json!({ "message": message }),
    }
}
