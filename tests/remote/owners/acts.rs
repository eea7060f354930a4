//! Routes that work once, or need their own data: decisions, deletions, new sessions, agents of files,
//! blobs, late drivers.

use agentx_tests::remote::Answered;
use serde_json::{Value, json};

use super::stage::{AGENT, Actor, NO_SESSION, Stage};

/// The answers to strangers about another person's session.
const OF_STRANGERS: [(Actor, &str); 4] = [
    (Actor::Other, "no_session"),
    (Actor::Nobody, "no_session"),
    (Actor::Stale, "unauthenticated"),
    (Actor::Elsewhere, "bad_origin"),
];
/// The answers to callers who are not members, on routes for members.
const OF_NO_MEMBERS: [(Actor, &str); 3] = [
    (Actor::Nobody, "denied"),
    (Actor::Stale, "unauthenticated"),
    (Actor::Elsewhere, "bad_origin"),
];

/// Returns the answer to one of them.
async fn ask_as(stage: &Stage, actor: Actor, (method, path): (&str, &str), body: Option<&Value>) -> Answered {
    let web = stage.web(actor).await;
    web.try_ask(method, path, actor.headers(), body).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_deletions_and_new_sessions() {
    let stage = Stage::new(true).await;
    let state = format!("/v1/sessions/{}/state", stage.session);
    let owner = stage.web(Actor::Owner).await;
    let pending = owner.get(&state).await;
    let call = pending["pending_approvals"][0]["tool_call_id"].as_str().unwrap();
    let approval = json!({"tool_call_id": call, "decision": "deny"});
    let of_others = [
        (Actor::Watcher, "denied"),
        (Actor::Driver, ""),
        (Actor::Operator, "refused"),
        (Actor::Owner, "refused"),
    ];
    for (actor, code) in OF_STRANGERS.into_iter().chain(of_others) {
        let ask = async |session: &str| {
            let path = format!("/v1/sessions/{session}/approvals");
            ask_as(&stage, actor, ("POST", &path), Some(&approval)).await
        };
        let answered = ask(&stage.session).await;
        assert_eq!(answered.code(), code, "{actor:?}: {answered}");
        if !actor.sees() {
            stage.is_as_of_none("an approval", &answered, &ask(NO_SESSION).await);
        }
    }
    let config = owner.get("/v1/agent").await;
    let create = json!({ "config": config });
    for (actor, code) in OF_NO_MEMBERS.into_iter().chain([(Actor::Other, "")]) {
        let made = ask_as(&stage, actor, ("POST", "/v1/sessions"), Some(&create)).await;
        assert_eq!(made.code(), code, "{actor:?}");
    }
    let path = format!("/v1/sessions/{}", stage.session);
    let of_others = [
        (Actor::Watcher, "denied"),
        (Actor::Driver, "denied"),
        // The operator of the server may delete sessions that take its space.
        (Actor::Operator, ""),
        (Actor::Owner, "no_session"),
    ];
    for (actor, code) in OF_STRANGERS.into_iter().chain(of_others) {
        let gone = ask_as(&stage, actor, ("DELETE", &path), None).await;
        assert_eq!(gone.code(), code, "{actor:?}");
    }
}

/// Files of the server's disk are seen and put back by who may decide and drive; so are inputs that wait and
/// what the model reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_what_waits_are_for_those_who_drive() {
    let stage = Stage::new(true).await;
    let state = format!("/v1/sessions/{}/state", stage.session);
    let pending = stage.web(Actor::Owner).await.get(&state).await;
    let call = pending["pending_approvals"][0]["tool_call_id"].as_str().unwrap();
    let file = format!("file?tool_call_id={call}");
    let routes = [
        ("GET", &*file, None, ""),
        ("GET", "restore?to_seq=1", None, ""),
        // The agent waits for a decision, so it is at work; nothing waits; nothing is condensed.
        (
            "POST",
            "restore",
            Some(json!({"wish": {"to_seq": 1, "files": []}})),
            "refused",
        ),
        (
            "POST",
            "revisions",
            Some(json!({"message_id": "msg_none"})),
            "refused",
        ),
        (
            "POST",
            "context",
            Some(json!({"wish": {"restore": {}}})),
            "refused",
        ),
    ];
    let of_others = [
        (Actor::Watcher, Some("denied")),
        (Actor::Operator, Some("denied")),
        (Actor::Driver, None),
        (Actor::Owner, None),
    ];
    let strangers = OF_STRANGERS.into_iter().map(|(actor, code)| (actor, Some(code)));
    for (actor, kept_out) in strangers.chain(of_others) {
        for (method, what, body, done) in &routes {
            let ask = async |session: &str| {
                let path = format!("/v1/sessions/{session}/{what}");
                ask_as(&stage, actor, (method, &path), body.as_ref()).await
            };
            let answered = ask(&stage.session).await;
            let told = format!("{method} {what} {actor:?}: {answered}");
            // A person who decides about a call sees the file that it changes.
            let decides = actor == Actor::Operator && *what == file;
            let code = kept_out.filter(|_| !decides).unwrap_or(done);
            assert_eq!(answered.code(), code, "{told}");
            if !actor.sees() {
                stage.is_as_of_none(&told, &answered, &ask(NO_SESSION).await);
            }
        }
        if kept_out.is_none() {
            stage.lets_go_of_the_wheel(actor).await;
        }
    }
}

