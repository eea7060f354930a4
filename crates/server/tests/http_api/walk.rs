//! Every route of the table with every kind of caller. A route that is added and not in here fails.

use agentx_server::http::{ListedRoute, Needs, routes};
use agentx_types::{SessionRole, VISITORS};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply, wide};
use crate::support::cut_off;

/// The kinds of callers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Owner,
    /// Another member, with this role in the session.
    Other(Option<SessionRole>),
    Operator,
    /// Nobody, on a server that admits visitors.
    Visitor,
    /// Nobody, on a server that does not.
    Nobody,
    /// With a token that counts no longer, or never did.
    Stale,
}

const ALL: [Who; 9] = [
    Who::Owner,
    Who::Other(None),
    Who::Other(Some(SessionRole::Watch)),
    Who::Other(Some(SessionRole::Approve)),
    Who::Other(Some(SessionRole::Drive)),
    Who::Operator,
    Who::Visitor,
    Who::Nobody,
    Who::Stale,
];

/// Returns the answer to a caller who may not; `None` if they may.
fn refused(needs: Needs, who: Who) -> Option<(StatusCode, &'static str)> {
    let unknown = Some((StatusCode::UNAUTHORIZED, "unauthenticated"));
    let denied = Some((StatusCode::FORBIDDEN, "denied"));
    match (needs, who) {
        (Needs::Nothing, _) => None,
        (_, Who::Nobody | Who::Stale) => unknown,
        (Needs::TokenOrVisitor, _) => None,
        (Needs::Member, Who::Visitor) => denied,
        (Needs::Member, _) => None,
        (Needs::Operator, Who::Operator) => None,
        (Needs::Operator, _) => denied,
        (Needs::RoleOrOperator(_), Who::Operator) => None,
        (Needs::RoleOrOperator(role), who) => refused(Needs::Role(role), who),
        (Needs::Role(_), Who::Owner) => None,
        (Needs::Role(needed), Who::Other(Some(role))) => (role < needed).then_some(denied).flatten(),
        // Who runs the server decides about calls of members, so they see them.
        (Needs::Role(needed), Who::Operator) => (SessionRole::Approve < needed).then_some(denied).flatten(),
        (Needs::Role(_), Who::Other(None) | Who::Visitor) => Some((StatusCode::NOT_FOUND, "no_session")),
    }
}

/// A body that makes sense, and the queries without which it does not.
fn sample(route: &ListedRoute, agent: &Value, session: &str) -> (Value, String) {
    let none = Value::Null;
    let body = match (route.method.as_str(), route.path) {
        ("POST", "/v1/auth/challenge") => json!({}),
        ("POST", "/v1/auth/token") => {
            json!({"public_key": "ed25519:x", "nonce": "n", "expires_at_ms": 1, "signature": "s"})
        }
        ("POST", "/v1/auth/page") => json!({"code": "c", "name": "Firefox"}),
        ("POST", "/v1/auth/code") => json!({}),
        ("POST", "/v1/push") => {
            json!({"endpoint": "https://push.example/1", "keys": {"p256dh": "x", "auth": "x"}})
        }
        ("PATCH", "/v1/memories/{id}") => json!({"state": "accepted"}),
        ("POST", "/mcp") => json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        ("POST", "/v1/sessions") => json!({"config": agent}),
        ("PATCH", "/v1/sessions/{id}") => json!({"title": "a title"}),
        ("POST", "/v1/sessions/{id}/messages") => json!({"content": "hello"}),
        ("POST", "/v1/sessions/{id}/approvals") => json!({"tool_call_id": "call_1", "decision": "once"}),
        ("POST", "/v1/sessions/{id}/changes") => json!({"change": {"limits": {}}}),
        ("POST", "/v1/sessions/{id}/revisions") => json!({"message_id": "msg_1"}),
        ("POST", "/v1/sessions/{id}/context") => json!({"wish": {"condense": {}}}),
        ("POST", "/v1/sessions/{id}/restore") => json!({"wish": {"to_seq": 1, "files": []}}),
        ("POST", "/v1/sessions/{id}/roles") => json!({"person": "own_nobody", "role": "watch"}),
        ("POST", "/v1/sessions/{id}/interrupt" | "/v1/sessions/{id}/fork") => json!({}),
        ("POST", "/v1/import") => json!({
            "format": "agentx-session", "version": 1, "session_id": "ses_elsewhere000", "title": "", "workspace": "/",
            "created_at": 1, "hash": "", "blobs": [], "events": [],
        }),
        ("POST", "/v1/usage/raise") => json!({"tokens": 1}),
        ("POST", "/v1/hooks/{id}") => json!({"action": "opened"}),
        ("POST", "/v1/config") => json!({"config": {"name": "Ada"}}),
        ("POST", "/v1/gc" | "/v1/sessions/{id}/verify" | "/v1/sessions/{id}/replay") => none,
        ("GET" | "DELETE", _) => none,
        (method, path) => panic!("say what {method} {path} is asked with"),
    };
    let query = match route.path {
        "/v1/search" => "?q=hello".to_owned(),
        "/v1/resolve" => format!("?prefix={session}"),
        "/v1/blobs/{id}" => format!("?session={session}"),
        "/v1/sessions/{id}/file" => "?tool_call_id=call_1".to_owned(),
        "/v1/sessions/{id}/restore" if route.method == Method::GET => "?to_seq=1".to_owned(),
        _ => String::new(),
    };
    (body, query)
}

