//! Fetches a published list of models, such as that of models.dev, for a person who asks for it. Only the
//! request is sent: no key, no name of a session.

use std::time::Duration;

use reqwest::{Method, Request, Url};

use super::client::ModelClients;
use super::failure::{AttemptFailure, describe};

/// The longest wait for the whole list.
const PATIENCE: Duration = Duration::from_secs(60);
/// The largest list, in bytes: that of models.dev has some 3 MB.
const MOST_BYTES: usize = 16 << 20;

/// Fetches a list of models as text: at most 16 MiB of UTF-8, within 60 seconds, without following redirects.
///
/// The address is `https://…`, or `http://…` of this machine. Proxies come from the usual variables.
///
/// # Errors
/// Returns the reason, for people, if the address is of no such form, the server cannot be reached or answers
/// with another status than 200, or the list is too long or no text.
pub async fn published_list(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|error| format!("it is not an address: {error}"))?;
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
        return Err("the address has to begin with https://".to_owned());
    }
    match tokio::time::timeout(PATIENCE, fetch(url)).await {
        Ok(list) => list,
        Err(_) => Err(format!("it did not answer within {} s", PATIENCE.as_secs())),
    }
}

async fn fetch(url: Url) -> Result<String, String> {
    let clients = ModelClients::new(PATIENCE);
    let in_words = |failure: AttemptFailure| failure.message;
    let client = clients.get(&url).await.map_err(in_words)?;
    let lost = |error: reqwest::Error| describe(&error);
    let mut response = client
        .execute(Request::new(Method::GET, url))
        .await
        .map_err(lost)?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(format!("it answers with HTTP {status}"));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(lost)? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            return Err("it is larger than 16 MiB".to_owned());
        }
    }
    String::from_utf8(body).map_err(|_| "it is not UTF-8 text".to_owned())
}