/// Agents that the server's files describe are for members, with the strictness of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_files_are_for_members() {
    let stage = Stage::new(true).await;
    let create = json!({"agent": AGENT});
    let auto = json!({"agent": AGENT, "approval": "auto"});
    let wrong = json!({"agent": "gudie"});
    let both = json!({"agent": AGENT, "config": stage.web(Actor::Owner).await.get("/v1/agent").await});
    let members = [(Actor::Other, ""), (Actor::Operator, "")];
    for (actor, code) in OF_NO_MEMBERS.into_iter().chain(members) {
        let ask = async |method, path: &str, body| ask_as(&stage, actor, (method, path), body).await;
        let or_done = |done: &'static str| if code.is_empty() { done } else { code };
        let path = format!("/v1/agents/{AGENT}");
        for (method, path, body, answer) in [
            ("GET", &*path, None, ""),
            ("GET", "/v1/agents/gudie", None, "unknown_agent"),
            ("POST", "/v1/sessions", Some(&create), ""),
            ("POST", "/v1/sessions", Some(&wrong), "unknown_agent"),
            ("POST", "/v1/sessions", Some(&both), "bad_json"),
        ] {
            let answered = ask(method, path, body).await;
            assert_eq!(
                answered.code(),
                or_done(answer),
                "{method} {path} {actor:?}: {answered}"
            );
        }
        let freer = ask("POST", "/v1/sessions", Some(&auto)).await;
        let answer = if actor == Actor::Operator {
            ""
        } else {
            or_done("denied")
        };
        assert_eq!(freer.code(), answer, "{actor:?}: {freer}");
    }
    let web = stage.web(Actor::Other).await;
    let described = web.get("/v1/agents").await;
    assert_eq!(described[0]["name"], AGENT, "{described}");
    let near = web.ask("GET", "/v1/agents/gudie", None).await;
    assert!(near.text().contains("did you mean guide?"), "{near}");
    let made = web.ask("POST", "/v1/sessions", Some(&create)).await;
    let state = format!(
        "/v1/sessions/{}/state",
        made.json()["session_id"].as_str().unwrap()
    );
    let config = web.get(&state).await["config"].clone();
    assert_eq!(config["name"], AGENT, "{config}");
    assert_eq!(config["limits"]["max_iterations"], 3, "{config}");
}

