//! A login at an MCP server: OAuth 2.1 with PKCE, by a browser of the person.

use std::time::Duration;

use agentx_config::{McpServerSettings, McpTarget, Secret};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::discovery::{Discovered, discover};
use super::login_file::{LoginFile, LoginParties};
use super::redirect::{Expected, RedirectListener, Returned};
use super::requests::LoginRequests;
use super::token_request::{ErrorAnswer, tokens};
use crate::failure::McpFailure;

/// The answers of browsers that are refused and wait to be reported; further ones are not reported.
const STRAYS: usize = 4;

/// A login that waits for the person to agree in a browser.
///
/// Dropping it gives the login up.
pub struct PendingLogin {
    /// The address to open in a browser.
    pub address: String,
    /// The authorization server, where the person agrees.
    pub issuer: String,
    /// The scopes that are asked for, separated by spaces.
    pub scope: Option<String>,
    requests: LoginRequests,
    parties: LoginParties,
    listener: RedirectListener,
    expected: Expected,
    verifier: String,
    file: LoginFile,
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin")
            .field("issuer", &self.issuer)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl PendingLogin {
    /// Discovers where a person logs in for `server`, and prepares it.
    pub(crate) async fn begin(server: &McpServerSettings, file: LoginFile) -> Result<Self, McpFailure> {
        Self::prepare(server, file).await.map_err(McpFailure::Login)
    }

    async fn prepare(server: &McpServerSettings, file: LoginFile) -> Result<Self, String> {
        let McpTarget::Address { url, headers } = &server.target else {
            return Err("a program has no login".to_owned());
        };
        if headers
            .iter()
            .any(|header| header.name.eq_ignore_ascii_case("authorization"))
        {
            return Err(
                "its settings have an Authorization header, which is sent in place of a login".to_owned(),
            );
        }
        let address = Url::parse(url).map_err(|error| format!("its address is invalid: {error}"))?;
        let requests = LoginRequests::of(&address).await?;
        let found = discover(&requests, &address, &server.target).await?;
        let scope = server.oauth.scope.clone().or(found.scope.clone());
        let listener = RedirectListener::open(server.oauth.redirect_port).await?;
        let client = client_at(&requests, server, &found, &listener.address, scope.as_deref()).await?;
        let (state, verifier) = (random()?, random()?);
        let authorize = AuthorizationRequest {
            endpoint: requests.parse(&found.issuer.authorization_endpoint)?,
            client_id: &client.client_id,
            redirect: &listener.address,
            state: &state,
            verifier: &verifier,
            resource: &found.resource,
            scope: scope.as_deref(),
        };
        Ok(Self {
            address: authorize.address().into(),
            issuer: found.issuer.issuer.clone(),
            scope,
            expected: Expected {
                state,
                issuer: found.issuer.issuer.clone(),
                names_issuer: found.issuer.authorization_response_iss_parameter_supported,
            },
            parties: LoginParties {
                server: url.clone(),
                resource: found.resource,
                secret_in_body: found.issuer.wants_secret_in_body(),
                issuer: found.issuer.issuer,
                token_endpoint: found.issuer.token_endpoint,
                client_id: client.client_id,
                client_secret: client.client_secret.map(Secret::new),
            },
            requests,
            listener,
            verifier,
            file,
        })
    }

    /// Waits until the person has agreed, for at most `limit`, and stores the login. `pasted` receives lines
    /// that the person enters: the last address in the browser. `explain` explains any other line, and any
    /// answer of a browser that does not belong to this login; it also says that half of the time is over.
    ///
    /// # Errors
    /// Returns an error if the person or the server refuses, or nobody agrees in time.
    pub async fn finish(
        self,
        pasted: mpsc::Receiver<String>,
        limit: Duration,
        explain: impl FnMut(&str),
    ) -> Result<(), McpFailure> {
        let returned = self.wait_for_answer(pasted, limit, explain).await;
        let returned = returned.ok_or_else(|| {
            let why = format!("nobody completed the login within {}", in_words(limit));
            McpFailure::Login(why)
        })?;
        self.exchange(returned).await.map_err(McpFailure::Login)
    }

    /// Waits for the answer to this login, by the browser or by the person; `None` if there is none in time.
    async fn wait_for_answer(
        &self,
        mut pasted: mpsc::Receiver<String>,
        limit: Duration,
        mut explain: impl FnMut(&str),
    ) -> Option<Returned> {
        let (strays, mut refused) = mpsc::channel(STRAYS);
        let answer = self.listener.answer(&self.expected, &strays);
        let half = tokio::time::sleep(limit / 2);
        let end = tokio::time::sleep(limit);
        tokio::pin!(answer, half, end);
        let (mut can_paste, mut is_half_over) = (true, false);
        loop {
            tokio::select! {
                returned = &mut answer => return Some(returned),
                line = pasted.recv(), if can_paste => match line.map(|line| self.pasted(&line)) {
                    Some(Ok(returned)) => return Some(returned),
                    Some(Err(why)) => explain(&why),
                    // Nobody pastes; the browser may still come.
                    None => can_paste = false,
                },
                Some(why) = refused.recv() => {
                    explain(&format!("a browser came back and was refused: {why}; the login still waits"));
                }
                () = &mut half, if !is_half_over => {
                    is_half_over = true;
                    let left = in_words(limit / 2);
                    explain(&format!("still waiting for the answer of {}; {left} left", self.issuer));
                }
                () = &mut end => return None,
            }
        }
    }

    fn pasted(&self, line: &str) -> Result<Returned, String> {
        let url = Url::parse(line.trim()).map_err(|_| {
            format!(
                "paste the whole address that the browser shows: {}?…",
                self.listener.address
            )
        })?;
        self.expected.read(&url)
    }

    async fn exchange(self, returned: Returned) -> Result<(), String> {
        let code = match returned {
            Returned::Code(code) => code,
            Returned::Refused(why) => return Err(why),
        };
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.listener.address),
            ("code_verifier", &self.verifier),
        ];
        let granted = tokens(&self.requests, &self.parties, &grant).await;
        let login = self.parties.with(granted.map_err(|failure| failure.to_string())?);
        let failed = |error: std::io::Error| {
            format!(
                "the login cannot be written to {}: {error}",
                self.file.path().display()
            )
        };
        let lock = self.file.lock().await?;
        self.file.write(&login, &lock).map_err(failed)
    }
}

