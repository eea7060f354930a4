//! Authentication: a signature counts once, for one server, one connection and one key.

use agentx_identity::{AuthChallenge, SecretKey, sign_challenge};
use agentx_tests::remote::{Answered, Socket, Web, Who, problem_code};
use serde_json::{Value, json};

use super::stage::{Actor, Stage};

async fn challenge(web: &Web) -> Value {
    web.post("/v1/auth/challenge", &json!({})).await
}

async fn token(web: &Web, request: &Value) -> Answered {
    web.ask("POST", "/v1/auth/token", Some(request)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_over_http_counts_once() {
    let stage = Stage::new(false).await;
    let web = Web::new(&stage.server.url(), &stage.who(Actor::Owner), "owner");
    let asked = challenge(&web).await;
    let request = web.token_request(&asked);
    let first = token(&web, &request).await;
    assert_eq!(first.status, 200, "{first}");
    let again = token(&web, &request).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (401, "stale_challenge"),
        "{again}"
    );
    // A wrong answer uses the challenge up, too.
    let asked = challenge(&web).await;
    let mut wrong = web.token_request(&asked);
    wrong["signature"] = request["signature"].clone();
    assert_eq!(token(&web, &wrong).await.code(), "bad_signature");
    let right = web.token_request(&asked);
    assert_eq!(token(&web, &right).await.code(), "stale_challenge");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_for_something_else_counts_for_nothing() {
    let stage = Stage::new(false).await;
    let who = stage.who(Actor::Owner);
    let web = Web::new(&stage.server.url(), &who, "owner");
    let changes: [fn(&mut Value); 2] = [
        |asked| asked["origin"] = "https://evil.example".into(),
        |asked| asked["expires_at_ms"] = (asked["expires_at_ms"].as_u64().unwrap() + 60_000).into(),
    ];
    for change in changes {
        let asked = challenge(&web).await;
        let mut other = asked.clone();
        change(&mut other);
        let mut request = who.answer(&other);
        for name in ["nonce", "expires_at_ms"] {
            request[name] = asked[name].clone();
        }
        let answered = token(&web, &request).await;
        assert_eq!(answered.code(), "bad_signature", "{answered}");
        // What is said to have been asked was not asked.
        let answered = token(&web, &web.token_request(&other)).await;
        assert_eq!(answered.status, 401, "{answered}");
    }
    // Somebody else's key, and one that the server does not know.
    let mut other = web.token_request(&challenge(&web).await);
    other["public_key"] = stage.who(Actor::Other).public_key().into();
    assert_eq!(token(&web, &other).await.code(), "bad_signature");
    let stranger = Web::new(&stage.server.url(), &Who::stranger(77), "stranger");
    let request = stranger.token_request(&challenge(&stranger).await);
    let answered = token(&stranger, &request).await;
    assert_eq!(
        (answered.status, answered.code().as_str()),
        (403, "unknown_person"),
        "{answered}"
    );
    stage.hides("an unknown person", &answered.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_somewhere_else_gets_no_challenge_and_no_token() {
    let stage = Stage::new(true).await;
    let web = Web::new(&stage.server.url(), &stage.who(Actor::Owner), "owner");
    let evil: &[(&str, &str)] = &[("origin", "https://evil.example")];
    let request = web.token_request(&challenge(&web).await);
    for (path, body) in [("/v1/auth/challenge", json!({})), ("/v1/auth/token", request)] {
        let answered = web.try_ask("POST", path, evil, Some(&body)).await.unwrap();
        assert_eq!(answered.code(), "bad_origin", "{path}");
        let allowed = answered.headers.get("access-control-allow-origin");
        assert_eq!(allowed, None, "{path}");
    }
}

/// A signature of one connection, or of HTTP, is worth nothing on another connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_on_a_socket_counts_for_that_socket() {
    let stage = Stage::new(false).await;
    let who = stage.who(Actor::Owner);
    let address = stage.server.address();
    let web = Web::new(&stage.server.url(), &who, "owner");
    let (mut one, two) = (
        Socket::dial(address, &[]).await.unwrap(),
        Socket::dial(address, &[]).await.unwrap(),
    );
    let with_client = |mut answer: Value| {
        answer["client"] = "owner".into();
        answer
    };
    let of_two = with_client(who.answer(&two.hello));
    let answer = one.try_ask("authenticate", of_two.clone()).await.unwrap();
    assert_eq!(problem_code(&answer.unwrap_err()), "bad_signature");
    let (before, _) = one.is_closed().await;
    assert!(before.iter().any(|frame| frame["event"] == "bye"), "{before:?}");
    let mut three = Socket::dial(address, &[]).await.unwrap();
    let of_http = with_client(who.answer(&challenge(&web).await));
    let answer = three.try_ask("authenticate", of_http).await.unwrap();
    assert_eq!(problem_code(&answer.unwrap_err()), "bad_signature");
    // The challenge of a connection is none over HTTP.
    let of_socket = web.token_request(&two.hello);
    assert_eq!(token(&web, &of_socket).await.code(), "stale_challenge");
    // It still counts where it belongs, and once.
    let mut two = two;
    two.ask("authenticate", of_two.clone()).await;
    assert_eq!(two.refused("authenticate", of_two).await, "refused");
    two.ask("ping", json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_say_who_they_are_gets_nothing() {
    let stage = Stage::new(false).await;
    let address = stage.server.address();
    let mut socket = Socket::dial(address, &[]).await.unwrap();
    for kind in ["subscribe", "user_message", "wheel"] {
        let payload = json!({"session_id": stage.session, "content": "x", "wish": "take"});
        assert_eq!(socket.refused(kind, payload).await, "unauthenticated", "{kind}");
    }
    let as_visitor = socket.try_ask("authenticate", json!({"client": "x"})).await;
    let problem = as_visitor.unwrap().unwrap_err();
    assert_eq!(problem_code(&problem), "unauthenticated", "{problem}");
    let (before, why) = socket.is_closed().await;
    assert!(
        before.iter().all(|frame| !frame["seq"].is_u64()),
        "{before:?} {why}"
    );
}

/// Somebody between a client and a server can pass on what the server asks, but our client does not sign it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_signed_for_a_server_that_calls_itself_something_else() {
    let stage = Stage::new(false).await;
    let proxy = agentx_tests::proxy::Proxy::start(stage.server.address(), 1);
    let refused = agentx_tests::remote::mirror::remote(&proxy.url(), &stage.who(Actor::Owner), "x").await;
    let Err(error) = refused else {
        panic!("it signed for another place");
    };
    assert!(error.to_string().contains("calls itself"), "{error}");
    // That is the client's part: a client that signs all the same is let in, since it is the same server.
    let key = SecretKey::from_seed(&[2; 32]).unwrap();
    let web = Web::new(&proxy.url(), &stage.who(Actor::Owner), "x");
    let asked = challenge(&web).await;
    let asked: AuthChallenge = serde_json::from_value(asked).unwrap();
    assert_eq!(asked.origin, stage.server.url());
    let signature = sign_challenge(&key, &asked);
    let request = json!({"public_key": key.public_key(), "nonce": asked.nonce,
        "expires_at_ms": asked.expires_at_ms, "signature": signature});
    assert_eq!(token(&web, &request).await.status, 200);
}
