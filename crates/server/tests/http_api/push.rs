//! Web Push against a push service of the test: what it gets is signed and encrypted for the page, has ids
//! and no text, and comes only while nobody of the person looks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agentx_runtime::EventCursor;
use agentx_types::SessionId;
use agentx_types::wire::WireView;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, agree_ephemeral};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::http_api::desk::{Desk, Reply, wide};
use crate::http_api::members::Place;
use crate::support::within;

/// The secret of a page.
const AUTH: [u8; 16] = [7; 16];

/// A request that the push service got.
struct GotPush {
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

/// The statuses of the next answers, then 201; and where requests go.
type ServiceParts = (Arc<Mutex<VecDeque<u16>>>, mpsc::UnboundedSender<GotPush>);

async fn take(
    State((statuses, got)): State<ServiceParts>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let path = uri.path().to_owned();
    got.send(GotPush { path, headers, body }).unwrap();
    let status = statuses.lock().unwrap().pop_front().unwrap_or(201);
    StatusCode::from_u16(status).unwrap()
}

/// A server that pushes, and a push service on this machine.
struct Pushing {
    desk: Desk,
    address: String,
    got: mpsc::UnboundedReceiver<GotPush>,
    statuses: Arc<Mutex<VecDeque<u16>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Pushing {
    async fn new() -> Self {
        let (sender, got) = mpsc::unbounded_channel();
        let statuses = Arc::<Mutex<VecDeque<u16>>>::default();
        let service = Router::new()
            .fallback(take)
            .with_state((statuses.clone(), sender));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = axum::serve(listener, service);
        let mut desk = Desk::set(wide(), |settings| {
            settings.push_hosts = vec!["127.0.0.1".to_owned()]
        })
        .await;
        let server = desk.server.take().unwrap();
        let tasks = vec![
            tokio::spawn(async move { serving.await.unwrap() }),
            tokio::spawn(async move { server.run(std::future::pending()).await.unwrap() }),
        ];
        Self {
            desk,
            address,
            got,
            statuses,
            tasks,
        }
    }

    /// Subscribes the page with this token. Its key decrypts one message.
    async fn subscribe(&self, page: &str, path: &str) -> EphemeralPrivateKey {
        let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let endpoint = format!("{}{path}", self.address);
        subscribed(&self.desk, page, &endpoint, &key).await.ok();
        key
    }

    async fn next(&mut self) -> GotPush {
        within(self.got.recv()).await.unwrap()
    }

    /// Has the agent of a new session of the owner of this token ask about a command. Returns the session and
    /// the call.
    async fn asks(&self, token: &str) -> (String, String) {
        let place = Place {
            desk: &self.desk,
            session: self.desk.session(token).await,
            canary: self.desk.directory.path().join("canary"),
        };
        let words = format!("run touch {}", place.canary.display());
        let call = place.say(token, &words).await.unwrap();
        (place.session, call)
    }
}

impl Drop for Pushing {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn subscribed(desk: &Desk, page: &str, endpoint: &str, key: &EphemeralPrivateKey) -> Reply {
    let public = key.compute_public_key().unwrap();
    let keys = json!({"p256dh": URL_SAFE_NO_PAD.encode(public), "auth": URL_SAFE_NO_PAD.encode(AUTH)});
    let wish = json!({"endpoint": endpoint, "keys": keys, "expirationTime": null});
    desk.post("/v1/push", &wish).by(page).send().await
}

/// Returns the token of a new page of the holder of this token, and its id.
async fn page_of(desk: &Desk, token: &str) -> (String, String) {
    let code = desk.post("/v1/auth/code", &json!({})).by(token).send().await.ok();
    let login = json!({"code": code.json()["code"], "name": "Phone"});
    let page = desk.post("/v1/auth/page", &login).send().await.ok().json();
    let text = |name: &str| page[name].as_str().unwrap().to_owned();
    (text("token"), text("id"))
}

async fn status(desk: &Desk, page: &str) -> Value {
    desk.get("/v1/push").by(page).send().await.ok().json()
}

fn extend(key: &[u8], text: &[&[u8]]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, &text.concat()).as_ref().to_vec()
}

/// Decrypts a message as a browser does (RFC 8291), which knows nothing of how the server encrypts.
fn decrypt(key: EphemeralPrivateKey, body: &[u8]) -> Value {
    let (salt, rest) = body.split_at(16);
    let (size, rest) = rest.split_at(4);
    let (server, record) = rest[1..].split_at(usize::from(rest[0]));
    assert_eq!((size, server.len()), (&4_096_u32.to_be_bytes()[..], 65));
    let own = key.compute_public_key().unwrap();
    let theirs = ring::agreement::UnparsedPublicKey::new(&ECDH_P256, server);
    let agreed = agree_ephemeral(key, &theirs, <[u8]>::to_vec).unwrap();
    let input = extend(&AUTH, &[&agreed]);
    let input = extend(&input, &[b"WebPush: info\0", own.as_ref(), server, &[1]]);
    let derived = extend(salt, &[&input]);
    let cipher = extend(&derived, &[b"Content-Encoding: aes128gcm\0", &[1]]);
    let nonce = extend(&derived, &[b"Content-Encoding: nonce\0", &[1]]);
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &cipher[..16]).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(&nonce[..12]).unwrap();
    let mut record = record.to_vec();
    let text = cipher.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
    let (end, text) = text.split_last().unwrap();
    assert_eq!(*end, 2, "it is the last record");
    serde_json::from_slice(text).unwrap()
}

fn header<'a>(push: &'a GotPush, name: &str) -> &'a str {
    push.headers[name].to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_is_signed_and_has_the_ids_of_what_waits_and_nothing_else() {
    let mut pushing = Pushing::new().await;
    let (page, _) = page_of(&pushing.desk, &pushing.desk.operator).await;
    let before = status(&pushing.desk, &page).await;
    assert_eq!(before["subscribed"], false);
    let key = pushing.subscribe(&page, "/one").await;
    assert_eq!(status(&pushing.desk, &page).await["subscribed"], true);

    let (session, call) = pushing.asks(&pushing.desk.operator).await;
    let push = pushing.next().await;
    assert_eq!(push.path, "/one");
    for (name, value) in [
        ("content-encoding", "aes128gcm"),
        ("urgency", "high"),
        ("ttl", "86400"),
    ] {
        assert_eq!(header(&push, name), value);
    }
    assert!(header(&push, "topic").len() <= 32);
    let signed = header(&push, "authorization").strip_prefix("vapid t=").unwrap();
    let (token, public) = signed.split_once(", k=").unwrap();
    assert_eq!(json!(public), before["public_key"]);
    let (text, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(public));
    verifier.verify(text.as_bytes(), &decode(signature)).unwrap();
    let claims = text.split_once('.').unwrap().1;
    let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
    assert_eq!(claims["aud"], pushing.address.as_str());

    let ids = json!({"session_id": session, "tool_call_id": call});
    assert_eq!(decrypt(key, &push.body), ids);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_connected_to_the_session_gets_a_push_only_after_they_left() {
    let mut pushing = Pushing::new().await;
    let (page, _) = page_of(&pushing.desk, &pushing.desk.operator).await;
    let place = Place {
        desk: &pushing.desk,
        session: pushing.desk.session(&pushing.desk.operator).await,
        canary: pushing.desk.directory.path().join("canary"),
    };
    let caller = pushing.desk.caller(&pushing.desk.operator, "desk");
    let id = SessionId::new(&place.session);
    let start = (EventCursor::after(0), WireView::Runtime, None);
    let here = pushing
        .desk
        .state
        .follow(&caller, &id, start, None)
        .await
        .unwrap();
    place
        .say(&pushing.desk.operator, "run touch made-up")
        .await
        .unwrap();
    let watched = place.session;

    // Two sessions that nobody is connected to: when the second one is pushed, all three were looked at.
    for _ in 0..2 {
        let key = pushing.subscribe(&page, "/phone").await;
        let (session, _) = pushing.asks(&pushing.desk.operator).await;
        let push = pushing.next().await;
        assert_eq!(decrypt(key, &push.body)["session_id"], session.as_str());
    }
    let key = pushing.subscribe(&page, "/phone").await;
    drop(here);
    let push = pushing.next().await;
    assert_eq!(decrypt(key, &push.body)["session_id"], watched.as_str());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_may_allow_a_call_gets_a_push_about_it() {
    let mut pushing = Pushing::new().await;
    let desk = &pushing.desk;
    for (token, path) in [
        (&desk.ann, "/ann"),
        (&desk.bob, "/bob"),
        (&desk.vera, "/vera"),
        (&desk.operator, "/operator"),
    ] {
        let (page, _) = page_of(desk, token).await;
        pushing.subscribe(&page, path).await;
    }
    // The operator's settings ask about what Ann's agent runs.
    pushing.asks(&pushing.desk.ann).await;
    let mut paths = [pushing.next().await.path, pushing.next().await.path];
    paths.sort();
    assert_eq!(paths, ["/operator", "/vera"]);
    // Everybody has been looked at by then, so what comes next is of the next question.
    pushing.asks(&pushing.desk.operator).await;
    assert_eq!(pushing.next().await.path, "/operator");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_that_fails_is_sent_again_and_a_subscription_that_is_gone_is_removed() {
    let mut pushing = Pushing::new().await;
    let (page, _) = page_of(&pushing.desk, &pushing.desk.operator).await;
    pushing.statuses.lock().unwrap().extend([503, 410]);
    pushing.subscribe(&page, "/one").await;
    let (session, call) = pushing.asks(&pushing.desk.operator).await;
    for _ in 0..2 {
        assert_eq!(pushing.next().await.path, "/one");
    }
    let is_gone = async {
        while status(&pushing.desk, &page).await["subscribed"] == json!(true) {
            tokio::task::yield_now().await;
        }
    };
    within(is_gone).await;
    // Nothing is lost: the call waits for its answer.
    let answer = json!({"tool_call_id": call, "decision": "deny"});
    let path = format!("/v1/sessions/{session}/approvals");
    let answered = pushing.desk.post(&path, &answer).by(&page).send().await;
    assert!(answered.status.is_success(), "{}", answered.status);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_ends_with_the_login_of_its_page() {
    let mut pushing = Pushing::new().await;
    let (first, first_id) = page_of(&pushing.desk, &pushing.desk.operator).await;
    let (second, _) = page_of(&pushing.desk, &pushing.desk.operator).await;
    let (third, _) = page_of(&pushing.desk, &pushing.desk.operator).await;
    for (page, path) in [(&first, "/first"), (&second, "/second"), (&third, "/third")] {
        pushing.subscribe(page, path).await;
    }
    let revoked = format!("/v1/tokens/{first_id}");
    let revoked = pushing.desk.ask(Method::DELETE, &revoked).by(&second);
    revoked.send().await.ok();
    let ended = pushing.desk.ask(Method::DELETE, "/v1/push").by(&second);
    ended.send().await.ok();
    assert_eq!(status(&pushing.desk, &second).await["subscribed"], false);
    for _ in 0..2 {
        pushing.asks(&pushing.desk.operator).await;
        assert_eq!(pushing.next().await.path, "/third");
    }
}

#[tokio::test]
async fn an_endpoint_in_a_local_network_is_refused_and_so_is_who_has_no_page() {
    let desk = Desk::new().await;
    let (page, _) = page_of(&desk, &desk.ann).await;
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    for endpoint in [
        "https://127.0.0.1/x",
        "https://192.168.0.1/x",
        "https://[fd00::1]/x",
        "https://localhost/x",
        "https://metadata.google.internal/x",
        "https://printer.local/x",
        "http://push.example.org/x",
        "https://me:pw@push.example.org/x",
        "x",
    ] {
        let refused = subscribed(&desk, &page, endpoint, &key).await;
        assert_eq!(refused.code(), "bad_request", "{endpoint}");
    }
    let wish = json!({"endpoint": "https://push.example.org/x", "keys": {"p256dh": "x", "auth": "x"}});
    let refused = desk.post("/v1/push", &wish).by(&page).send().await;
    assert_eq!(refused.code(), "bad_request");
    let no_page = subscribed(&desk, &desk.ann, "https://push.example.org/x", &key).await;
    assert_eq!(no_page.code(), "refused");
    subscribed(&desk, &page, "https://push.example.org/x", &key)
        .await
        .ok();
    assert_eq!(status(&desk, &page).await["subscribed"], true);
    assert_eq!(status(&desk, &desk.ann).await["subscribed"], false);
}
