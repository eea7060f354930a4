//! Clouds: each attempt is authorized anew, and nothing that authorizes it is said.

use std::sync::Mutex;

use agentx_llm::CloudCredentials;
use agentx_llm::bedrock::AwsCredentials;
use agentx_llm::google_auth::{GoogleCredentials, GoogleGrant};
use agentx_testing::vendors::{Anthropic, BedrockServer, GoogleTokenServer, ModelAnswer, VertexServer};
use agentx_testing::{ServerReply, StrictServer};
use agentx_types::Timestamp;

use super::*;

/// Made up.
const SECRET: &str = "made-up-secret/of+aws=";
const TOKEN: &str = "made-up-session-token==";
const MODEL: &str = "eu.anthropic.claude-opus-4-6-v1:0";

fn server(region: &str) -> BedrockServer {
    BedrockServer::new(region, Anthropic::new()).with_access_key("AKIAMADEUP", SECRET, Some(TOKEN))
}

fn credentials(secret: &str) -> CloudCredentials {
    CloudCredentials::Aws(AwsCredentials {
        access_key_id: "AKIAMADEUP".to_owned(),
        secret_access_key: Secret::new(secret),
        session_token: Some(Secret::new(TOKEN)),
    })
}

/// Calls the model at this address.
async fn call(url: &str, key: Option<&str>, secret: &str, clock: &SimulatedClock) -> EffectorOutput {
    let catalog = Catalog::builtin();
    let endpoint = Endpoint::new(
        catalog.provider("bedrock").unwrap(),
        Some(url),
        key.map(Secret::new),
    )
    .with_cloud(credentials(secret), Some("eu-west-1"));
    let caller = Caller::with(url, Api::Bedrock, |parts| {
        parts.endpoints = BTreeMap::from([("test".to_owned(), endpoint)]);
        parts.clock = Arc::new(clock.clone());
    });
    let mut request = caller.request();
    request.model.id = MODEL.to_owned();
    let said = perform(&caller.effector, fixture::call(request)).await;
    for secret in [SECRET, TOKEN, KEY, "AWS4-HMAC-SHA256"] {
        assert!(!said.json().contains(secret), "{}", said.json());
    }
    said
}

fn seconds(time: Timestamp) -> u64 {
    u64::try_from(time.0 / 1_000_000).unwrap()
}

/// Returns a clock that shows the present, for a server with its own clock.
fn present() -> SimulatedClock {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    SimulatedClock::at(Timestamp(i64::try_from(now.as_micros()).unwrap()))
}

#[tokio::test]
async fn a_request_to_bedrock_has_the_signature_that_aws_computes() {
    let strict = StrictServer::bedrock(server("eu-west-1"), |_| ModelAnswer::text("hello")).await;
    let said = call(&strict.url(), None, SECRET, &present()).await;
    assert_eq!(story(&said), answered(1));
    strict.refused_nothing();
    let request = &strict.requests()[0];
    assert_eq!(
        request.path,
        "/model/eu.anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream"
    );
    assert_eq!(request.header("x-amz-security-token"), Some(TOKEN));

    let said = call(&strict.url(), None, "another-secret", &present()).await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 forbidden 403 last", "error forbidden"]
    );
    let why = message(&said);
    assert!(why.contains("signature we calculated does not match"), "{why}");
}

#[tokio::test]
async fn each_attempt_has_a_signature_of_its_own_time() {
    let clock = SimulatedClock::default();
    let vendor = Mutex::new(server("eu-west-1"));
    let (of_server, attempts) = (clock.clone(), Mutex::new(0));
    let strict = TestServer::answering(move |request| {
        let now = seconds(of_server.now());
        let accepted = vendor.lock().unwrap().check(request, now);
        let accepted = accepted.expect("a signature of now");
        // Longer than a signature holds.
        of_server.advance(Duration::from_secs(400));
        let mut attempts = attempts.lock().unwrap();
        *attempts += 1;
        match *attempts {
            1 => ServerReply::json(
                429,
                &serde_json::json!({"message": "Too many requests, please wait."}),
            )
            .header(
                "x-amzn-errortype",
                "ThrottlingException:http://internal.amazon.com/coral/",
            ),
            2 => ServerReply::frames().then(accepted.broken_stream(
                &ModelAnswer::text("half"),
                "modelStreamErrorException",
                "made up: retry your request",
            )),
            _ => ServerReply::frames().then(accepted.stream(&ModelAnswer::text("hello"))),
        }
    })
    .await;
    let told = story(&call(&strict.url(), None, SECRET, &clock).await);
    assert_eq!(told[0], "attempt_failed 1 rate_limited 429 in 250", "{told:?}");
    let second = "attempt_failed 2 server_error";
    assert!(told.iter().any(|line| line.starts_with(second)), "{told:?}");
    assert_eq!(told[told.len() - 5..], answered(3), "{told:?}");
    let requests = strict.requests();
    let dates = requests.iter().map(|request| request.header("x-amz-date"));
    let dates: std::collections::BTreeSet<Option<&str>> = dates.collect();
    assert_eq!(dates.len(), 3, "{dates:?}");
}

