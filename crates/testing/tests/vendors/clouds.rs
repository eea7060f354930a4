//! Clouds: each rule about who asks and in which form, broken once.

use agentx_llm::Secret;
use agentx_llm::bedrock::{AwsCredentials, SigningRequest, invoke_path, sign};
use agentx_testing::HttpRequest;
use agentx_testing::vendors::{
    Anthropic, BEDROCK_RULES, BedrockServer, GOOGLE_TOKEN_RULES, GoogleTokenServer, VERTEX_RULES,
    VendorRefusal, VertexServer,
};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

/// The time of a request, in seconds since 1970.
const NOW: u64 = 1_763_630_400;

/// A request, described so that a case can change it.
fn bedrock(_: &str) -> Value {
    json!({
        "model": "us.anthropic.claude-opus-4-6-v1", "path": null, "at": NOW, "key": "AKIAMADEUP", "secret": "made-up",
        "region": "us-east-1", "headers": {}, "bearer": null, "later_body": null,
        "body": {
            "anthropic_version": "bedrock-2023-05-31", "max_tokens": 10, "anthropic_beta": ["made-up-beta"],
            "messages": [{ "role": "user", "content": "hello" }],
        },
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn bedrock_request(described: &Value) -> HttpRequest {
    let path = invoke_path(text(&described["model"]));
    let path = described["path"].as_str().map_or(path, str::to_owned);
    let body = described["body"].to_string().into_bytes();
    let signed = sign(
        &SigningRequest {
            host: "h.example",
            path: &path,
            region: text(&described["region"]),
            body: &body,
            unix_seconds: described["at"].as_u64().unwrap(),
        },
        &AwsCredentials {
            access_key_id: text(&described["key"]).to_owned(),
            secret_access_key: Secret::new(text(&described["secret"])),
            session_token: None,
        },
    );
    let bearer = described["bearer"].as_str().map(|key| format!("Bearer {key}"));
    let authorization = bearer.unwrap_or_else(|| signed.authorization.expose().to_owned());
    let own = [
        ("host", "h.example".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("x-amz-date", signed.date),
        ("authorization", authorization),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let more = described["headers"].as_object().unwrap();
    let more = more
        .iter()
        .map(|(name, value)| (name.clone(), text(value).to_owned()));
    let later = described["later_body"]
        .as_str()
        .map(|body| body.as_bytes().to_vec());
    HttpRequest {
        method: "POST".to_owned(),
        path,
        headers: own
            .into_iter()
            .chain(more)
            .filter(|(_, value)| !value.is_empty() && value != "Bearer ")
            .collect(),
        body: later.unwrap_or(body),
    }
}

fn check_bedrock(_: &str, described: &Value) -> Option<VendorRefusal> {
    let mut server =
        BedrockServer::new("us-east-1", Anthropic::new()).with_access_key("AKIAMADEUP", "made-up", None);
    server.check(&bedrock_request(described), NOW).err()
}

#[test]
fn each_rule_of_bedrock_is_broken_once() {
    let cases: &[Case] = &[
        ("bedrock-path", |request| {
            request["path"] = json!("/model/us.anthropic.x/invoke")
        }),
        ("bedrock-path", |request| {
            request["path"] = json!("/model/a:b/invoke-with-response-stream")
        }),
        ("bedrock-no-credentials", |request| request["bearer"] = json!("")),
        ("bedrock-bearer", |request| {
            request["bearer"] = json!("made-up-key")
        }),
        ("bedrock-access-key", |request| {
            request["key"] = json!("AKIAOTHER")
        }),
        ("bedrock-access-key", |request| {
            request["headers"] = json!({"x-amz-security-token": "t"})
        }),
        ("bedrock-scope", |request| request["region"] = json!("eu-west-1")),
        ("bedrock-signed-headers", |request| {
            request["headers"] = json!({"x-amz-made-up": "1"})
        }),
        ("bedrock-time", |request| request["at"] = json!(NOW - 301)),
        ("bedrock-time", |request| request["at"] = json!(NOW + 301)),
        ("bedrock-signature", |request| {
            request["secret"] = json!("another")
        }),
        ("bedrock-signature", |request| request["later_body"] = json!("{}")),
        ("bedrock-model", |request| {
            request["model"] = json!("us.does-not-exist-model-v1:0")
        }),
        ("bedrock-version", |request| {
            request["body"]["anthropic_version"] = json!("2023-06-01")
        }),
        ("bedrock-version", |request| {
            request["body"]
                .as_object_mut()
                .unwrap()
                .remove("anthropic_version");
        }),
        ("bedrock-body", |request| request["body"]["model"] = json!("m")),
        ("bedrock-body", |request| request["body"]["stream"] = json!(true)),
        ("bedrock-beta", |request| {
            request["body"]["anthropic_beta"] = json!("made-up-beta")
        }),
    ];
    each_rule_is_broken_once(cases, BEDROCK_RULES, &[], check_bedrock, bedrock);
}

fn vertex(_: &str) -> Value {
    json!({
        "path": "/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-6:streamRawPredict",
        "authorization": "Bearer made-up-token-1",
        "body": {
            "anthropic_version": "vertex-2023-10-16", "max_tokens": 10, "stream": true,
            "messages": [{ "role": "user", "content": "hello" }],
        },
    })
}

fn check_vertex(_: &str, described: &Value) -> Option<VendorRefusal> {
    let request = HttpRequest {
        method: "POST".to_owned(),
        path: text(&described["path"]).to_owned(),
        headers: vec![(
            "authorization".to_owned(),
            text(&described["authorization"]).to_owned(),
        )],
        body: described["body"].to_string().into_bytes(),
    };
    let mut server = VertexServer::new(Anthropic::new()).with_tokens_like("made-up-token-");
    server.check(&request).err()
}

#[test]
fn each_rule_of_vertex_is_broken_once() {
    let cases: &[Case] = &[
        ("vertex-path", |request| {
            request["path"] = json!("/v1/publishers/anthropic/models/m:streamRawPredict")
        }),
        ("vertex-token", |request| {
            request["authorization"] = json!("Bearer another")
        }),
        ("vertex-version", |request| {
            request["body"]["anthropic_version"] = json!("2023-06-01")
        }),
        ("vertex-body", |request| {
            request["body"]["model"] = json!("claude-opus-4-6")
        }),
    ];
    each_rule_is_broken_once(cases, VERTEX_RULES, &[], check_vertex, vertex);
}

fn refresh(_: &str) -> Value {
    json!({
        "type": "application/x-www-form-urlencoded",
        "body": "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=r%2F1",
    })
}

/// Assertions with a signature are checked by the tests of the runtime that makes them.
#[test]
fn each_rule_of_tokens_for_people_is_broken_once() {
    let cases: &[Case] = &[
        ("google-token-form", |request| {
            request["type"] = json!("application/json")
        }),
        ("google-token-form", |request| {
            request["body"] = json!("grant_type=password")
        }),
        ("google-refresh-token", |request| {
            request["body"] =
                json!("grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=other");
        }),
        ("google-assertion", |request| {
            request["body"] =
                json!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c");
        }),
    ];
    let check = |_: &str, described: &Value| {
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/token".to_owned(),
            headers: vec![("content-type".to_owned(), text(&described["type"]).to_owned())],
            body: text(&described["body"]).as_bytes().to_vec(),
        };
        let mut server = GoogleTokenServer::new().with_person("c", "s", "r/1");
        let refusal = server.token("http://h.example/token", &request, NOW).err();
        // RFC 6749 names its field otherwise.
        refusal.map(|refusal| VendorRefusal {
            body: json!({ "message": refusal.body }),
            ..refusal
        })
    };
    each_rule_is_broken_once(
        cases,
        GOOGLE_TOKEN_RULES,
        &["google-assertion-time"],
        check,
        refresh,
    );
}