async fn ask(desk: &Desk, route: &ListedRoute, who: Who, session: &str, agent: &Value) -> Reply {
    let (body, query) = sample(route, agent, session);
    let path = route.path.replace("{id}", session) + &query;
    let mut ask = desk.ask(route.method.clone(), &path);
    if !body.is_null() {
        ask = ask.json(&body);
    }
    let token = match who {
        Who::Owner => Some(desk.ann.as_str()),
        Who::Other(_) => Some(desk.bob.as_str()),
        Who::Operator => Some(desk.operator.as_str()),
        Who::Stale => Some("bm90IGEgdG9rZW4gb2YgYW55Ym9keQ"),
        Who::Visitor | Who::Nobody => None,
    };
    if let Some(token) = token {
        ask = ask.by(token);
    }
    ask.send().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_asks_who_it_is() {
    let mut open = wide();
    open.allow_visitors = true;
    let (closed, open) = (Desk::new().await, Desk::with(open).await);
    let agent = closed.agent().await;
    for route in routes() {
        for who in ALL {
            let desk = if who == Who::Visitor { &open } else { &closed };
            // Each asks for a session of its own: some delete it.
            let session = desk.session(&desk.ann).await;
            if let Who::Other(Some(role)) = who {
                desk.share(&desk.ann, &session, &desk.bob_id, json!(role)).await;
            }
            let reply = ask(desk, &route, who, &session, &agent).await;
            let at = format!("{} {} as {who:?}", route.method, route.path);
            assert!(!reply.status.is_server_error(), "{at}: {}", reply.status);
            match refused(route.needs, who) {
                Some((status, code)) => {
                    assert_eq!(reply.status, status, "{at}");
                    assert_eq!(reply.code(), code, "{at}");
                }
                None => {
                    let may = ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&reply.status);
                    // The samples of these are not a signature and not a code.
                    let is_sample = matches!(route.path, "/v1/auth/token" | "/v1/auth/page");
                    assert!(may || is_sample, "{at}: {} {:?}", reply.status, reply.body);
                }
            }
        }
    }
}

/// No route that only reads continues a run that was cut off.
#[test]
fn no_route_goes_on_with_a_run_for_somebody_who_only_looks() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let mut open = wide();
    open.allow_visitors = true;
    let desk = runtime().block_on(Desk::with(open));
    let (owner, watchers) = (desk.ann_id.as_str().into(), [desk.bob_id.as_str(), VISITORS]);
    let session = cut_off(&desk.state.settings(), &owner, &watchers);
    runtime().block_on(async {
        let node = desk.state.runtime_of(&owner);
        let before = node.info(&session).await.unwrap().last_seq;
        let opened = desk.state.counts().opened.get();
        let agent = desk.agent().await;
        // These make sessions of their own.
        let makes = |route: &ListedRoute| {
            matches!(route.path, "/v1/sessions" | "/v1/import") && route.method == Method::POST
        };
        for route in routes().into_iter().filter(|route| !makes(route)) {
            for who in [Who::Other(Some(SessionRole::Watch)), Who::Visitor] {
                ask(&desk, &route, who, session.as_str(), &agent).await;
                let at = format!("{} {} as {who:?}", route.method, route.path);
                assert_eq!(desk.state.counts().opened.get(), opened, "{at}");
                assert_eq!(node.info(&session).await.unwrap().last_seq, before, "{at}");
            }
        }
        let events = format!("/v1/sessions/{session}/events");
        let stream = || desk.get(&events).header("accept", "text/event-stream");
        for ask in [stream(), stream().by(&desk.bob)] {
            assert_eq!(ask.open().await.status(), StatusCode::OK);
            assert_eq!(desk.state.counts().opened.get(), opened);
        }
        let by_owner = stream().by(&desk.ann).open().await;
        assert_eq!(by_owner.status(), StatusCode::OK);
        assert_eq!(
            desk.state.counts().opened.get(),
            opened + 1,
            "who may act continues it"
        );
    });
}