#[tokio::test]
async fn an_api_key_of_bedrock_is_a_bearer_and_nothing_is_signed() {
    let vendor = server("us-east-1").with_api_key(KEY);
    let strict = StrictServer::bedrock(vendor, |_| ModelAnswer::text("hello")).await;
    let said = call(&strict.url(), Some(KEY), SECRET, &present()).await;
    assert_eq!(story(&said), answered(1));
    assert_eq!(strict.requests()[0].header("x-amz-date"), None);
}

const EMAIL: &str = "made-up@my-project.iam.gserviceaccount.com";
const ORIGIN: &str = "/v1/projects/my-project/locations/global/publishers/anthropic";

/// A key that was made for these tests and opens nothing.
fn private_key() -> String {
    let key = include_str!("../fixtures/made_up_rsa_key.txt");
    let armour = |word: &str| format!("-----{word} PRIVATE KEY-----");
    format!("{}\n{key}{}\n", armour("BEGIN"), armour("END"))
}

fn public_key() -> Vec<u8> {
    let key = include_str!("../fixtures/made_up_rsa_key.txt").replace('\n', "");
    let key = agentx_llm::base64::decode(&key).unwrap();
    let key = ring::signature::RsaKeyPair::from_pkcs8(&key).unwrap();
    key.public().as_ref().to_vec()
}

fn service_account(token_uri: &str) -> GoogleCredentials {
    let file = serde_json::json!({
        "type": "service_account", "project_id": "my-project", "private_key_id": "k1",
        "private_key": private_key(), "client_email": EMAIL, "token_uri": token_uri,
    });
    GoogleCredentials::parse(&file.to_string()).unwrap()
}

fn person(token_uri: &str) -> GoogleCredentials {
    let file = serde_json::json!({
        "type": "authorized_user", "client_id": "made-up-client", "client_secret": "made-up-client-secret",
        "refresh_token": "made-up-refresh-token", "quota_project_id": "payer", "token_uri": token_uri,
    });
    GoogleCredentials::parse(&file.to_string()).unwrap()
}

/// A server that gives tokens to the account and the person, and answers with them.
async fn vertex() -> StrictServer {
    let tokens = GoogleTokenServer::new()
        .with_account(EMAIL, &public_key())
        .with_person("made-up-client", "made-up-client-secret", "made-up-refresh-token");
    let model = VertexServer::new(Anthropic::new()).with_tokens_like("made-up-token-");
    StrictServer::vertex(model, tokens, |_| ModelAnswer::text("hello")).await
}

/// A caller of a model at Vertex AI.
fn vertex_caller(url: &str, credentials: GoogleCredentials, clock: &SimulatedClock) -> Caller {
    let catalog = Catalog::builtin();
    let provider = catalog.provider("vertex-anthropic").unwrap();
    let endpoint = Endpoint::new(provider, Some(&format!("{url}{ORIGIN}")), None)
        .with_cloud(CloudCredentials::Google(credentials), None);
    Caller::with(url, Api::VertexAnthropic, |parts| {
        parts.endpoints = BTreeMap::from([("test".to_owned(), endpoint)]);
        parts.clock = Arc::new(clock.clone());
    })
}

async fn ask_vertex(caller: &Caller) -> EffectorOutput {
    let mut request = caller.request();
    request.model.id = "claude-opus-4-6".to_owned();
    let said = perform(&caller.effector, fixture::call(request)).await;
    for secret in [
        "made-up-token",
        "made-up-client-secret",
        "made-up-refresh-token",
        "PRIVATE KEY",
    ] {
        assert!(!said.json().contains(secret), "{}", said.json());
    }
    said
}