/// A session that comes from elsewhere brings its agent and rules along, so only the operator may import it.
/// Each person sees their own spending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_from_elsewhere_are_for_operators() {
    let stage = Stage::new(false).await;
    let mut document = json!({
        "format": "agentx-session", "version": 1, "session_id": "ses_fromelsewhere", "title": "", "workspace": "/",
        "created_at": 1, "hash": "", "blobs": [], "events": [],
    });
    for (actor, code) in [
        (Actor::Owner, "denied"),
        (Actor::Other, "denied"),
        (Actor::Nobody, "unauthenticated"),
        (Actor::Stale, "unauthenticated"),
        (Actor::Elsewhere, "bad_origin"),
        (Actor::Operator, "refused"),
    ] {
        let answered = ask_as(&stage, actor, ("POST", "/v1/import"), Some(&document)).await;
        assert_eq!(answered.code(), code, "{actor:?}: {answered}");
    }
    document["session_id"] = json!(stage.session);
    let taken = ask_as(&stage, Actor::Operator, ("POST", "/v1/import"), Some(&document)).await;
    assert!(!taken.code().is_empty(), "{taken}");
    let path = format!("/v1/usage?by=session&session={}", stage.session);
    let spent = stage.web(Actor::Owner).await.get(&path).await;
    assert_eq!(spent[0]["key"], stage.session.as_str(), "{spent}");
    let of_others = stage.web(Actor::Other).await.get(&path).await;
    assert_eq!(of_others, json!([]), "what others spend is not told");
}

/// Bytes that were put into a session are had by naming the session, not by knowing their hash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_is_for_those_who_may_see_a_session_that_has_it() {
    let stage = Stage::new(false).await;
    let owner = stage.web(Actor::Owner).await;
    let picture = "iVBORw0KGgo".repeat(2_000);
    let part = json!({"type": "image", "media_type": "image/png", "source": {"base64": picture}});
    let say = |session: &str| format!("/v1/sessions/{session}/messages");
    owner
        .post(&say(&stage.session), &json!({ "content": [part] }))
        .await;
    let log = owner.export(&stage.session).await.concat();
    let at = log.find("\"b3_").expect("a blob") + 1;
    let blob = log[at..].split('"').next().unwrap().to_owned();
    stage.lets_go_of_the_wheel(Actor::Owner).await;

    let other = stage.web(Actor::Other).await;
    let own = other.new_session().await;
    // Saying the id of a blob does not make it one's own, in words or as what it is.
    let words = json!({"content": format!("look at {blob}")});
    other.post(&say(&own), &words).await;
    let claim = async |blob: &str| {
        let part = json!({"type": "image", "media_type": "image/png", "source": {"blob": blob}});
        let message = json!({ "content": [part] });
        other.ask("POST", &say(&own), Some(&message)).await
    };
    let no_blob = format!("b3_{}", "0".repeat(64));
    let (claimed, nothing) = (claim(&blob).await, claim(&no_blob).await);
    assert_eq!(claimed.code(), "no_blob", "{claimed}");
    assert_eq!(
        claimed.text().replace(&blob, ""),
        nothing.text().replace(&no_blob, ""),
        "whether somebody has such bytes is not told"
    );
    for (actor, session, code) in [
        (Actor::Owner, stage.session.as_str(), ""),
        (Actor::Watcher, &stage.session, ""),
        (Actor::Other, &stage.session, "no_session"),
        (Actor::Other, &own, "no_blob"),
        (Actor::Operator, &stage.session, ""),
        (Actor::Nobody, &stage.session, "unauthenticated"),
        (Actor::Stale, &stage.session, "unauthenticated"),
        (Actor::Elsewhere, &stage.session, "bad_origin"),
    ] {
        let path = format!("/v1/blobs/{blob}?session={session}");
        let got = ask_as(&stage, actor, ("GET", &path), None).await;
        assert_eq!(got.code(), code, "{actor:?} by {session}: {got}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_driver_of_another_wheel_sends_is_refused() {
    let stage = Stage::new(false).await;
    let owner = stage.web(Actor::Owner).await;
    let before = owner.export(&stage.session).await.len();
    for (path, body) in [
        ("messages", json!({"content": "late", "wheel_epoch": 99})),
        ("interrupt", json!({"wheel_epoch": 99})),
        (
            "changes",
            json!({"change": {"limits": {"max_iterations": 1}}, "wheel_epoch": 99}),
        ),
    ] {
        let path = format!("/v1/sessions/{}/{path}", stage.session);
        let answered = owner.ask("POST", &path, Some(&body)).await;
        assert_eq!(
            (answered.status, answered.code().as_str()),
            (409, "stale_epoch"),
            "{path}"
        );
    }
    let after = owner.export(&stage.session).await.len();
    assert_eq!(before, after, "nothing of it is on record");
}
