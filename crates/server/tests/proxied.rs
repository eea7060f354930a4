//! Clients behind a proxy that the operator trusts are counted each for themselves; nobody else's word
//! counts.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use agentx_config::Settings;
use agentx_types::{ApprovalMode, SessionId};
use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, http::StatusCode};

use crate::support::*;

async fn world(trusted: &str, change: impl FnOnce(&mut Settings)) -> World {
    let mut options = options();
    options.allow_visitors = true;
    options.limits.connections_per_address = 2;
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    World::set(data, options, |settings| {
        settings.trusted_proxies = vec![trusted.to_owned()];
        change(settings);
    })
    .await
}

/// A socket of somebody for whom the proxy says where they are.
async fn from(world: &World, address: &str) -> Result<Client, StatusCode> {
    let mut request = socket_url(&world.url).into_client_request().unwrap();
    request
        .headers_mut()
        .insert("x-forwarded-for", format!("6.6.6.6, {address}").parse().unwrap());
    match within(tokio_tungstenite::connect_async(request)).await {
        Ok((socket, _)) => Ok(Client::of(socket)),
        Err(Error::Http(response)) => Err(response.status()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn connections_count_for_whom_a_trusted_proxy_names() {
    let world = world("127.0.0.0/8", |_| {}).await;
    let mut first = from(&world, "192.0.2.1").await.unwrap();
    let _second = from(&world, "192.0.2.1").await.unwrap();
    assert_eq!(
        from(&world, "192.0.2.1").await.err(),
        Some(StatusCode::TOO_MANY_REQUESTS)
    );
    for n in 2..8 {
        assert!(
            from(&world, &format!("192.0.2.{n}")).await.is_ok(),
            "another address"
        );
    }
    // Who says who they are counts for themselves.
    let hello = first.notice("hello").await;
    first.authenticate(&hello, &world.operator, "desk").await;
    assert!(from(&world, "192.0.2.1").await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn nobody_else_says_where_they_are() {
    let world = world("192.0.2.0/24", |_| {}).await;
    let _here = [
        from(&world, "192.0.2.1").await.unwrap(),
        from(&world, "192.0.2.2").await.unwrap(),
    ];
    let mut idle = tokio::net::TcpStream::connect(world.url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let mut heard = String::new();
    let reading = tokio::io::AsyncReadExt::read_to_string(&mut idle, &mut heard);
    within(reading).await.unwrap();
    assert!(
        heard.starts_with("HTTP/1.1 429"),
        "both counted for their own address: {heard}"
    );
    world.end().await;
}

/// Somebody there who says that they are nobody; the answer is not read yet.
async fn visit(world: &World, address: &str) -> Client {
    let mut client = from(world, address).await.unwrap();
    client.notice("hello").await;
    client
        .send("authenticate", serde_json::json!({"client": "web"}))
        .await;
    client
}

#[tokio::test]
async fn visitors_of_all_addresses_have_half_of_the_connections() {
    let mut options = options();
    options.allow_visitors = true;
    options.limits.connections = 4;
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let trusted = |settings: &mut Settings| settings.trusted_proxies = vec!["127.0.0.1".into()];
    let world = World::set(data, options, trusted).await;
    let mut visitors = Vec::new();
    for address in ["192.0.2.1", "192.0.2.2"] {
        let mut visitor = visit(&world, address).await;
        assert_eq!(visitor.answer("c1").await["event"], "accepted", "{address}");
        visitors.push(visitor);
    }
    let mut third = visit(&world, "192.0.2.3").await;
    assert_eq!(
        third.bye().await["code"],
        1013,
        "the other half is not for visitors"
    );
    drop(third);
    // There is room for who is known, and for as many visitors as before.
    let mut desk = world.client("desk").await;
    desk.accepted("ping", serde_json::json!({})).await;
    for visitor in &mut visitors {
        visitor.accepted("ping", serde_json::json!({})).await;
    }
    world.end().await;
}

#[tokio::test]
async fn the_operator_sets_the_share_of_visitors_and_the_turns_of_a_person() {
    let mut options = options();
    options.allow_visitors = true;
    options.limits.connections = 4;
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let world = World::set(data, options, |settings| {
        settings.trusted_proxies = vec!["127.0.0.1".into()];
        settings.quotas.visitor_share = 25;
        settings.quotas.turns = 2;
    })
    .await;
    let mut first = visit(&world, "192.0.2.1").await;
    assert_eq!(first.answer("c1").await["event"], "accepted");
    let mut second = visit(&world, "192.0.2.2").await;
    assert_eq!(second.bye().await["code"], 1013, "a quarter is for visitors");
    drop(second);
    let mut settings = Settings::clone(&world.state.settings());
    settings.quotas.visitor_share = 100;
    settings.quotas.turns = 3;
    world.state.renew(&settings).await;
    let mut second = visit(&world, "192.0.2.2").await;
    assert_eq!(
        second.answer("c1").await["event"],
        "accepted",
        "it applies at once"
    );
    let turn = || world.state.answer_turns().take(&"own_ann".into()).now_or_never();
    let held = [turn(), turn(), turn()];
    let taken: Vec<bool> = held.iter().map(Option::is_some).collect();
    assert_eq!(taken, [true, true, false], "turns apply after a restart");
    world.end().await;
}

#[tokio::test]
async fn visitors_are_counted_by_address_and_members_by_person() {
    let world = world("127.0.0.1", |settings| {
        settings.quotas.visitor_connections = Some(1);
        settings.quotas.connections = Some(1);
    })
    .await;
    let mut one = visit(&world, "192.0.2.1").await;
    one.answer("c1").await;
    assert_eq!(visit(&world, "192.0.2.1").await.bye().await["code"], 1013);
    visit(&world, "192.0.2.2").await.answer("c1").await;
    let (ann, _) = world.member("ann");
    let mut first = from(&world, "192.0.2.3").await.unwrap();
    let hello = first.notice("hello").await;
    first.authenticate(&hello, &ann, "one").await;
    let mut second = from(&world, "192.0.2.4").await.unwrap();
    let hello = second.notice("hello").await;
    let answer = second.authenticate_unheard(&hello, &ann, "two").await;
    assert_eq!(answer["code"], 1013);
    for n in 0..3 {
        world.client(&format!("desk{n}")).await;
    }
    world.end().await;
}

/// Requests the state of a session over HTTP, with a trusted proxy that reports the client's address as
/// `address`; returns the head of the answer.
async fn state_from(world: &World, session: &SessionId, address: &str) -> String {
    let host = world.url.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(host).await.unwrap();
    let request = format!(
        "GET /v1/sessions/{session}/state HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn visitors_of_one_address_wait_for_each_other_and_no_others_for_them() {
    let world = world("127.0.0.1", |_| {}).await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.share(&session, agentx_types::VISITORS, Some("watch")).await;
    // As long as somebody there reads a large answer slowly.
    let held = world
        .state
        .answer_turns()
        .take(&"visitors at 192.0.2.1".into())
        .await;
    let mut same = Box::pin(state_from(&world, &session, "192.0.2.1"));
    tokio::select! {
        biased;
        answer = &mut same => panic!("it did not wait: {answer}"),
        answer = within(state_from(&world, &session, "192.0.2.2")) => assert_eq!(answer, "HTTP/1.1 200 OK"),
    }
    drop(held);
    assert_eq!(within(same).await, "HTTP/1.1 200 OK");
    world.end().await;
}
