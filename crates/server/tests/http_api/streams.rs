//! Events as pages and as streams: the same events either way, and a stream continues where it broke off.

use axum::body::BodyDataStream;
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::http_api::desk::{Ask, Desk, wide};

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    id: Option<String>,
    event: String,
    data: Value,
}

/// A stream that is read.
struct Reading {
    body: BodyDataStream,
    text: String,
}

impl Reading {
    async fn open(ask: Ask<'_>) -> Self {
        let response = ask.header("accept", "text/event-stream").open().await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(response.headers().get("content-encoding").is_none());
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Said> {
        loop {
            if let Some((said, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = said.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|line| line.strip_prefix(": ").unwrap().to_owned())
                };
                let said = field("event").map(|event| Said {
                    id: field("id"),
                    event,
                    data: serde_json::from_str(&field("data").unwrap()).unwrap(),
                });
                self.text = rest.to_owned();
                match said {
                    Some(said) => return Some(said),
                    None => continue,
                }
            }
            let bytes = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn until(&mut self, event: &str) -> Vec<Said> {
        let mut all = Vec::new();
        loop {
            let said = self.next().await.unwrap_or_else(|| panic!("no {event}: {all:?}"));
            let is_it = said.event == event;
            all.push(said);
            if is_it {
                return all;
            }
        }
    }
}

async fn pages(desk: &Desk, session: &str, view: &str, limit: usize) -> Vec<Value> {
    let (mut after, mut all) = (0, Vec::new());
    loop {
        let path = format!("/v1/sessions/{session}/events?view={view}&limit={limit}&after_seq={after}");
        let page = desk.get(&path).by(&desk.ann).send().await.ok().json();
        all.extend(page["items"].as_array().unwrap().clone());
        match page["next_after_seq"].as_u64() {
            Some(next) => after = next,
            None => return all,
        }
    }
}

#[tokio::test]
async fn a_page_and_a_stream_have_the_same_events() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    // So long that later pages continue from earlier ones.
    for _ in 0..16 {
        desk.say(&desk.ann, &session, json!("hello")).await;
    }
    for view in ["environment", "runtime", "ui"] {
        let at_once = pages(&desk, &session, view, 10_000).await;
        assert!(!at_once.is_empty());
        assert_eq!(pages(&desk, &session, view, 3).await, at_once, "{view}");
        let path = format!("/v1/sessions/{session}/events?view={view}");
        let mut reading = Reading::open(desk.get(&path).by(&desk.ann)).await;
        let said = reading.until("caught_up").await;
        let frames: Vec<Value> = said
            .iter()
            .filter(|said| said.id.is_some())
            .map(|said| said.data.clone())
            .collect();
        assert_eq!(frames, at_once, "{view}");
        assert!(said.iter().all(|said| said.data["event"] == json!(said.event)));
    }
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("hello")).await;
    for view in ["environment", "runtime"] {
        let path = format!("/v1/sessions/{session}/events?view={view}");
        let open = |id: Option<String>| {
            let ask = desk.get(&path).by(&desk.ann);
            match id {
                Some(id) => ask.header("last-event-id", &id),
                None => ask,
            }
        };
        let mut whole = Reading::open(open(None)).await;
        let whole = whole.until("caught_up").await;
        let events: Vec<&Said> = whole.iter().filter(|said| said.id.is_some()).collect();
        for (at, said) in events.iter().enumerate() {
            let mut rest = Reading::open(open(said.id.clone())).await;
            let rest = rest.until("caught_up").await;
            let rest: Vec<&Said> = rest.iter().filter(|said| said.id.is_some()).collect();
            assert_eq!(rest, events[at + 1..], "{view} after {:?}", said.id);
        }
    }
    let path = format!("/v1/sessions/{session}/events");
    let ask = || {
        desk.get(&path)
            .by(&desk.ann)
            .header("accept", "text/event-stream")
    };
    assert_eq!(
        ask().header("last-event-id", "x").send().await.code(),
        "bad_request"
    );
    let ahead = ask().header("last-event-id", "999999").send().await;
    assert_eq!(ahead.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn what_happens_is_seen_as_it_happens_and_who_may_no_longer_is_told() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.share(&desk.ann, &session, &desk.bob_id, json!("watch"))
        .await;
    let path = format!("/v1/sessions/{session}/events");
    let mut reading = Reading::open(desk.get(&path).by(&desk.bob)).await;
    reading.until("caught_up").await;
    desk.say(&desk.ann, &session, json!("hello")).await;
    let seen = reading.until("run_finished").await;
    assert!(seen.iter().any(|said| said.event == "text_delta"));
    desk.share(&desk.ann, &session, &desk.bob_id, Value::Null).await;
    let last = reading.until("unsubscribed").await;
    assert_eq!(
        last.last().unwrap().data["payload"]["problem"]["code"],
        "no_session"
    );
    assert_eq!(reading.next().await, None);
}

#[tokio::test]
async fn a_quiet_stream_beats_and_ends_with_the_server() {
    let mut options = wide();
    options.limits.heartbeat = std::time::Duration::from_millis(20);
    options.limits.connections_per_person = 1;
    let desk = Desk::with(options).await;
    let session = desk.session(&desk.ann).await;
    let path = format!("/v1/sessions/{session}/events");
    let mut reading = Reading::open(desk.get(&path).by(&desk.ann)).await;
    let beat = reading.until("ping").await;
    assert!(beat.last().unwrap().data["payload"]["at"].as_i64().unwrap() > 0);
    let second = desk
        .get(&path)
        .by(&desk.ann)
        .header("accept", "text/event-stream");
    let second = second.send().await;
    assert_eq!(
        (second.status, second.code().as_str()),
        (StatusCode::TOO_MANY_REQUESTS, "too_many")
    );
    desk.state.shutdown().cancel();
    let bye = reading.until("bye").await;
    assert_eq!(bye.last().unwrap().data["payload"]["code"], 1001);
    assert_eq!(reading.next().await, None);
    assert_eq!(desk.get("/v1/me").by(&desk.ann).send().await.code(), "closing");
}
