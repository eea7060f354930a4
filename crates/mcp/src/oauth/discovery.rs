//! Finds out who grants tokens for an MCP server: from the challenge of a refused request, the description of
//! the resource, and the description of its authorization server.

use agentx_config::McpTarget;
use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde_json::json;

use super::challenge::BearerChallenge;
use super::metadata::{IssuerMetadata, ResourceMetadata, issuer_addresses, resource_addresses};
use super::requests::LoginRequests;
use crate::error_chain::chain;

/// The parties of a login, and the server's requirements.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// The resource that the tokens are for.
    pub(super) resource: String,
    pub(super) issuer: IssuerMetadata,
    /// The scopes to ask for, separated by spaces.
    pub(super) scope: Option<String>,
}

/// Discovers them for the server of `target`.
///
/// # Errors
/// Returns the reason if the server names no authorization server, or one that AgentX does not use.
pub(super) async fn discover(
    requests: &LoginRequests,
    server: &Url,
    target: &McpTarget,
) -> Result<Discovered, String> {
    let challenge = challenge_of(requests, server, target).await?;
    let resource = resource_of(requests, server, &challenge).await?;
    // Servers before the standard of 2025-06-18 are their own authorization server.
    let (issuer_id, resource_id, supported) = match resource {
        Some(found) => {
            let first = found.authorization_servers.first().cloned();
            let first = first.ok_or("its description names no authorization server")?;
            (first, found.resource, found.scopes_supported)
        }
        None => {
            let origin = server.origin().ascii_serialization();
            (origin, without_fragment(server), Vec::new())
        }
    };
    let issuer = issuer_of(requests, &issuer_id).await?;
    let listed = (!supported.is_empty()).then(|| supported.join(" "));
    let scope = challenge.scope.or(listed);
    let offline = issuer
        .scopes_supported
        .iter()
        .any(|scope| scope == "offline_access");
    let scope = match scope {
        // Without it, some servers grant no refresh token.
        Some(scope) if offline && !scope.split(' ').any(|part| part == "offline_access") => {
            Some(format!("{scope} offline_access"))
        }
        scope => scope,
    };
    Ok(Discovered {
        resource: resource_id,
        issuer,
        scope,
    })
}

fn without_fragment(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.into()
}

/// Asks the server without a token, for its challenge.
async fn challenge_of(
    requests: &LoginRequests,
    server: &Url,
    target: &McpTarget,
) -> Result<BearerChallenge, String> {
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}});
    let mut request = requests
        .for_server(server)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(question.to_string());
    if let McpTarget::Address { headers, .. } = target {
        for header in headers {
            if let Some(value) = &header.value {
                request = request.header(&header.name, value.expose());
            }
        }
    }
    let answer = request.send().await.map_err(|error| chain(&error))?;
    if answer.status() != StatusCode::UNAUTHORIZED {
        return Ok(BearerChallenge::default());
    }
    let headers = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    let texts: Vec<&str> = headers.filter_map(|value| value.to_str().ok()).collect();
    Ok(BearerChallenge::parse(&texts.join(", ")))
}

/// The description of the resource; `None` if the server has none.
async fn resource_of(
    requests: &LoginRequests,
    server: &Url,
    challenge: &BearerChallenge,
) -> Result<Option<ResourceMetadata>, String> {
    let addresses = match &challenge.resource_metadata {
        Some(text) => vec![requests.parse(text)?],
        None => resource_addresses(server),
    };
    for address in addresses {
        if let Some(found) = requests.document::<ResourceMetadata>(&address).await? {
            found.check(server)?;
            return Ok(Some(found));
        }
    }
    Ok(None)
}

async fn issuer_of(requests: &LoginRequests, id: &str) -> Result<IssuerMetadata, String> {
    let issuer = requests.parse(id)?;
    for address in issuer_addresses(&issuer) {
        if let Some(found) = requests.document::<IssuerMetadata>(&address).await? {
            // An origin has one form with a slash and one without; both are the same issuer.
            found.check(id).or_else(|why| match id.strip_suffix('/') {
                Some(bare) => found.check(bare),
                None => Err(why),
            })?;
            requests.parse(&found.authorization_endpoint)?;
            requests.parse(&found.token_endpoint)?;
            return Ok(found);
        }
    }
    Err(format!(
        "the authorization server {id} publishes no metadata, so a login is not possible"
    ))
}
