//! An MCP server and its authorization server on one port, strict: a code works once, with the verifier of
//! its challenge, the exact redirect address and resource; refresh tokens rotate. Made up after the standards
//! that `crates/mcp/src/oauth` names.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The defects of the servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// The description of the resource is about another server.
    OtherResource,
    /// The description of the authorization server is that of another one.
    OtherIssuer,
    /// It has no PKCE with S256.
    NoS256,
    /// The answer through the browser names another issuer.
    MixedUp,
    /// It registers no clients.
    NoRegistration,
    /// Its token endpoint is an address without TLS in a local network.
    TokensElsewhere,
    /// The person refuses.
    Refuses,
    /// The granted token lacks a scope that calls require.
    NarrowScope,
    /// Whoever is not logged in is greeted too, and refused only the list.
    GreetsAll,
}

#[derive(Clone, Debug)]
struct Code {
    client: String,
    redirect: String,
    challenge: String,
    resource: String,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) fault: Fault,
    clients: HashMap<String, String>,
    codes: HashMap<String, Code>,
    pub(crate) access: HashSet<String>,
    pub(crate) refresh: HashSet<String>,
    /// The reasons of all refusals of the token endpoint.
    pub(crate) refused: Vec<String>,
    /// The number of refresh tokens that were exchanged.
    pub(crate) renewals: usize,
    /// Calls of the tool that were done.
    pub(crate) calls: usize,
    /// The seconds that an access token lives.
    pub(crate) lifetime: u64,
    /// Whether the address of a description is the id of a client.
    pub(crate) takes_documents: bool,
    /// The client that asked last.
    pub(crate) client: String,
    /// The scopes that were asked for.
    pub(crate) scope: String,
    next: usize,
}

impl State {
    /// Returns the number of renewals of a token, and of calls of the tool.
    pub(crate) fn done(&self) -> (usize, usize) {
        (self.renewals, self.calls)
    }
}

