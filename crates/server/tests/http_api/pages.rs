//! The login of a web page: a code that counts once becomes a token, which opens what its person may open,
//! over a restart, until the person takes it back.

use agentx_identity::{Keyring, PAGE_TOKEN};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply};

/// Exchanges a code for the token of a page.
async fn log_in(desk: &Desk, code: &str, name: &str) -> Reply {
    let login = json!({"code": code, "name": name});
    desk.post("/v1/auth/page", &login).send().await
}

/// Returns a code for another browser of the holder of this token.
async fn code_of(desk: &Desk, token: &str) -> String {
    let made = desk.post("/v1/auth/code", &json!({})).by(token).send().await.ok();
    made.json()["code"].as_str().unwrap().to_owned()
}

/// Returns the token of a new page of the holder of this token, as the page gets it.
async fn page_of(desk: &Desk, token: &str) -> Value {
    let code = code_of(desk, token).await;
    log_in(desk, &code, "Firefox-Linux").await.ok().json()
}

/// Returns who the server takes the holder of this token for.
async fn me(desk: &Desk, token: &str) -> Reply {
    desk.get("/v1/me").by(token).send().await
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

#[tokio::test]
async fn the_address_of_the_operators_page_signs_in_once() {
    let desk = Desk::new().await;
    let address = desk.server.as_ref().unwrap().page_address().unwrap();
    let (origin, code) = address.split_once("/#code=").unwrap();
    assert_eq!(origin, desk.state.auth().origin());
    let page = log_in(&desk, code, "Firefox-Linux").await.ok().json();
    let token = text(&page, "token");
    assert!(token.starts_with(PAGE_TOKEN));
    assert_eq!(me(&desk, token).await.ok().json()["person"], "own_local");
    let reactors = desk.get("/v1/reactors").by(token).send().await;
    assert_eq!(
        reactors.status,
        StatusCode::OK,
        "the operator's page may do what the operator may"
    );
    let again = log_in(&desk, code, "Firefox-Linux").await;
    assert_eq!(
        (again.status, again.code()),
        (StatusCode::UNAUTHORIZED, "stale_challenge".into())
    );
}

#[tokio::test]
async fn a_code_is_refused_unless_the_server_made_it() {
    let desk = Desk::new().await;
    let code = code_of(&desk, &desk.ann).await;
    let wrong = [code.to_ascii_uppercase(), String::new(), format!("{code}x")];
    for wrong in wrong {
        assert_eq!(log_in(&desk, &wrong, "Firefox").await.code(), "stale_challenge");
    }
    let nameless = log_in(&desk, &code, "Fire fox").await;
    assert_eq!(nameless.code(), "bad_request");
    log_in(&desk, &code, "Firefox").await.ok();
}

#[tokio::test]
async fn a_page_of_a_member_is_a_member() {
    let desk = Desk::new().await;
    let page = page_of(&desk, &desk.ann).await;
    let token = text(&page, "token");
    assert_eq!(me(&desk, token).await.ok().json()["person"], desk.ann_id.as_str());
    let session = desk.session(token).await;
    let of_bob = desk
        .get(&format!("/v1/sessions/{session}"))
        .by(&desk.bob)
        .send()
        .await;
    assert_eq!(of_bob.code(), "no_session");
    let reactors = desk.get("/v1/reactors").by(token).send().await;
    assert_eq!(reactors.code(), "denied");
}

#[tokio::test]
async fn a_page_ends_when_its_person_takes_its_token_back() {
    let desk = Desk::new().await;
    let page = page_of(&desk, &desk.ann).await;
    let (token, id) = (text(&page, "token"), text(&page, "id"));
    let listed = desk.get("/v1/tokens").by(&desk.ann).send().await.ok().json();
    assert_eq!((&listed[0]["id"], &listed[0]["page"]), (&json!(id), &json!(true)));
    assert_eq!(listed[0]["name"], "Firefox-Linux");
    assert!(!listed.to_string().contains(token), "it is shown once");
    let path = format!("/v1/tokens/{id}");
    let by_bob = desk.ask(Method::DELETE, &path).by(&desk.bob).send().await;
    assert_eq!(by_bob.code(), "not_found");
    me(&desk, token).await.ok();
    // A page signs itself out in this way.
    let gone = desk.ask(Method::DELETE, &path).by(token).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(me(&desk, token).await.code(), "unauthenticated");
}

#[tokio::test]
async fn a_page_ends_when_the_operator_stops_trusting_its_person() {
    let desk = Desk::new().await;
    let page = page_of(&desk, &desk.ann).await;
    let code = code_of(&desk, &desk.ann).await;
    let keyring = Keyring::at(&desk.state.settings().data_dir);
    let people = keyring.everybody();
    let (key, _) = people
        .iter()
        .find(|(_, known)| known.owner.as_str() == desk.ann_id)
        .unwrap();
    keyring.untrust(key).unwrap();
    assert_eq!(me(&desk, text(&page, "token")).await.code(), "unauthenticated");
    assert_eq!(log_in(&desk, &code, "Firefox").await.code(), "stale_challenge");
}

#[tokio::test]
async fn a_page_may_have_any_name_of_its_server_as_origin_and_no_other() {
    let desk = Desk::new().await;
    for (host, origin, refused) in [
        ("localhost:5200", "http://localhost:5200", false),
        ("127.0.0.1:7000", "http://127.0.0.1:7000", false),
        ("localhost:5200", "https://LOCALHOST:5200", false),
        ("localhost:5200", "http://localhost:5201", true),
        ("localhost:5200", "http://127.0.0.1:5200", true),
        ("localhost:5200", "http://evil.example", true),
        ("localhost:5200", "localhost:5200", true),
        ("localhost:5200", "null", true),
    ] {
        let ask = desk.get("/v1/me").by(&desk.ann);
        let reply = ask.header("host", host).header("origin", origin).send().await;
        let is_refused = reply.status == StatusCode::FORBIDDEN;
        assert_eq!(is_refused, refused, "{origin} at {host}: {}", reply.status);
    }
}
