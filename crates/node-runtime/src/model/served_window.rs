//! The window of a model as its own server reports it. Servers of local models are started with a window,
//! which is often smaller than the one that the model was trained for: llama.cpp names it as `n_ctx` in its
//! list of models or at `/props`
//! (<https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>), vLLM as `max_model_len` in
//! its list.
//!
//! A report is a claim: the caller only makes a window smaller by it.

use std::time::Duration;

use agentx_config::Settings;
use reqwest::Url;
use serde_json::Value;

use super::configured_endpoints::endpoints;
use super::endpoint::Endpoint;
use super::listing::{body_at, list_of};
use super::policy::ServerKind;

/// Timeout for each report.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the tokens that fit into a call of a model, from the list of models at the server of `provider`;
/// `None` if the list does not say, or the server is the vendor's own.
pub async fn listed_window(settings: &Settings, provider: &str, model: &str) -> Option<u64> {
    let endpoint = own_endpoint(settings, provider)?;
    let list = report(&endpoint, list_of(&endpoint.checked_url().ok()?)).await?;
    window_in_list(&list, model)
}

/// Returns the tokens that fit into a call of a model, from the list of models or from the properties of the
/// server of `provider`; `None` if neither says, or the server is the vendor's own.
pub async fn served_window(settings: &Settings, provider: &str, model: &str) -> Option<u64> {
    if let Some(window) = listed_window(settings, provider, model).await {
        return Some(window);
    }
    let endpoint = own_endpoint(settings, provider)?;
    let properties = report(&endpoint, properties_of(&endpoint.checked_url().ok()?)).await?;
    tokens(&properties["default_generation_settings"]["n_ctx"])
}

fn own_endpoint(settings: &Settings, provider: &str) -> Option<Endpoint> {
    let endpoint = endpoints(settings).remove(provider)?;
    (endpoint.server() != ServerKind::Vendors).then_some(endpoint)
}

/// Returns what the server reports at an address; `None` if it reports nothing there in time.
async fn report(endpoint: &Endpoint, url: Url) -> Option<Value> {
    let asked = tokio::time::timeout(PATIENCE, body_at(endpoint, url)).await;
    serde_json::from_slice(&asked.ok()?.ok()?).ok()
}

/// The address of llama.cpp's properties, beside the path of the API: `/props` beside `/v1/models`.
fn properties_of(api: &Url) -> Url {
    let mut url = list_of(api);
    let path = url.path().to_owned();
    let base = path.strip_suffix("/models").unwrap_or(&path);
    let base = base.strip_suffix("/v1").unwrap_or(base);
    url.set_path(&format!("{base}/props"));
    url
}

/// The window of a model in a list. The window that it was trained for (`n_ctx_train`) is not that of the
/// server.
fn window_in_list(list: &Value, model: &str) -> Option<u64> {
    let models = list["data"].as_array()?;
    let found = models.iter().find(|entry| entry["id"] == model)?;
    tokens(&found["meta"]["n_ctx"]).or_else(|| tokens(&found["max_model_len"]))
}

fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The shapes are those of llama.cpp and vLLM, the figures are made up.
    #[test]
    fn the_window_of_the_server_is_read_and_not_that_of_the_training() {
        let list = json!({ "data": [
            { "id": "a", "meta": { "n_ctx_train": 131_072, "n_ctx": 8_192 } },
            { "id": "b", "max_model_len": 4_096 },
            { "id": "c", "meta": { "n_ctx_train": 131_072 } },
            { "id": "d", "meta": { "n_ctx": 0 } },
        ] });
        for (model, window) in [
            ("a", Some(8_192)),
            ("b", Some(4_096)),
            ("c", None),
            ("d", None),
            ("e", None),
        ] {
            assert_eq!(window_in_list(&list, model), window, "{model}");
        }
        assert_eq!(window_in_list(&json!({ "error": "no" }), "a"), None);
    }

    #[test]
    fn the_properties_are_beside_the_api() {
        for (api, properties) in [
            ("http://h:1/v1/chat/completions", "http://h:1/props"),
            ("http://h:1/llm/v1/chat/completions", "http://h:1/llm/props"),
            ("http://h:1/chat/completions", "http://h:1/props"),
        ] {
            let api = Url::parse(api).expect("an address");
            assert_eq!(properties_of(&api).as_str(), properties);
        }
    }
}