fn paths(server: &StrictServer) -> Vec<String> {
    let requests = server.requests();
    requests
        .iter()
        .map(|request| request.path.rsplit('/').next().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_service_account_gets_a_token_once_and_again_before_it_ends() {
    let (server, clock) = (vertex().await, present());
    let caller = vertex_caller(
        &server.url(),
        service_account(&format!("{}/token", server.url())),
        &clock,
    );
    assert_eq!(story(&ask_vertex(&caller).await), answered(1));
    assert_eq!(story(&ask_vertex(&caller).await), answered(1));
    let ask = "claude-opus-4-6:streamRawPredict";
    assert_eq!(paths(&server), ["token", ask, ask]);
    // A token of an hour is renewed 225 seconds before its end. The server's own clock stays: only the skew
    // that it allows passes for the new assertion.
    clock.advance(Duration::from_secs(3_599 - 225));
    let said = ask_vertex(&caller).await;
    assert_eq!(paths(&server)[3..], ["token"], "a new one is requested");
    assert!(message(&said).contains("short-lived token"), "{}", message(&said));
    assert_eq!(server.refused()[0].rule.name, "google-assertion-time");
}

#[tokio::test]
async fn a_person_gets_tokens_by_a_refresh_token_and_names_who_pays() {
    let (server, clock) = (vertex().await, present());
    let caller = vertex_caller(&server.url(), person(&format!("{}/token", server.url())), &clock);
    assert_eq!(story(&ask_vertex(&caller).await), answered(1));
    assert_eq!(server.requests()[1].header("x-goog-user-project"), Some("payer"));
    clock.advance(Duration::from_secs(3_599 - 226));
    ask_vertex(&caller).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(story(&ask_vertex(&caller).await), answered(1));
    let tokens = paths(&server).iter().filter(|path| *path == "token").count();
    assert_eq!(tokens, 2);
    server.refused_nothing();
}

#[tokio::test]
async fn credentials_that_are_refused_say_why_and_nothing_secret() {
    let (server, clock) = (vertex().await, present());
    let uri = format!("{}/token", server.url());
    let mut stranger = person(&uri);
    if let GoogleGrant::AuthorizedUser { refresh_token, .. } = &mut stranger.grant {
        *refresh_token = Secret::new("made-up-refresh-token-of-another");
    }
    let mut broken = service_account(&uri);
    if let GoogleGrant::ServiceAccount { private_key, .. } = &mut broken.grant {
        *private_key = Secret::new("made-up-token-no-key");
    }
    let elsewhere = service_account("http://metadata.example/token");
    for (credentials, why) in [
        (stranger, "gives no token: invalid_grant: Bad Request"),
        (broken, "is not an RSA key in PKCS#8"),
        (
            elsewhere,
            "the `token_uri` of the file is refused: it is not https",
        ),
    ] {
        let caller = vertex_caller(&server.url(), credentials, &clock);
        let said = ask_vertex(&caller).await;
        assert_eq!(
            story(&said).last().map(String::as_str),
            Some("error bad_key"),
            "{why}"
        );
        assert!(message(&said).contains(why), "{}", message(&said));
    }
    assert_eq!(server.requests().len(), 1, "only the first is sent anywhere");
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let refusals = Mutex::new(0);
    let server = TestServer::answering(move |request| {
        if request.path == "/token" {
            let number = {
                let mut refusals = refusals.lock().unwrap();
                *refusals += 1;
                *refusals
            };
            let token = format!("made-up-token-{number}");
            let body = serde_json::json!({"access_token": token, "expires_in": 3_599, "token_type": "Bearer"});
            return ServerReply::json(200, &body);
        }
        // Made up: the first token and the third were revoked before their time was up.
        match request.header("authorization") {
            Some("Bearer made-up-token-2") => ServerReply::json(529, &serde_json::json!({"error": "made up"})),
            _ => ServerReply::json(
                401,
                &serde_json::json!({"error": {"code": 401, "message": "revoked", "status": "UNAUTHENTICATED"}}),
            ),
        }
    })
    .await;
    let caller = vertex_caller(
        &server.url(),
        person(&format!("{}/token", server.url())),
        &present(),
    );
    let mut request = caller.request();
    request.model.id = "claude-opus-4-6".to_owned();
    let said = perform(&caller.effector, fixture::call(request)).await;
    let told = story(&said);
    let sent: Vec<String> = server
        .requests()
        .iter()
        .map(|request| match request.header("authorization") {
            Some(token) => token.to_owned(),
            None => request.path.clone(),
        })
        .collect();
    let first = [
        "/token",
        "Bearer made-up-token-1",
        "/token",
        "Bearer made-up-token-2",
    ];
    assert_eq!(sent[..4], first, "{told:?}");
    assert!(
        told[0].starts_with("attempt_failed 1 overloaded 529"),
        "the refusal is not an attempt: {told:?}"
    );
}

#[tokio::test]
async fn an_account_that_is_refused_twice_is_told() {
    let server = TestServer::answering(move |request| {
        if request.path == "/token" {
            let body = serde_json::json!({"access_token": "made-up-token", "expires_in": 3_599, "token_type": "Bearer"});
            return ServerReply::json(200, &body);
        }
        let body = serde_json::json!({"error": {"code": 401, "message": "no such user", "status": "UNAUTHENTICATED"}});
        ServerReply::json(401, &body)
    })
    .await;
    let caller = vertex_caller(
        &server.url(),
        person(&format!("{}/token", server.url())),
        &present(),
    );
    let said = ask_vertex(&caller).await;
    let told = story(&said);
    assert_eq!(
        told,
        ["attempt_failed 1 unauthorized 401 last", "error unauthorized"]
    );
    assert_eq!(
        server.requests().len(),
        4,
        "two tokens, and two requests with them"
    );
}