/// A stranger gets the same answer about a session that exists and one that does not, except for its id.
#[tokio::test]
async fn a_session_of_another_is_answered_as_if_there_were_none() {
    let desk = Desk::new().await;
    let agent = desk.agent().await;
    let there = desk.session(&desk.ann).await;
    let nowhere = format!("ses_{}", "0".repeat(there.len() - 4));
    let about_session =
        |route: &ListedRoute| route.path.contains("/sessions/{id}") || route.path.contains("blobs");
    for route in routes().into_iter().filter(about_session) {
        let who = Who::Other(None);
        let one = ask(&desk, &route, who, &there, &agent).await;
        let other = ask(&desk, &route, who, &nowhere, &agent).await;
        let at = format!("{} {}", route.method, route.path);
        assert_eq!(one.status, StatusCode::NOT_FOUND, "{at}");
        assert_eq!(other.status, StatusCode::NOT_FOUND, "{at}");
        let text = String::from_utf8_lossy(&one.body).replace(&there, &nowhere);
        assert_eq!(text, String::from_utf8_lossy(&other.body), "{at}");
        let names = |reply: &Reply| {
            let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        assert_eq!(names(&one), names(&other), "{at}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_everywhere_but_where_nothing_is_told() {
    let desk = Desk::new().await;
    let agent = desk.agent().await;
    let session = desk.session(&desk.ann).await;
    for route in routes().into_iter().filter(|route| {
        !matches!(route.path, "/v1/health" | "/v1/openapi.json") && route.method != Method::DELETE
    }) {
        let (body, query) = sample(&route, &agent, &session);
        let path = route.path.replace("{id}", &session) + &query;
        let ask = desk.ask(route.method.clone(), &path).by(&desk.ann).json(&body);
        let reply = ask.header("origin", "https://elsewhere.example").send().await;
        assert_eq!(reply.code(), "bad_origin", "{} {}", route.method, route.path);
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_may_ask() {
    let mut options = wide();
    options.allow_origins = vec!["https://page.example".to_owned()];
    let desk = Desk::with(options).await;
    let before = desk
        .ask(Method::OPTIONS, "/v1/sessions")
        .header("origin", "https://page.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type");
    let before = before.send().await;
    assert_eq!(before.status, StatusCode::OK);
    assert_eq!(
        before.header("access-control-allow-origin"),
        "https://page.example"
    );
    let asked = desk
        .get("/v1/me")
        .by(&desk.ann)
        .header("origin", "https://page.example");
    let asked = asked.send().await.ok();
    assert_eq!(
        asked.header("access-control-allow-origin"),
        "https://page.example"
    );
    assert_eq!(asked.json()["name"], "Ann");
}

#[tokio::test]
async fn a_challenge_is_answered_once_and_by_its_key() {
    let desk = Desk::new().await;
    let keyring = agentx_identity::Keyring::open(&desk.state.settings().data_dir).unwrap();
    let key = keyring.identity().unwrap().unwrap();
    let answer = desk.answer(&key).await;
    let mut forged = answer.clone();
    forged["expires_at_ms"] = json!(answer["expires_at_ms"].as_u64().unwrap() + 60_000);
    let later = desk.answer(&key).await;
    for (body, code) in [
        (&forged, "stale_challenge"),
        (&later, ""),
        (&later, "stale_challenge"),
        (&answer, "stale_challenge"),
    ] {
        let reply = desk.post("/v1/auth/token", body).send().await;
        match code {
            "" => drop(reply.ok()),
            code => assert_eq!(reply.code(), code),
        }
    }
    let stranger = agentx_identity::SecretKey::generate().unwrap();
    let answer = desk.answer(&stranger).await;
    let reply = desk.post("/v1/auth/token", &answer).send().await;
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (StatusCode::FORBIDDEN, "unknown_person")
    );
    let mut other_key = desk.answer(&stranger).await;
    other_key["public_key"] = json!(key.public_key().to_string());
    let reply = desk.post("/v1/auth/token", &other_key).send().await;
    assert_eq!(reply.code(), "bad_signature");
    assert_eq!(reply.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn a_key_that_cannot_sign_in_is_told_why() {
    let desk = Desk::new().await;
    let stranger = agentx_identity::SecretKey::generate().unwrap();
    // The neutral element of the curve: for it, anybody can make a signature that the library accepts.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let small_order = agentx_identity::PublicKey::from_bytes(neutral).to_string();
    for (field, value, said) in [
        (
            "public_key",
            small_order.as_str(),
            "anybody could sign for it (it is a point of small order)",
        ),
        ("public_key", "ed25519:short", "43 characters of base64url"),
        ("public_key", "ssh-rsa AAAA", "unsupported key type ssh-rsa"),
        ("public_key", "somebody", "expected `ed25519:…`"),
        ("signature", "short", "86 characters of base64url"),
    ] {
        let mut answer = desk.answer(&stranger).await;
        answer[field] = json!(value);
        let refused = desk.post("/v1/auth/token", &answer).send().await;
        assert_eq!(refused.code(), "bad_signature", "{field} {value}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with(&format!("{field}: ")) && detail.contains(said),
            "{detail}"
        );
    }
}
