//! Tokens with which other programs of a person use `/mcp`: what they open, how long they count, and who
//! takes them back. The calls of a token end with it.

use std::sync::Arc;
use std::time::Duration;

use agentx_identity::{SecretKey, Trusted, TrustedAs};
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::{Access, ApprovalMode, ToolSpec};
use axum::http::{Method, StatusCode};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::http_api::desk::{Desk, Reply, wide};
use crate::http_api::mcp::askable_call;

/// The longest wait for what happens within a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tool that says that it began, and waits until its call is cancelled.
struct Waiting(mpsc::UnboundedSender<()>);

impl Tool for Waiting {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("waiting", "Waits.", json!({"type": "object"}), Access::Read)
    }

    fn call(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        self.0.send(()).unwrap();
        Box::pin(async move {
            context.cancel.cancelled().await;
            ToolOutcome::success("it was cancelled")
        })
    }
}

/// A call of [`Waiting`] with this token.
async fn wait(desk: &Desk, token: &str) -> String {
    super::mcp::called(desk, token, "waiting", json!({})).await.0
}

/// A member with a key, whom the desk trusts from now on.
fn member(desk: &Desk) -> SecretKey {
    let key = SecretKey::generate().unwrap();
    trust(desk, &key);
    key
}

fn trust(desk: &Desk, key: &SecretKey) {
    trust_as(desk, key, TrustedAs::Member);
}

fn trust_as(desk: &Desk, key: &SecretKey, role: TrustedAs) {
    let trusted = Trusted {
        public_key: *key.public_key(),
        name: Some("Cleo".to_owned()),
        role,
    };
    keyring(desk).trust(trusted).unwrap();
}

/// Takes back a token that [`make`] made, by the token of its person that opens everything.
async fn take_back(desk: &Desk, made: &Value, own: &str) {
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    let gone = desk.ask(Method::DELETE, &path).by(own).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
}

fn keyring(desk: &Desk) -> agentx_identity::Keyring {
    agentx_identity::Keyring::at(&desk.state.settings().data_dir)
}

/// Asks for a token for `/mcp` by a signed challenge.
async fn make(desk: &Desk, key: &SecretKey, name: &str, lifetime_s: u64) -> Reply {
    let mut answer = desk.answer(key).await;
    answer["mcp"] = json!({"name": name, "lifetime_s": lifetime_s});
    desk.post("/v1/auth/token", &answer).send().await
}

/// The status of a request to `/mcp` with this token.
async fn at_mcp(desk: &Desk, token: &str) -> StatusCode {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    desk.post("/mcp", &ping).by(token).send().await.status
}

/// The token of the person that opens everything for an hour.
async fn signed_in(desk: &Desk, key: &SecretKey) -> String {
    let answer = desk.answer(key).await;
    let token = desk.post("/v1/auth/token", &answer).send().await.ok().json();
    token["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_token_for_a_program_opens_mcp_alone_until_its_owner_takes_it_back() {
    let desk = Desk::new().await;
    let key = member(&desk);
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert_eq!(at_mcp(&desk, token).await, StatusCode::OK);
    for path in ["/v1/me", "/v1/sessions", "/v1/tokens"] {
        let reply = desk.get(path).by(token).send().await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(
            reply.json()["detail"].as_str().unwrap().contains("/mcp alone"),
            "{path}"
        );
    }
    let own = signed_in(&desk, &key).await;
    let listed = desk.get("/v1/tokens").by(&own).send().await.ok().json();
    assert_eq!(
        (
            &listed[0]["id"],
            &listed[0]["name"],
            listed.as_array().unwrap().len()
        ),
        (&json!(id), &json!("claude"), 1)
    );
    assert!(!listed.to_string().contains(token), "it is shown once");
    let of_bob = desk.get("/v1/tokens").by(&desk.bob).send().await.ok().json();
    assert_eq!(of_bob, json!([]));
    let path = format!("/v1/tokens/{id}");
    let by_bob = desk.ask(Method::DELETE, &path).by(&desk.bob).send().await;
    assert_eq!(
        (by_bob.status, by_bob.code()),
        (StatusCode::NOT_FOUND, "not_found".to_owned())
    );
    assert_eq!(at_mcp(&desk, token).await, StatusCode::OK);
    let gone = desk.ask(Method::DELETE, &path).by(&own).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED);
}

