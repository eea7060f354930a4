//! The way to a server at an address: its headers, and the client that sends them.

use std::collections::HashMap;

use agentx_config::{McpValue, Secret};
use agentx_http::Certificates;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::error_chain::chain;
use crate::failure::McpFailure;
use crate::limits::{CONNECT, MESSAGE_BYTES};

/// Asks servers at addresses. Redirects are not followed: a header with a key would go along. `token` is sent
/// unless the headers have their own authorization.
pub(crate) async fn http_transport(
    url: &str,
    headers: &[McpValue],
    token: Option<&Secret>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, McpFailure> {
    let mut sent = HashMap::new();
    if let Some(token) = token
        && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
    {
        value.set_sensitive(true);
        sent.insert(AUTHORIZATION, value);
    }
    for header in headers {
        let Some(value) = &header.value else { continue };
        let wrong = || {
            McpFailure::Setup(format!(
                "no request can have the header {:?} with its value",
                header.name
            ))
        };
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        sent.insert(name, value);
    }
    let certificates = Certificates::for_scheme(url.split(':').next().unwrap_or_default());
    let made = tokio::task::spawn_blocking(move || http_client(certificates)).await;
    let client = made.map_err(|error| McpFailure::Setup(error.to_string()))?;
    let client = client.map_err(|error| McpFailure::Setup(chain(&error)))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(sent)
        .max_sse_event_size(MESSAGE_BYTES);
    config.max_json_response_size = MESSAGE_BYTES;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Reading the machine's root certificates takes milliseconds, so a plain address does without.
fn http_client(certificates: Certificates) -> reqwest::Result<reqwest::Client> {
    agentx_http::client_builder(certificates)
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .build()
}
