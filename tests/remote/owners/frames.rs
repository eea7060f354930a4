//! Every frame of a client, sent by every kind of person.

use agentx_tests::remote::{Socket, problem_code};
use agentx_types::Vocabulary as _;
use agentx_types::wire::ClientRequest;
use serde_json::{Value, json};

use super::stage::{Actor, EVIL, NO_SESSION, Stage, of_session};

/// The requirement of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Watch,
    Approve,
    Drive,
    Own,
}

/// One frame, its payload, what it needs, and what else is wrong with it for those who may send it.
type Frame = (&'static str, Value, Needs, &'static str);

/// A payload that is about the session.
fn of(more: Value) -> Value {
    let mut payload = json!({"session_id": "{session}"});
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    payload
}

fn table() -> Vec<Frame> {
    let mut frames = of_watchers_and_too_late();
    frames.extend(commands());
    frames.extend(of_the_wheel());
    frames
}

fn commands() -> Vec<Frame> {
    vec![
        (
            "system_command",
            of(json!({"command": "rename", "args": {"title": "titleOfNobodyElse"}})),
            Needs::Drive,
            "",
        ),
        (
            "system_command",
            of(json!({"command": "change", "args": {"change": {"limits": {"max_iterations": 9}}}})),
            Needs::Drive,
            "",
        ),
        (
            "system_command",
            of(json!({"command": "revise", "args": {"message_id": "msg_none"}})),
            Needs::Drive,
            "refused",
        ),
    ]
}

fn of_watchers_and_too_late() -> Vec<Frame> {
    vec![
        ("subscribe", of(json!({"view": "environment"})), Needs::Watch, ""),
        ("unsubscribe", of(json!({})), Needs::Watch, ""),
        (
            "approval",
            of(json!({"tool_call_id": "toolu_none", "decision": "once"})),
            Needs::Approve,
            "refused",
        ),
        (
            "user_message",
            of(json!({"content": "late", "wheel_epoch": 99})),
            Needs::Drive,
            "stale_epoch",
        ),
        (
            "interrupt",
            of(json!({"wheel_epoch": 99})),
            Needs::Drive,
            "stale_epoch",
        ),
        (
            "system_command",
            of(json!({"command": "rename", "args": {"title": "late"}, "wheel_epoch": 99})),
            Needs::Drive,
            "stale_epoch",
        ),
        (
            "user_message",
            of(json!({"content": "work more turns=1 words=1"})),
            Needs::Drive,
            "",
        ),
    ]
}

fn of_the_wheel() -> Vec<Frame> {
    vec![
        ("interrupt", of(json!({})), Needs::Drive, ""),
        ("wheel", of(json!({"wish": "take"})), Needs::Drive, ""),
        ("wheel", of(json!({"wish": "release"})), Needs::Drive, ""),
        (
            "system_command",
            of(json!({"command": "share", "args": {"person": "own_a_friend", "role": "watch"}})),
            Needs::Own,
            "",
        ),
        (
            "system_command",
            of(json!({"command": "explode"})),
            Needs::Watch,
            "unknown_command",
        ),
    ]
}