pub(crate) struct OauthServer {
    pub(crate) address: String,
    pub(crate) state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for OauthServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl OauthServer {
    pub(crate) async fn new(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = State {
            fault,
            lifetime: 3600,
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        let (kept, base) = (state.clone(), origin.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (state, base) = (kept.clone(), base.clone());
                connections.spawn(async move {
                    while let Some(request) = Request::read(&mut stream).await {
                        let answer = answer(&mut state.lock().unwrap(), &base, &request);
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self {
            address: format!("{origin}/mcp"),
            state,
            task,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

struct Request {
    method: String,
    target: String,
    head: String,
    body: String,
}

impl Request {
    async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        while bytes.len() < end + length.unwrap_or(0) {
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        }
        let mut words = head.split(' ');
        Some(Self {
            method: words.next()?.to_owned(),
            target: words.next()?.to_owned(),
            body: String::from_utf8_lossy(&bytes[end..]).into_owned(),
            head,
        })
    }

    fn header(&self, wanted: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
        })
    }
}

/// The fields of a form or a query.
fn fields(text: &str) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn reply(status: &str, more: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{more}\r\n{body}",
        body.len()
    )
}

fn document(value: &Value) -> String {
    reply("200 OK", "content-type: application/json\r\n", &value.to_string())
}

fn answer(state: &mut State, base: &str, request: &Request) -> String {
    let url = Url::parse(base).unwrap().join(&request.target).unwrap();
    match (request.method.as_str(), url.path()) {
        (_, "/mcp") => mcp(state, base, request),
        ("GET", "/.well-known/oauth-protected-resource/mcp") => document(&json!({
            "resource": if state.fault == Fault::OtherResource { "https://other.example/mcp".into() } else { format!("{base}/mcp") },
            "authorization_servers": [format!("{base}/tenant")],
            "scopes_supported": ["read"],
        })),
        ("GET", "/.well-known/oauth-authorization-server/tenant") => document(&issuer(state, base)),
        ("POST", "/register") => register(state, &request.body),
        ("GET", "/authorize") => authorize(state, base, &fields(url.query().unwrap_or_default())),
        ("POST", "/token") => token(state, base, &fields(&request.body)),
        _ => reply("404 Not Found", "", ""),
    }
}

fn issuer(state: &State, base: &str) -> Value {
    let mut issuer = json!({
        "issuer": format!("{base}/tenant"),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "scopes_supported": ["read", "offline_access"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": state.takes_documents,
    });
    match state.fault {
        Fault::OtherIssuer => issuer["issuer"] = "https://other.example".into(),
        Fault::NoS256 => issuer["code_challenge_methods_supported"] = json!(["plain"]),
        Fault::NoRegistration => issuer["registration_endpoint"] = Value::Null,
        Fault::TokensElsewhere => issuer["token_endpoint"] = "http://10.0.0.1/token".into(),
        _ => {}
    }
    issuer
}

fn register(state: &mut State, body: &str) -> String {
    let wanted: Value = serde_json::from_str(body).unwrap();
    assert_eq!(wanted["application_type"], "native");
    assert_eq!(wanted["token_endpoint_auth_method"], "none");
    let redirect = wanted["redirect_uris"][0].as_str().unwrap();
    assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    state.next += 1;
    let id = format!("client-{}", state.next);
    state.clients.insert(id.clone(), redirect.to_owned());
    reply(
        "201 Created",
        "content-type: application/json\r\n",
        &json!({"client_id": id}).to_string(),
    )
}

/// The person agrees at once.
fn authorize(state: &mut State, base: &str, query: &HashMap<String, String>) -> String {
    let redirect = &query["redirect_uri"];
    state.client = query["client_id"].clone();
    let registered = state.clients.get(&query["client_id"]);
    assert!(registered.is_none_or(|registered| registered == redirect));
    assert_eq!(query["response_type"], "code");
    assert_eq!(query["code_challenge_method"], "S256");
    state.scope = query.get("scope").cloned().unwrap_or_default();
    let issuer = match state.fault {
        Fault::MixedUp => "https://evil.example".to_owned(),
        _ => format!("{base}/tenant"),
    };
    let mut back = Url::parse(redirect).unwrap();
    back.query_pairs_mut()
        .append_pair("state", &query["state"])
        .append_pair("iss", &issuer);
    if state.fault == Fault::Refuses {
        back.query_pairs_mut().append_pair("error", "access_denied");
    } else {
        state.next += 1;
        let code = format!("code-{}", state.next);
        back.query_pairs_mut().append_pair("code", &code);
        let issued = Code {
            client: query["client_id"].clone(),
            redirect: redirect.clone(),
            challenge: query["code_challenge"].clone(),
            resource: query["resource"].clone(),
        };
        state.codes.insert(code, issued);
    }
    reply("302 Found", &format!("location: {back}\r\n"), "")
}

fn token(state: &mut State, base: &str, form: &HashMap<String, String>) -> String {
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    let granted = match field("grant_type").as_str() {
        "authorization_code" => state.codes.remove(&field("code")).is_some_and(|code| {
            code.client == field("client_id")
                && code.redirect == field("redirect_uri")
                && code.resource == field("resource")
                && code.challenge == URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")))
        }),
        "refresh_token" => {
            state.renewals += 1;
            state.refresh.remove(&field("refresh_token"))
        }
        _ => false,
    };
    if !granted || field("resource") != format!("{base}/mcp") {
        state.refused.push(field("grant_type"));
        let error = json!({"error": "invalid_grant", "error_description": "used up"});
        return reply(
            "400 Bad Request",
            "content-type: application/json\r\n",
            &error.to_string(),
        );
    }
    state.next += 1;
    let access = format!("made-up-access-{}", state.next);
    let refresh = format!("made-up-refresh-{}", state.next);
    state.access.insert(access.clone());
    state.refresh.insert(refresh.clone());
    document(&json!({
        "access_token": access, "token_type": "Bearer", "expires_in": state.lifetime,
        "refresh_token": refresh, "scope": "read",
    }))
}

fn mcp(state: &mut State, base: &str, request: &Request) -> String {
    if request.method != "POST" {
        return reply("405 Method Not Allowed", "", "");
    }
    let token = request.header("authorization").unwrap_or_default();
    let token = token.strip_prefix("Bearer ").unwrap_or_default();
    let message: Value = serde_json::from_str(&request.body).unwrap();
    let is_greeting = state.fault == Fault::GreetsAll && message["method"] == "server/discover";
    if !state.access.contains(token) && !is_greeting {
        let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let challenge =
            format!("www-authenticate: Bearer resource_metadata=\"{metadata}\", scope=\"read\"\r\n");
        return reply("401 Unauthorized", &challenge, "");
    }
    let info = json!({"name": "made-up", "version": "1"});
    let tool = json!({"name": "echo", "description": "Says the token.", "inputSchema": {"type": "object"}});
    let mut result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info, "ttlMs": 0, "cacheScope": "private"
        }),
        "tools/list" => json!({"tools": [tool], "ttlMs": 0, "cacheScope": "private"}),
        "tools/call" if state.fault == Fault::NarrowScope => {
            let challenge = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"read write\"\r\n";
            return reply("403 Forbidden", challenge, "");
        }
        "tools/call" => {
            state.calls += 1;
            json!({"content": [{"type": "text", "text": format!("you sent {token}")}]})
        }
        _ => return reply("202 Accepted", "", ""),
    };
    result["resultType"] = "complete".into();
    document(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
