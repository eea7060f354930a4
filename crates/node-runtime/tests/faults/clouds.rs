//! Clouds: each attempt is authorized anew, and nothing that authorizes it is said.

use std::sync::Mutex;

use agentx_llm::CloudCredentials;
use agentx_llm::bedrock::AwsCredentials;
use agentx_testing::vendors::{Anthropic, BedrockServer, ModelAnswer};
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

/// A clock that shows the present, for a server with a clock of its own.
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