/// The code of the answer: nothing if it is accepted.
fn expected(actor: Actor, kind: &str, needs: Needs, else_wrong: &'static str) -> &'static str {
    let may = match actor {
        Actor::Owner => true,
        Actor::Driver => needs != Needs::Own,
        Actor::Watcher => needs == Needs::Watch,
        Actor::Operator => matches!(needs, Needs::Watch | Needs::Approve),
        // Without a subscription, it does not matter whether the session exists.
        _ if kind == "unsubscribe" => return "refused",
        _ => return "no_session",
    };
    if may { else_wrong } else { "denied" }
}

#[test]
fn the_table_has_every_frame() {
    let table = table();
    // The other two are about the connection, and in `signatures`.
    let elsewhere = ["authenticate", "ping"];
    for tag in ClientRequest::TAGS {
        let is_there = table.iter().any(|(kind, ..)| kind == tag) || elsewhere.contains(tag);
        assert!(is_there, "{tag}");
    }
}

/// A frame is answered before anything else is asked: what was accepted or the whole problem.
async fn answer(socket: &mut Socket, kind: &str, payload: &Value, session: &str) -> Result<Value, Value> {
    socket
        .try_ask(kind, of_session(payload, session))
        .await
        .unwrap_or_else(|error| panic!("{kind}: {error}"))
}

async fn everybody_gets_their_answer(visitors: bool) {
    let stage = Stage::new(visitors).await;
    let mut actors = vec![Actor::Other, Actor::Operator];
    if visitors {
        actors.push(Actor::Nobody);
    }
    actors.extend([Actor::Watcher, Actor::Driver, Actor::Owner]);
    for actor in actors {
        let mut socket = stage.socket(actor).await.unwrap();
        for (kind, payload, needs, else_wrong) in table() {
            let what = format!("{kind} {payload} of {actor:?}");
            let answered = answer(&mut socket, kind, &payload, &stage.session).await;
            let code = answered.as_ref().err().map(problem_code).unwrap_or_default();
            assert_eq!(
                code,
                expected(actor, kind, needs, else_wrong),
                "{what}: {answered:?}"
            );
            if actor.sees() {
                continue;
            }
            let told = answered.unwrap_err().to_string();
            stage.hides(&what, &told);
            let none = answer(&mut socket, kind, &payload, NO_SESSION).await.unwrap_err();
            let without_id = |text: &str, id: &str| text.replace(id, "SESSION");
            assert_eq!(
                without_id(&told, &stage.session),
                without_id(&none.to_string(), NO_SESSION),
                "{what}"
            );
        }
    }
    stage.server.stop().exits(0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_frame_is_answered_to_everybody_as_it_has_to() {
    everybody_gets_their_answer(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_frame_is_answered_to_everybody_as_it_has_to_where_visitors_are_let_in() {
    everybody_gets_their_answer(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_is_opened_by_those_who_may() {
    let stage = Stage::new(false).await;
    let address = stage.server.address();
    let token = stage.web(Actor::Owner).await.token().await;
    let subprotocol = |token: &str| format!("agentx.v1, agentx.bearer.{token}");
    let bearer = |token: &str| format!("Bearer {token}");
    let (good, stale) = (subprotocol(&token), subprotocol(stage.stale_token()));
    let (good_bearer, stale_bearer) = (bearer(&token), bearer(stage.stale_token()));
    let name = "sec-websocket-protocol";
    let refused: [&[(&'static str, &str)]; 5] = [
        &[(name, &stale)],
        &[("authorization", &stale_bearer)],
        &[("authorization", "Basic b3duZXI6eA==")],
        &[("origin", EVIL)],
        &[("origin", EVIL), (name, &good)],
    ];
    for headers in refused {
        let Err(error) = Socket::dial(address, headers).await else {
            panic!("{headers:?}: it is let in");
        };
        let is_refused = error.contains("401") || error.contains("403");
        assert!(is_refused, "{headers:?}: {error}");
        assert!(!error.contains(&token), "{headers:?}: {error}");
    }
    let own = format!("http://{address}");
    let let_in: [&[(&'static str, &str)]; 3] = [
        &[(name, &good)],
        &[("authorization", &good_bearer)],
        &[("origin", &own), (name, &good)],
    ];
    for headers in let_in {
        let mut socket = Socket::dial(address, headers).await.unwrap();
        let who = socket.ask("authenticate", json!({"client": "page"})).await;
        assert_eq!(who["result"]["person"], stage.who(Actor::Owner).owner());
        socket.subscribe(&stage.session, 0, "ui").await;
    }
}

/// A person who loses access to a session is notified once, and gets nothing of it from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_their_role_sees_no_more() {
    let stage = Stage::new(false).await;
    let mut watcher = stage.socket(Actor::Watcher).await.unwrap();
    watcher.subscribe(&stage.session, 0, "environment").await;
    watcher.event("caught_up").await;
    let owner = stage.web(Actor::Owner).await;
    let path = format!("/v1/sessions/{}/roles", stage.session);
    let wish = json!({"person": stage.who(Actor::Watcher).owner(), "role": null});
    owner.post(&path, &wish).await;
    let ended = watcher.event("unsubscribed").await;
    assert_eq!(ended["payload"]["problem"]["code"], "no_session", "{ended}");
    owner.say(&stage.session, "afterwards", "k").await.done();
    // Whatever came of that would be before the answer to this.
    let wish = json!({"session_id": stage.session});
    let id = watcher.try_send("subscribe", &wish).await.unwrap();
    loop {
        let frame = watcher.try_next().await.unwrap();
        assert!(!frame["seq"].is_u64(), "it still sees: {frame}");
        assert!(frame["payload"]["session_id"] != stage.session, "{frame}");
        if frame["payload"]["id"] == id {
            assert_eq!(frame["payload"]["problem"]["code"], "no_session", "{frame}");
            return;
        }
    }
}