/// A time in minutes, or in seconds if it is short.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 120 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// The address at which a person agrees.
struct AuthorizationRequest<'a> {
    endpoint: Url,
    client_id: &'a str,
    redirect: &'a str,
    state: &'a str,
    verifier: &'a str,
    resource: &'a str,
    scope: Option<&'a str>,
}

impl AuthorizationRequest<'_> {
    fn address(self) -> Url {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier));
        let mut url = self.endpoint;
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect)
            .append_pair("state", self.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", self.resource);
        if let Some(scope) = self.scope {
            query.append_pair("scope", scope);
        }
        drop(query);
        url
    }
}

/// A client as an authorization server knows it.
#[derive(Deserialize)]
struct RegisteredClient {
    client_id: String,
    client_secret: Option<String>,
}

/// The client of the settings: its id, or the address of its description where the authorization server takes
/// one; otherwise one that is registered for this login (RFC 7591).
async fn client_at(
    requests: &LoginRequests,
    server: &McpServerSettings,
    found: &Discovered,
    redirect: &str,
    scope: Option<&str>,
) -> Result<RegisteredClient, String> {
    if let Some(client_id) = &server.oauth.client_id {
        return Ok(RegisteredClient {
            client_id: client_id.clone(),
            client_secret: server.oauth.client_secret.as_ref().map(|s| s.expose().to_owned()),
        });
    }
    if let Some(document) = &server.oauth.client_metadata_url
        && found.issuer.client_id_metadata_document_supported
    {
        return Ok(RegisteredClient {
            client_id: document.clone(),
            client_secret: None,
        });
    }
    let Some(endpoint) = &found.issuer.registration_endpoint else {
        return Err(format!(
            "{} registers no clients by itself; register one there with the redirect address \
             http://127.0.0.1:PORT/callback, and set mcp.{name}.oauth.client_id and mcp.{name}.oauth.redirect_port",
            found.issuer.issuer,
            name = server.name
        ));
    };
    let mut wanted = json!({
        "client_name": "AgentX",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if let Some(scope) = scope {
        wanted["scope"] = scope.into();
    }
    let request = requests
        .post(&requests.parse(endpoint)?)?
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .body(wanted.to_string());
    let (status, body) = requests.send(request).await?;
    if !status.is_success() {
        let said: ErrorAnswer = serde_json::from_slice(&body).unwrap_or_default();
        return Err(format!(
            "{} refused to register a client: {status} {}",
            found.issuer.issuer,
            said.in_words()
        ));
    }
    serde_json::from_slice(&body).map_err(|_| format!("{} registered no client", found.issuer.issuer))
}

/// An unguessable text.
pub(crate) fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no randomness: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
