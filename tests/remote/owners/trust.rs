//! People whom the operator no longer trusts: their tokens and connections are invalid from then on, and
//! nothing that happens later reaches them.

use agentx_tests::BOUND;
use serde_json::json;

use super::stage::{Actor, Stage};

/// A token counts for an hour, and a connection as long as it is there; both end with the trust.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_trusted_no_more_gets_nothing_from_then_on() {
    let stage = Stage::new(false).await;
    let owner = stage.web(Actor::Owner).await;
    let watcher = stage.web(Actor::Watcher).await;
    watcher.get("/v1/me").await;
    let mut asking = stage.socket(Actor::Watcher).await.unwrap();
    asking.ask("ping", json!({})).await;
    let mut reading = stage.socket(Actor::Watcher).await.unwrap();
    reading.subscribe(&stage.session, 0, "environment").await;
    reading.event("caught_up").await;
    let mut stream = watcher.follow(&stage.session, "environment", None).await.unwrap();
    while stream.next(BOUND).await.unwrap().event != "caught_up" {}

    stage.untrust(Actor::Watcher);
    let answered = watcher.ask("GET", "/v1/me", None).await;
    assert_eq!(
        (answered.status, answered.code().as_str()),
        (401, "unauthenticated")
    );
    let message = json!({"session_id": stage.session, "content": "late"});
    let refused = asking.try_ask("user_message", message).await;
    assert!(refused.is_err(), "the connection is still there: {refused:?}");
    // Only the others get the messages from now on.
    owner.say(&stage.session, "afterwards", "k").await.done();
    let (heard, why) = reading.is_closed().await;
    assert!(why.contains("this server no longer trusts this key"), "{why}");
    for frame in heard {
        assert!(!frame.to_string().contains("afterwards"), "{frame}");
    }
    loop {
        let sent = stream.next(BOUND).await.unwrap();
        assert!(!sent.data.contains("afterwards"), "{}", sent.data);
        if sent.event == "unsubscribed" {
            assert!(sent.data.contains("unauthenticated"), "{}", sent.data);
            break;
        }
    }
    // They cannot come back, and the others in the session do not notice.
    let again = stage.socket(Actor::Watcher).await;
    assert!(again.is_err(), "let in again");
    assert_eq!(
        stage
            .web(Actor::Driver)
            .await
            .ask("GET", "/v1/me", None)
            .await
            .status,
        200
    );
    stage.server.stop().exits(0);
}
