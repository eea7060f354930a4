//! Every HTTP route for everybody.

use std::collections::BTreeSet;

use agentx_tests::remote::{Answered, Web};
use serde_json::{Value, json};

use crate::stage::{AGENT, Actor, NO_SESSION, Stage, of_session};

/// Whom a route is for, and so what each has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// Everybody, and it is not even looked where a page is from.
    All,
    /// Everybody, but no page of somewhere else.
    Anybody,
    /// Somebody who has said who they are, or is let in without.
    Somebody,
    /// Somebody who has said who they are.
    Members,
    /// Whoever runs the server.
    Operator,
    /// Who may see the session.
    Watch,
    /// Who may drive it.
    Drive,
    /// Whose it is.
    Own,
}

/// One route. Where it does something, it is asked for by the owner last.
struct Route {
    method: &'static str,
    /// As the description has it.
    path: &'static str,
    /// What follows it.
    query: &'static str,
    body: Option<Value>,
    whom: For,
}

fn route(method: &'static str, path: &'static str, whom: For) -> Route {
    Route {
        method,
        path,
        query: "",
        body: None,
        whom,
    }
}

impl Route {
    fn query(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    fn body(self, body: Value) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    /// The code of the answer: nothing where it is done.
    fn answer(&self, actor: Actor, visitors: bool) -> &'static str {
        use Actor::{Driver, Elsewhere, Nobody, Operator, Owner, Stale, Watcher};
        match (self.whom, actor) {
            (For::All, _) => "",
            (_, Elsewhere) => "bad_origin",
            (For::Anybody, _) => "",
            (_, Stale) => "unauthenticated",
            (_, Nobody) if !visitors => "unauthenticated",
            (For::Somebody, _) => "",
            (For::Members | For::Operator, Nobody) => "denied",
            (For::Members, _) | (For::Operator, Operator) => "",
            (For::Operator, _) => "denied",
            (_, Owner) | (For::Watch, Driver | Watcher) | (For::Drive, Driver) => "",
            (_, Driver | Watcher) => "denied",
            (For::Watch | For::Drive | For::Own, _) => "no_session",
        }
    }

    fn is_of_session(&self) -> bool {
        matches!(self.whom, For::Watch | For::Drive | For::Own)
    }

    async fn ask(&self, web: &Web, actor: Actor, session: &str) -> Answered {
        let path = format!("{}{}", self.path, self.query).replace("{id}", session);
        let path = path.replace("{session}", session);
        let body = self.body.as_ref().map(|body| of_session(body, session));
        let answered = web
            .try_ask(self.method, &path, actor.headers(), body.as_ref())
            .await;
        answered.unwrap_or_else(|error| panic!("{} {path}: {error}", self.method))
    }
}

/// Every route but the sockets and those that need something of their own.
fn table() -> Vec<Route> {
    let wheel_free = || json!({"content": "work more turns=1 words=1"});
    vec![
        route("GET", "/v1/health", For::All),
        route("GET", "/v1/openapi.json", For::All),
        route("POST", "/v1/auth/challenge", For::Anybody).body(json!({})),
        route("GET", "/metrics", For::Operator),
        route("GET", "/v1/me", For::Somebody),
        route("GET", "/v1/models", For::Members),
        route("GET", "/v1/tools", For::Members),
        route("GET", "/v1/agent", For::Members),
        route("GET", "/v1/agents", For::Members),
        route("GET", "/v1/sessions", For::Somebody),
        route("GET", "/v1/search", For::Somebody).query("?q=wordsOfNobodyElse"),
        route("GET", "/v1/sessions/{id}", For::Watch),
        route("GET", "/v1/sessions/{id}/state", For::Watch),
        route("GET", "/v1/sessions/{id}/events", For::Watch).query("?view=environment"),
        route("GET", "/v1/sessions/{id}/events", For::Watch).query("?view=runtime"),
        route("GET", "/v1/sessions/{id}/events", For::Watch).query("?view=ui"),
        route("GET", "/v1/sessions/{id}/export", For::Watch),
        route("GET", "/v1/sessions/{id}/rows", For::Watch),
        route("GET", "/v1/sessions/{id}/messages", For::Watch),
        route("GET", "/v1/sessions/{id}/context", For::Watch),
        route("POST", "/v1/sessions/{id}/verify", For::Watch),
        route("POST", "/v1/sessions/{id}/replay", For::Watch),
        route("POST", "/v1/sessions/{id}/messages", For::Drive).body(wheel_free()),
        route("POST", "/v1/sessions/{id}/changes", For::Drive)
            .body(json!({"change": {"limits": {"max_iterations": 9}}})),
        route("PATCH", "/v1/sessions/{id}", For::Drive).body(json!({"title": "titleOfNobodyElse"})),
        route("POST", "/v1/sessions/{id}/interrupt", For::Drive).body(json!({})),
        route("POST", "/v1/sessions/{id}/roles", For::Own)
            .body(json!({"person": "own_a_friend", "role": "watch"})),
        route("POST", "/v1/sessions/{id}/fork", For::Own).body(json!({})),
    ]
}

