//! HTTP for tools from files: only to hosts that the file names, and never through such a host to an internal
//! address.
//!
//! A host is checked by its name when it is requested, and again at each redirect. Its addresses are checked
//! when they are resolved, by the same client that then connects to them, so a name that resolves to
//! something else a moment later has no effect. Addresses outside the public internet are reached only if the
//! file names the address itself (or `localhost`).

mod budget;
mod client;
mod guard;

use std::sync::Arc;
use std::time::Duration;

use agentx_luau_tools::{EffectError, Outcome};
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value, json};

use super::request_text::text;
use crate::grants::Grants;
pub use agentx_http::{LookupFuture, NameLookup, SystemLookup};
pub(crate) use budget::AnswerBudget;
use client::HttpClients;
pub(crate) use guard::AllowedHosts;

/// The number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The time of a request that names none.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that it may name.
const MAX_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest response if the tool sets no limit.
pub(crate) const MAX_ANSWER: usize = 2 << 20;
/// Headers that belong to the connection.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
    "proxy-connection",
];

/// Headers that reveal nothing about the sender of a request.
const OPEN_HEADERS: [HeaderName; 3] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE];

/// The network of one tool.
pub(crate) struct Network {
    clients: HttpClients,
    hosts: Arc<AllowedHosts>,
    max_answer: usize,
    budget: AnswerBudget,
}

/// A request, checked.
struct NetworkRequest {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Network {
    pub(crate) fn new(
        hosts: AllowedHosts,
        lookup: Arc<dyn NameLookup>,
        max_answer: usize,
        budget: AnswerBudget,
    ) -> Self {
        let hosts = Arc::new(hosts);
        Self {
            clients: HttpClients::new(hosts.clone(), lookup),
            hosts,
            max_answer,
            budget,
        }
    }