/// A stream lasts for minutes, and shows the titles of sessions.
#[tokio::test]
async fn a_stream_of_subscriptions_ends_when_the_token_that_opened_it_is_taken_back() {
    let desk = Desk::new().await;
    let key = member(&desk);
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let own = signed_in(&desk, &key).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let wanted = json!({"notifications": {"resourcesListChanged": true}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wanted});
    let open = desk
        .post("/mcp", &body)
        .by(made["token"].as_str().unwrap())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    let mut stream = open.open().await.into_body().into_data_stream();
    let first = stream.next().await.unwrap().unwrap();
    let first = String::from_utf8_lossy(&first);
    assert!(
        first.contains("notifications/subscriptions/acknowledged"),
        "{first}"
    );
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    let gone = desk.ask(Method::DELETE, &path).by(&own).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    let rest = async {
        let mut rest = String::new();
        while let Some(piece) = stream.next().await {
            rest.push_str(&String::from_utf8_lossy(&piece.unwrap()));
        }
        rest
    };
    let rest = tokio::time::timeout(Duration::from_secs(30), rest).await;
    let rest = rest.unwrap();
    assert!(rest.contains("\"result\""), "{rest}");
}

#[tokio::test]
async fn a_token_for_a_program_ends_with_the_trust_in_its_owner() {
    let desk = Desk::new().await;
    let key = member(&desk);
    let made = make(&desk, &key, "codex", 3_600).await.ok().json();
    let token = made["token"].as_str().unwrap();
    assert_eq!(at_mcp(&desk, token).await, StatusCode::OK);
    let file = std::fs::read_to_string(keyring(&desk).mcp_tokens_file()).unwrap();
    assert!(
        file.contains("codex") && !file.contains(token),
        "only its hash is kept"
    );
    keyring(&desk).untrust(key.public_key()).unwrap();
    assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_for_a_program_needs_a_signature_and_has_bounds() {
    let desk = Desk::new().await;
    let key = member(&desk);
    for (name, lifetime_s) in [
        ("claude", 59),
        ("claude", 90 * 86_400 + 1),
        ("claude", u64::MAX),
        ("", 60),
        ("a b", 60),
    ] {
        let refused = make(&desk, &key, name, lifetime_s).await;
        assert_eq!(
            (refused.status, refused.code()),
            (StatusCode::BAD_REQUEST, "bad_request".to_owned())
        );
    }
    let stranger = make(&desk, &SecretKey::generate().unwrap(), "claude", 60).await;
    assert_eq!(stranger.code(), "unknown_person");
    let mut answer: Value = desk.answer(&key).await;
    answer["mcp"] = json!({"name": "claude", "lifetime_s": 60});
    desk.post("/v1/auth/token", &answer).send().await.ok();
    let again = desk.post("/v1/auth/token", &answer).send().await;
    assert_eq!(again.code(), "stale_challenge", "a challenge counts once");
    for _ in 1..16 {
        make(&desk, &key, "claude", 60).await.ok();
    }
    let more = make(&desk, &key, "claude", 60).await;
    assert_eq!(
        (more.status, more.code()),
        (StatusCode::TOO_MANY_REQUESTS, "too_many".to_owned())
    );
    assert_eq!(
        at_mcp(&desk, "agentx_mcp_made-up").await,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_call_ends_when_the_token_that_opened_it_is_taken_back_and_those_of_other_tokens_go_on() {
    let (begins, mut begun) = mpsc::unbounded_channel();
    let desk = Desk::with_tool(Arc::new(Waiting(begins)), |_| {}).await;
    let key = member(&desk);
    let first = make(&desk, &key, "claude", 3_600).await.ok().json();
    let second = make(&desk, &key, "codex", 3_600).await.ok().json();
    let own = signed_in(&desk, &key).await;
    let [one, other] = [&first, &second].map(|made| wait(&desk, made["token"].as_str().unwrap()));
    tokio::pin!(one, other);
    let take_first = async {
        for _ in 0..2 {
            begun.recv().await.unwrap();
        }
        take_back(&desk, &first, &own).await;
    };
    let ends = async { tokio::join!(&mut one, take_first).0 };
    let text = tokio::select! {
        text = ends => text,
        text = &mut other => panic!("the call of the other token ended: {text}"),
    };
    assert!(text.starts_with("Stopped: the token for /mcp"), "{text}");
    let (text, ()) = tokio::join!(&mut other, take_back(&desk, &second, &own));
    assert!(text.starts_with("Stopped: the token for /mcp"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_ends_when_its_person_is_no_longer_trusted() {
    let (begins, mut begun) = mpsc::unbounded_channel();
    let mut desk = Desk::with_tool(Arc::new(Waiting(begins)), |_| {}).await;
    let server = desk.server.take().unwrap();
    let chores = tokio::spawn(server.run(std::future::pending()));
    let key = member(&desk);
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let own = signed_in(&desk, &key).await;
    let untrust = async {
        for _ in 0..2 {
            begun.recv().await.unwrap();
        }
        keyring(&desk).untrust(key.public_key()).unwrap();
    };
    let calls = async {
        tokio::join!(
            wait(&desk, made["token"].as_str().unwrap()),
            wait(&desk, &own),
            untrust
        )
    };
    let (one, other, ()) = tokio::time::timeout(PATIENCE, calls).await.unwrap();
    for text in [one, other] {
        assert!(
            text.starts_with("Stopped: this server no longer trusts you"),
            "{text}"
        );
    }
    chores.abort();
}

#[tokio::test]
async fn a_call_that_waits_for_an_answer_ends_with_the_token_that_opened_it() {
    let desk = Desk::set(wide(), |settings| settings.approval = ApprovalMode::Ask).await;
    let key = keyring(&desk).identity().unwrap().unwrap();
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let asked = askable_call(&desk, made["token"].as_str().unwrap(), json!({})).await;
    let mut state = asked["result"]["requestState"].clone();
    // Without its answer, the question comes again with another state, whichever token the person has.
    let again = askable_call(&desk, &desk.operator, json!({"requestState": state})).await;
    state = again["result"]["requestState"].clone();
    assert!(state.is_string(), "{again}");
    take_back(&desk, &made, &desk.operator).await;
    let ended = async {
        loop {
            let again = askable_call(&desk, &desk.operator, json!({"requestState": state})).await;
            if again["result"]["requestState"].is_null() {
                return again;
            }
            state = again["result"]["requestState"].clone();
        }
    };
    let ended = tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let is_refused = ended["error"]["code"] == -32_602;
    let is_stopped = ended["result"]["content"][0]["text"]
        .as_str()
        .is_some_and(|text| text.starts_with("Stopped: "));
    assert!(is_refused || is_stopped, "{ended}");
    assert!(!desk.directory.path().join("made").exists());
}

#[tokio::test]
async fn who_is_trusted_again_has_no_token_of_before() {
    let desk = Desk::new().await;
    let key = member(&desk);
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let (token, own) = (made["token"].as_str().unwrap(), signed_in(&desk, &key).await);
    for token in [token, own.as_str()] {
        assert_eq!(at_mcp(&desk, token).await, StatusCode::OK);
    }
    keyring(&desk).untrust(key.public_key()).unwrap();
    for token in [token, own.as_str()] {
        assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED);
    }
    trust(&desk, &key);
    for token in [token, own.as_str()] {
        assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED);
    }
    let own = signed_in(&desk, &key).await;
    assert_eq!(at_mcp(&desk, &own).await, StatusCode::OK);
    let listed = desk.get("/v1/tokens").by(&own).send().await.ok().json();
    assert_eq!(listed, json!([]));
}

/// The server looks at the list once a second, and at each request: here both changes come between two looks.
#[tokio::test]
async fn no_token_of_before_counts_after_two_changes_that_nobody_saw() {
    let desk = Desk::new().await;
    let key = member(&desk);
    for role in [None, Some(TrustedAs::Operator)] {
        let made = make(&desk, &key, "claude", 3_600).await.ok().json();
        let (token, own) = (made["token"].as_str().unwrap(), signed_in(&desk, &key).await);
        for token in [token, own.as_str()] {
            assert_eq!(at_mcp(&desk, token).await, StatusCode::OK);
        }
        match role {
            None => drop(keyring(&desk).untrust(key.public_key()).unwrap()),
            Some(role) => trust_as(&desk, &key, role),
        }
        trust(&desk, &key);
        for token in [token, own.as_str()] {
            assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED, "{role:?}");
        }
    }
}

/// Also not if somebody edits the list as a file, which removes no token at once.
#[tokio::test]
async fn a_token_of_a_member_does_not_become_one_of_the_operator() {
    let desk = Desk::new().await;
    let key = member(&desk);
    let made = make(&desk, &key, "claude", 3_600).await.ok().json();
    let token = made["token"].as_str().unwrap();
    let file = keyring(&desk).people_file();
    let people = std::fs::read_to_string(&file).unwrap();
    let promoted = people.replace("\"member\"", "\"operator\"");
    assert_ne!(people, promoted);
    std::fs::write(&file, promoted).unwrap();
    assert_eq!(at_mcp(&desk, token).await, StatusCode::UNAUTHORIZED);
}