/// Routes that [`table`] does not have, and where they are asked for.
const ELSEWHERE: [(&str, &str); 7] = [
    // In `signatures`.
    ("POST", "/v1/auth/token"),
    // Below.
    ("GET", "/v1/agents/{id}"),
    ("POST", "/v1/sessions"),
    ("GET", "/v1/resolve"),
    ("GET", "/v1/blobs/{id}"),
    ("POST", "/v1/sessions/{id}/approvals"),
    ("DELETE", "/v1/sessions/{id}"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_has_every_route() {
    let stage = Stage::new(false).await;
    let description = stage.web(Actor::Nobody).await.get("/v1/openapi.json").await;
    let mut described = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let sockets = ["/v1/socket", "/ws"].map(|path| ("GET".to_owned(), path.to_owned()));
    for socket in &sockets {
        described.remove(socket);
    }
    let table = table();
    let tested = table.iter().map(|route| (route.method, route.path));
    let tested: BTreeSet<(String, String)> = tested
        .chain(ELSEWHERE)
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    assert_eq!(described, tested, "what is described, and what is tested");
}

async fn everybody_gets_their_answer(visitors: bool) {
    let stage = Stage::new(visitors).await;
    let table = table();
    let actors = Actor::STRANGERS
        .into_iter()
        .chain([Actor::Watcher, Actor::Driver, Actor::Owner]);
    for actor in actors {
        let web = stage.web(actor).await;
        for route in &table {
            let what = format!("{} {}{} for {actor:?}", route.method, route.path, route.query);
            let answered = route.ask(&web, actor, &stage.session).await;
            assert_eq!(
                answered.code(),
                route.answer(actor, visitors),
                "{what}: {answered}"
            );
            let is_done = route.answer(actor, visitors).is_empty();
            assert_eq!(is_done, answered.status < 300, "{what}: {answered}");
            if actor.sees() {
                continue;
            }
            stage.hides(&what, &answered.text());
            if route.is_of_session() {
                let none = route.ask(&web, actor, NO_SESSION).await;
                stage.is_as_of_none(&what, &answered, &none);
            } else {
                assert!(!answered.text().contains(&stage.session), "{what}: {answered}");
            }
        }
        if matches!(actor, Actor::Driver) {
            stage.lets_go_of_the_wheel(actor).await;
        }
    }
    the_metrics_name_nobody(&stage).await;
    stage.server.stop().exits(0);
}

async fn the_metrics_name_nobody(stage: &Stage) {
    let answered = stage
        .web(Actor::Operator)
        .await
        .ask("GET", "/metrics", None)
        .await;
    let text = answered.text();
    assert!(text.contains("agentx_"), "{text}");
    for secret in ["ses_", "own_", "titleOfNobodyElse", "wordsOfNobodyElse"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_answers_everybody_as_it_has_to() {
    everybody_gets_their_answer(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_answers_everybody_as_it_has_to_where_visitors_are_let_in() {
    everybody_gets_their_answer(true).await;
}

/// What a session is called and begins with is for those who may see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_prefixes_have_only_what_one_may_see() {
    let stage = Stage::new(true).await;
    let resolve = format!("/v1/resolve?prefix={}", &stage.session[..9]);
    for (actor, sees) in [
        (Actor::Owner, true),
        (Actor::Driver, true),
        (Actor::Watcher, true),
        (Actor::Other, false),
        (Actor::Operator, false),
        (Actor::Nobody, false),
    ] {
        let web = stage.web(actor).await;
        let list = web.get("/v1/sessions").await;
        let has = list.to_string().contains(&stage.session);
        assert_eq!(has, sees, "{actor:?}: {list}");
        let found = web.ask("GET", &resolve, None).await;
        assert_eq!(found.status == 200, sees, "{actor:?}: {found}");
        if !sees {
            assert_eq!(found.code(), "no_session", "{actor:?}");
            let wrong = web.ask("GET", "/v1/resolve?prefix=ses_zzzzz", None).await;
            assert_eq!(wrong.status, found.status);
            assert!(!found.text().contains(&stage.session), "{actor:?}: {found}");
            for view in ["environment", "runtime", "ui"] {
                let stream = web.follow(&stage.session, view, None).await;
                let Err(refused) = stream else {
                    panic!("{actor:?} follows another one's session");
                };
                assert!(refused.contains("no_session"), "{actor:?}: {refused}");
                stage.hides("a stream", &refused);
            }
        }
    }
    let visible = stage.web(Actor::Owner).await;
    let share = json!({"person": "own_visitors", "role": "watch"});
    let roles = format!("/v1/sessions/{}/roles", stage.session);
    visible.post(&roles, &share).await;
    let nobody = stage.web(Actor::Nobody).await;
    let list = nobody.get("/v1/sessions").await;
    assert!(list.to_string().contains(&stage.session), "shared with everybody");
    let message = nobody.say(&stage.session, "hello", "k").await;
    assert_eq!(message.code(), "denied", "visitors only look");
    let more = json!({"person": "own_visitors", "role": "drive"});
    assert_eq!(visible.ask("POST", &roles, Some(&more)).await.code(), "refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_deletions_and_new_sessions() {
    let stage = Stage::new(true).await;
    let state = format!("/v1/sessions/{}/state", stage.session);
    let owner = stage.web(Actor::Owner).await;
    let pending = owner.get(&state).await;
    let call = pending["pending_approvals"][0]["tool_call_id"].as_str().unwrap();
    let approval = json!({"tool_call_id": call, "decision": "deny"});
    for (actor, code) in [
        (Actor::Other, "no_session"),
        (Actor::Operator, "no_session"),
        (Actor::Nobody, "no_session"),
        (Actor::Stale, "unauthenticated"),
        (Actor::Elsewhere, "bad_origin"),
        (Actor::Watcher, "denied"),
        (Actor::Driver, ""),
        (Actor::Owner, "refused"),
    ] {
        let web = stage.web(actor).await;
        let ask = async |session: &str| {
            let path = format!("/v1/sessions/{session}/approvals");
            web.try_ask("POST", &path, actor.headers(), Some(&approval))
                .await
                .unwrap()
        };
        let answered = ask(&stage.session).await;
        assert_eq!(answered.code(), code, "{actor:?}: {answered}");
        if !actor.sees() {
            stage.is_as_of_none("an approval", &answered, &ask(NO_SESSION).await);
        }
    }
    let config = owner.get("/v1/agent").await;
    let create = json!({ "config": config });
    for (actor, code) in [
        (Actor::Nobody, "denied"),
        (Actor::Stale, "unauthenticated"),
        (Actor::Elsewhere, "bad_origin"),
        (Actor::Other, ""),
    ] {
        let web = stage.web(actor).await;
        let made = web
            .try_ask("POST", "/v1/sessions", actor.headers(), Some(&create))
            .await;
        assert_eq!(made.unwrap().code(), code, "{actor:?}");
    }
    let path = format!("/v1/sessions/{}", stage.session);
    for (actor, code) in [
        (Actor::Other, "no_session"),
        (Actor::Operator, "no_session"),
        (Actor::Nobody, "no_session"),
        (Actor::Stale, "unauthenticated"),
        (Actor::Elsewhere, "bad_origin"),
        (Actor::Watcher, "denied"),
        (Actor::Driver, "denied"),
        (Actor::Owner, ""),
        (Actor::Owner, "no_session"),
    ] {
        let web = stage.web(actor).await;
        let gone = web.try_ask("DELETE", &path, actor.headers(), None).await;
        assert_eq!(gone.unwrap().code(), code, "{actor:?}");
    }
}

/// What the server's files describe is for members, and it is theirs only as strict as it is the server's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_files_are_for_members() {
    let stage = Stage::new(true).await;
    let create = json!({"agent": AGENT});
    let auto = json!({"agent": AGENT, "approval": "auto"});
    let wrong = json!({"agent": "gudie"});
    let both = json!({"agent": AGENT, "config": stage.web(Actor::Owner).await.get("/v1/agent").await});
    for (actor, code) in [
        (Actor::Nobody, "denied"),
        (Actor::Stale, "unauthenticated"),
        (Actor::Elsewhere, "bad_origin"),
        (Actor::Other, ""),
        (Actor::Operator, ""),
    ] {
        let web = stage.web(actor).await;
        let ask = async |method, path: &str, body: Option<&Value>| {
            web.try_ask(method, path, actor.headers(), body).await.unwrap()
        };
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
        (Actor::Operator, &stage.session, "no_session"),
        (Actor::Nobody, &stage.session, "unauthenticated"),
        (Actor::Stale, &stage.session, "unauthenticated"),
        (Actor::Elsewhere, &stage.session, "bad_origin"),
    ] {
        let web = stage.web(actor).await;
        let path = format!("/v1/blobs/{blob}?session={session}");
        let got = web.try_ask("GET", &path, actor.headers(), None).await.unwrap();
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