    /// `http`: `{status, headers, body}`.
    pub(crate) async fn request(&self, _: &Grants, asked: &Value) -> Outcome {
        let request = read(asked)?;
        let ms = asked
            .get("timeout_ms")
            .and_then(Value::as_u64)
            .filter(|ms| *ms > 0);
        let time = ms.map_or(TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
        match tokio::time::timeout(time, self.follow(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(EffectError::new(
                "timeout",
                format!("http: no answer within {time:?}"),
            )),
        }
    }

    async fn follow(&self, mut request: NetworkRequest) -> Outcome {
        for _ in 0..=MAX_REDIRECTS {
            self.hosts.check(&request.url)?;
            let client = self.clients.get(&request.url)?;
            let mut sent = reqwest::Request::new(request.method.clone(), request.url.clone());
            *sent.headers_mut() = request.headers.clone();
            *sent.body_mut() = request.body.clone().map(Into::into);
            let answer = client
                .execute(sent)
                .await
                .map_err(|error| failure(&error, &request.url))?;
            match redirected(&answer, &request)? {
                Some(next) => request = next,
                None => return self.answer(answer, &request.url).await,
            }
        }
        let problem = format!("http: more than {MAX_REDIRECTS} redirects");
        Err(EffectError::new("redirects", problem))
    }

    async fn answer(&self, mut answer: reqwest::Response, url: &Url) -> Outcome {
        let status = answer.status().as_u16();
        let mut headers = Map::new();
        for (name, value) in answer.headers() {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            match headers.get_mut(name.as_str()) {
                Some(Value::String(before)) => {
                    before.push_str(", ");
                    before.push_str(&value);
                }
                _ => {
                    headers.insert(name.as_str().to_owned(), Value::String(value));
                }
            }
        }
        let mut body = Vec::new();
        let mut share = self.budget.share();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failure(&error, url))? {
            if body.len() + chunk.len() > self.max_answer {
                let problem = format!("http: the answer has more than {} bytes", self.max_answer);
                return Err(EffectError::new("too_large", problem));
            }
            share.take(chunk.len())?;
            body.extend_from_slice(&chunk);
        }
        let body = String::from_utf8(body)
            .unwrap_or_else(|raw| String::from_utf8_lossy(raw.as_bytes()).into_owned());
        Ok(json!({"status": status, "headers": headers, "body": body}))
    }
}

/// Returns the target of a redirect; `None` if the response is not a redirect.
fn redirected(
    answer: &reqwest::Response,
    request: &NetworkRequest,
) -> Result<Option<NetworkRequest>, EffectError> {
    let status = answer.status().as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(to) = answer.headers().get("location").and_then(|to| to.to_str().ok()) else {
        return Ok(None);
    };
    let mut url = request
        .url
        .join(to)
        .map_err(|error| invalid(format!("the redirect to {to:?}: {error}")))?;
    without_last_dot(&mut url);
    let mut headers = request.headers.clone();
    if url.origin() != request.url.origin() {
        if request.url.scheme() == "https" && url.scheme() == "http" {
            let problem = format!("http: the redirect to {url} leaves the encrypted connection");
            return Err(EffectError::new("redirects", problem));
        }
        headers = of_every_server(&headers);
    }
    let keeps = matches!(status, 307 | 308) || matches!(request.method, Method::GET | Method::HEAD);
    if !keeps {
        headers.remove("content-type");
    }
    Ok(Some(NetworkRequest {
        method: if keeps {
            request.method.clone()
        } else {
            Method::GET
        },
        body: request.body.clone().filter(|_| keeps),
        headers,
        url,
    }))
}

fn read(asked: &Value) -> Result<NetworkRequest, EffectError> {
    let method = match text(asked, "method").to_ascii_uppercase() {
        method if method.is_empty() => Method::GET,
        method => Method::from_bytes(method.as_bytes())
            .map_err(|_| invalid(format!("{method:?} is not an HTTP method")))?,
    };
    let mut url = Url::parse(text(asked, "url"))
        .map_err(|error| invalid(format!("{:?}: {error}", text(asked, "url"))))?;
    without_last_dot(&mut url);
    query(&mut url, asked.get("query"))?;
    let mut headers = headers(asked.get("headers"))?;
    let body = match asked.get("json").filter(|json| !json.is_null()) {
        Some(json) => {
            headers
                .entry(CONTENT_TYPE)
                .or_insert(HeaderValue::from_static("application/json"));
            Some(json.to_string().into_bytes())
        }
        None => match asked.get("body") {
            None | Some(Value::Null) => None,
            Some(Value::String(body)) => Some(body.clone().into_bytes()),
            Some(other) => Some(other.to_string().into_bytes()),
        },
    };
    Ok(NetworkRequest {
        method,
        url,
        headers,
        body,
    })
}

/// Returns the headers that a redirect to another host, port or scheme keeps. Any other may contain a
/// variable in some form, and is only for the server that the file names. (reqwest and curl know only some
/// names.)
fn of_every_server(headers: &HeaderMap) -> HeaderMap {
    let kept = OPEN_HEADERS.into_iter();
    kept.filter_map(|name| {
        let value = headers.get(&name)?.clone();
        Some((name, value))
    })
    .collect()
}

/// Removes the dot at the end of a host's name, as rules and questions name the host.
fn without_last_dot(url: &mut Url) {
    let host = url.host_str().and_then(|host| host.strip_suffix('.'));
    if let Some(host) = host.map(str::to_owned) {
        // A name that is only dots stays, and leads nowhere.
        let _ = url.set_host(Some(&host));
    }
}

fn query(url: &mut Url, asked: Option<&Value>) -> Result<(), EffectError> {
    let entries = match asked {
        Some(Value::Object(entries)) if !entries.is_empty() => entries,
        Some(Value::Array(items)) if !items.is_empty() => {
            return Err(invalid("the query is a table of names and values".to_owned()));
        }
        _ => return Ok(()),
    };
    let mut pairs = url.query_pairs_mut();
    for (name, value) in entries {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            match value {
                Value::Null => {}
                Value::String(text) => {
                    pairs.append_pair(name, text);
                }
                Value::Bool(_) | Value::Number(_) => {
                    pairs.append_pair(name, &value.to_string());
                }
                _ => {
                    return Err(invalid(format!(
                        "the query's {name} is not text, a number or a list of these"
                    )));
                }
            }
        }
    }
    Ok(())
}

fn headers(asked: Option<&Value>) -> Result<HeaderMap, EffectError> {
    let mut headers = HeaderMap::new();
    let Some(Value::Object(entries)) = asked else {
        return Ok(headers);
    };
    for (name, value) in entries {
        let lower = name.to_ascii_lowercase();
        if OWN_HEADERS.contains(&lower.as_str()) {
            return Err(invalid(format!("the header {name} belongs to the connection")));
        }
        let wrong = || invalid(format!("the header {name:?} cannot be sent"));
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(wrong()),
        };
        let name = HeaderName::from_bytes(lower.as_bytes()).map_err(|_| wrong())?;
        headers.insert(name, HeaderValue::from_str(&value).map_err(|_| wrong())?);
    }
    Ok(headers)
}

fn invalid(problem: String) -> EffectError {
    EffectError::new("invalid", format!("http: {problem}"))
}

/// Converts an error of the client, without the URL's query.
fn failure(error: &reqwest::Error, url: &Url) -> EffectError {
    let host = url.host_str().unwrap_or_default();
    let causes = std::iter::successors(std::error::Error::source(error), |&error| error.source());
    let mut innermost = None;
    for cause in causes {
        if let Some(denied) = cause.downcast_ref::<guard::Denied>() {
            return denied.to_error();
        }
        innermost = Some(cause.to_string());
    }
    let (code, why) = match error {
        error if error.is_timeout() => ("timeout", "it took too long".to_owned()),
        _ => (
            "unavailable",
            innermost.unwrap_or_else(|| "the connection failed".to_owned()),
        ),
    };
    EffectError::new(code, format!("http: {host}: {why}"))
}
