//! The connection to an exec server: which process is there, and the answers to requests of actions.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ExecServerAddress;
use crate::action_result::ActionResult;
use crate::actions::{NamedAction, RemoteAction};
use crate::admission::KEY_HEADER;

/// The time for a request of an action, which the server answers after 20 s at the latest.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time for any other request.
const SHORT: Duration = Duration::from_secs(10);
/// Bytes of an answer, at most.
const MOST: usize = 128 << 20;

/// A connection to an exec server.
pub(super) struct ExecLink {
    client: Client,
    address: ExecServerAddress,
    place: Mutex<Option<ServerPlace>>,
}

/// The process of the server, and the directory that it works in.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ServerPlace {
    pub(super) instance: String,
    pub(super) directory: String,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum LinkAnswer<T> {
    /// It was done.
    Done(T),
    /// It is not done yet.
    Running,
    /// The server refused it, and did nothing because of this request.
    Refused { code: String, detail: String },
    /// It did not reach the server.
    NotSent(String),
    /// It may have reached the server; the connection was lost.
    Cut(String),
}

/// The words of a refusal.
#[derive(Deserialize)]
struct RefusalWords {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
}

impl ExecLink {
    pub(super) fn new(client: Client, address: ExecServerAddress) -> Self {
        Self {
            client,
            address,
            place: Mutex::default(),
        }
    }

    /// The address of the server, for people.
    pub(super) fn name(&self) -> &str {
        self.address.url.as_str()
    }

    /// Returns the process of the server that is known, or asks for it.
    pub(super) async fn place(&self) -> LinkAnswer<ServerPlace> {
        if let Some(place) = &*self.place.lock().unwrap_or_else(PoisonError::into_inner) {
            return LinkAnswer::Done(place.clone());
        }
        let answer: LinkAnswer<ServerPlace> = match self.url("v1/phase") {
            Some(url) => answer_of(self.client.get(url), &self.address, SHORT).await,
            None => LinkAnswer::NotSent("the address cannot have a path".to_owned()),
        };
        if let LinkAnswer::Done(place) = &answer {
            *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place.clone());
        }
        answer
    }

    /// Forgets the process of the server: another one is there.
    pub(super) fn forget_place(&self) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Requests an action, for the first time or again.
    pub(super) async fn request(&self, action: &RemoteAction) -> LinkAnswer<ActionResult> {
        match self.url("v1/actions") {
            Some(url) => answer_of(self.client.post(url).json(action), &self.address, PATIENCE).await,
            None => LinkAnswer::NotSent("the address cannot have a path".to_owned()),
        }
    }

    /// Cancels an action. The request of the action says what came of it.
    pub(super) async fn cancel(&self, id: &str) {
        let Some(url) = self.url("v1/actions/cancel") else {
            return;
        };
        let named = NamedAction { id: id.to_owned() };
        // If it does not arrive, the action ends by its own limits.
        let _: LinkAnswer<Value> = answer_of(self.client.post(url).json(&named), &self.address, SHORT).await;
    }

    fn url(&self, path: &str) -> Option<url::Url> {
        let mut url = self.address.url.clone();
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(path.split('/'));
        Some(url)
    }
}

async fn answer_of<T: DeserializeOwned>(
    request: RequestBuilder,
    address: &ExecServerAddress,
    patience: Duration,
) -> LinkAnswer<T> {
    let sent = request
        .header(KEY_HEADER, address.key.expose())
        .timeout(patience)
        .send()
        .await;
    let response = match sent {
        Ok(response) => response,
        Err(error) if error.is_connect() || error.is_builder() => {
            return LinkAnswer::NotSent(error.without_url().to_string());
        }
        Err(error) => return LinkAnswer::Cut(error.without_url().to_string()),
    };
    let status = response.status();
    let body = match body_of(response).await {
        Ok(body) => body,
        Err(why) => return LinkAnswer::Cut(why),
    };
    if status == StatusCode::ACCEPTED {
        return LinkAnswer::Running;
    }
    if status == StatusCode::OK {
        return match serde_json::from_slice(&body) {
            Ok(done) => LinkAnswer::Done(done),
            Err(error) => LinkAnswer::Cut(format!("the answer is not one of an exec server: {error}")),
        };
    }
    let words = serde_json::from_slice::<RefusalWords>(&body).ok();
    match words.filter(|words| !words.code.is_empty()) {
        Some(words) => LinkAnswer::Refused {
            code: words.code,
            detail: words.detail,
        },
        // A proxy in between may have passed the request on.
        None => LinkAnswer::Cut(format!("HTTP {}", status.as_u16())),
    }
}

async fn body_of(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= MOST => body.extend_from_slice(&chunk),
            Ok(Some(_)) => return Err("the answer is too long".to_owned()),
            Ok(None) => return Ok(body),
            Err(error) => return Err(error.without_url().to_string()),
        }
    }
}
