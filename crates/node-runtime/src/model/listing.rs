//! Lists the models of a server. If a person names their own server and no model, that server hardly has its
//! provider's default model. Servers of OpenAI's protocol list their models at `/models`
//! (<https://developers.openai.com/api/reference/resources/models/methods/list>), llama.cpp, vLLM, Ollama and
//! LM Studio too.
//!
//! The answer is trusted only for names: a list is at most 1 MiB, has to come within 5 seconds, and an entry
//! without an `id` is ignored. Nothing of it is kept; a session records the chosen model.

use std::fmt;
use std::time::Duration;

use agentx_config::Settings;
use reqwest::{Method, Request, Url};
use serde_json::Value;

use super::client::ModelClients;
use super::configured_endpoints::endpoints;
use super::endpoint::Endpoint;
use super::failure::AttemptFailure;
use super::policy::ServerKind;

/// Timeout for the list.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of bytes of the list to read.
const MOST_BYTES: usize = 1 << 20;

/// The reason why a server's models are unknown; for people, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelListError {
    /// The provider answered with HTTP 401 or 403: the key is wrong or missing.
    KeyRefused(u16),
    /// The provider is unreachable, answered late or with another status, or its answer is not a list.
    Failed(String),
}

impl fmt::Display for ModelListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyRefused(status) => write!(f, "the API key is wrong or missing (HTTP {status})"),
            Self::Failed(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ModelListError {}

/// The ids of the models that the server of `provider` has, in its order; `None` if it is the vendor's
/// own, which has its default model.
///
/// # Errors
/// Returns an error if the server refuses the key, cannot be asked within 5 s, or answers with anything but a
/// list.
pub async fn models_of_server(
    settings: &Settings,
    provider: &str,
) -> Option<Result<Vec<String>, ModelListError>> {
    let endpoint = endpoints(settings).remove(provider)?;
    if endpoint.server() == ServerKind::Vendors {
        return None;
    }
    let asked = tokio::time::timeout(PATIENCE, ask(&endpoint)).await;
    let late = || {
        let what = format!("it did not answer within {} s", PATIENCE.as_secs());
        Err(ModelListError::Failed(what))
    };
    let scrubbed = |why: ModelListError| match why {
        ModelListError::Failed(what) => ModelListError::Failed(endpoint.scrub(&what)),
        refused @ ModelListError::KeyRefused(_) => refused,
    };
    Some(asked.unwrap_or_else(|_| late()).map_err(scrubbed))
}

/// Asks for the list once, without a retry, because a person waits for the prompt.
async fn ask(endpoint: &Endpoint) -> Result<Vec<String>, ModelListError> {
    let url = list_of(&endpoint.checked_url().map_err(ModelListError::Failed)?);
    let body = body_at(endpoint, url).await?;
    ids(&body).ok_or_else(|| ModelListError::Failed("its answer is not a list of models".to_owned()))
}

/// Returns what a server answers at an address, with the headers of its provider.
pub(super) async fn body_at(endpoint: &Endpoint, url: Url) -> Result<Vec<u8>, ModelListError> {
    let in_words = |failure: AttemptFailure| ModelListError::Failed(failure.message);
    let place = endpoint.server_name();
    let clients = ModelClients::new(PATIENCE);
    let client = clients.get(&url).await.map_err(in_words)?;
    let mut request = Request::new(Method::GET, url);
    *request.headers_mut() = endpoint.headers().map_err(ModelListError::Failed)?;
    let lost = |error: reqwest::Error| in_words(AttemptFailure::transport(&error, &place, false));
    let mut response = client.execute(request).await.map_err(lost)?;
    match response.status().as_u16() {
        200..300 => {}
        refused @ (401 | 403) => return Err(ModelListError::KeyRefused(refused)),
        status => return Err(ModelListError::Failed(format!("it answers with HTTP {status}"))),
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(lost)? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            return Err(ModelListError::Failed("its list is too long".to_owned()));
        }
    }
    Ok(body)
}

/// The address of the list, next to that of the API: `…/v1/models` next to `…/v1/chat/completions`,
/// `…/v1/responses` and `…/v1/messages`. Gemini's API is below the list itself.
pub(super) fn list_of(api: &Url) -> Url {
    let mut url = api.clone();
    let path = api.path();
    let base = path
        .strip_suffix("/chat/completions")
        .or_else(|| path.strip_suffix("/responses"))
        .or_else(|| path.strip_suffix("/messages"))
        .or_else(|| path.strip_suffix("/models"))
        .or_else(|| path.strip_suffix("/interactions"))
        .unwrap_or(path);
    url.set_path(&format!("{base}/models"));
    url
}

/// The ids in a list of models: `{"data": [{"id": …}]}`, and Gemini's `{"models": [{"name": "models/…"}]}`.
fn ids(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let (models, key) = match list["data"].as_array() {
        Some(models) => (models, "id"),
        None => (list["models"].as_array()?, "name"),
    };
    let ids = models.iter().filter_map(|model| model[key].as_str());
    let ids = ids.map(|id| id.strip_prefix("models/").unwrap_or(id));
    Some(
        ids.filter(|id| !id.trim().is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stands_beside_the_api() {
        for (api, list) in [
            ("http://h:1/v1/chat/completions", "http://h:1/v1/models"),
            ("http://h/v1/messages", "http://h/v1/models"),
            ("http://h/v1/responses", "http://h/v1/models"),
            ("http://h/v1beta/models", "http://h/v1beta/models"),
            ("http://h/x/v1/chat/completions?k=v", "http://h/x/v1/models?k=v"),
        ] {
            assert_eq!(list_of(&Url::parse(api).expect("an address")).as_str(), list);
        }
    }

    #[test]
    fn ids_are_read_from_lists_alone() {
        let list =
            br#"{"object":"list","data":[{"id":"made-up-1"},{"id":" "},{"name":"x"},{"id":"made-up-2"}]}"#;
        assert_eq!(
            ids(list),
            Some(vec!["made-up-1".to_owned(), "made-up-2".to_owned()])
        );
        let of_gemini = br#"{"models":[{"name":"models/made-up-3"}]}"#;
        assert_eq!(ids(of_gemini), Some(vec!["made-up-3".to_owned()]));
        assert_eq!(ids(br#"{"data":[]}"#), Some(Vec::new()));
        assert_eq!(ids(br#"{"error":"no"}"#), None);
        assert_eq!(ids(b"<html>"), None);
    }
}
