//! A session that cannot be read is in nobody's way: the others continue, lists are shown, and the operator
//! gets rid of it.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

use agentx_node_runtime::DATABASE;
use agentx_server::Caller;
use agentx_types::{ApprovalMode, OwnerId, Seat, SessionId};

use crate::support::*;

fn caller(person: &OwnerId, operator: bool) -> Caller {
    Caller {
        name: None,
        person: person.clone(),
        operator,
        approver: false,
        visitor: false,
        line: person.clone(),
        seat: Seat {
            person: person.clone(),
            client: "test".into(),
        },
    }
}

/// All that is stored of a session is other bytes from now on.
fn damage(data: &std::path::Path, session: &SessionId) {
    let sql = rusqlite::Connection::open(data.join(DATABASE)).unwrap();
    let damaged = sql.execute(
        "UPDATE batches SET data = zeroblob(length(data)) WHERE id >> 36 = (SELECT id FROM sessions WHERE session_id = ?1)",
        [session.as_str()],
    );
    assert!(damaged.unwrap() > 0);
}

/// A member's session and one of the operator are under way when the server dies. The first one cannot be
/// read afterwards.
#[test]
fn the_others_go_on_after_a_restart_and_the_operator_deletes_it() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let first = runtime();
    let (world, ann, broken, good) = first.block_on(async {
        let world = World::new().await;
        let (key, ann) = world.member("ann");
        let broken = world.session_of(&ann, ApprovalMode::Auto).await;
        let good = world.session(ApprovalMode::Auto).await;
        for (mut client, session) in [
            (world.client_of(&key, "ann").await, &broken),
            (world.client("desk").await, &good),
        ] {
            client.subscribe(session, 0, "environment").await;
            client.say(session, "count to 100").await;
            client.events_until("text_chunk").await;
        }
        (world, ann, broken, good)
    });
    first.shutdown_timeout(PATIENCE);
    let data = world.data.clone();
    drop(world);
    damage(data.path(), &broken);
    runtime().block_on(async {
        let world = World::again(data, options()).await;
        let node = world.state.runtime();
        assert!(node.facts(&broken, 0, 10).await.is_err(), "it cannot be read");
        assert_eq!(node.waiting().await.unwrap(), []);
        within(async {
            while world.state.rooms().open_rooms() == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let mut desk = world.client("desk").await;
        desk.subscribe(&good, 0, "runtime").await;
        let events = desk.events_until("run_finished").await;
        assert_eq!(events.last().unwrap()["payload"]["status"], "completed");
        let bob = caller(&OwnerId::new("own_bob"), false);
        assert!(world.state.delete(&bob, &broken).await.is_err());
        let operator = caller(&"own_local".into(), true);
        world.state.delete(&operator, &broken).await.unwrap();
        let gone = world.state.delete(&caller(&ann, false), &broken).await;
        assert!(gone.is_err(), "it is gone");
        world.end().await;
    });
}
