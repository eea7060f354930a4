//! Every HTTP route, requested by every kind of person.

use std::collections::BTreeSet;

use agentx_tests::remote::{Answered, Web};
use serde_json::{Value, json};

use super::stage::{Actor, NO_SESSION, Stage, of_session};

/// The callers of a route, which decide about the answer to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// Everybody, and the origin of a page is not checked.
    All,
    /// Everybody, but no page of somewhere else.
    Anybody,
    /// Somebody who has said who they are, or is let in without.
    Somebody,
    /// Somebody who has said who they are.
    Members,
    /// The operator of the server.
    Operator,
    /// People who may see the session.
    Watch,
    /// People who may drive it.
    Drive,
    /// A resource of the caller alone.
    Own,
}

/// One route. If it does something, it is asked for by the owner last.
struct Route {
    method: &'static str,
    /// As the description has it.
    path: &'static str,
    /// The query after the path.
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

    /// The code of the answer: nothing if it is done.
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
            (_, Owner) | (For::Watch, Driver | Watcher | Operator) | (For::Drive, Driver) => "",
            (_, Driver | Watcher | Operator) => "denied",
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
        route("GET", "/v1/reactors", For::Operator),
        route("GET", "/v1/me", For::Somebody),
        route("GET", "/v1/models", For::Members),
        route("GET", "/v1/tools", For::Members),
        route("GET", "/v1/agent", For::Members),
        route("GET", "/v1/agents", For::Members),
        route("GET", "/v1/commands", For::Somebody),
        route("GET", "/v1/config", For::Members),
        route("POST", "/v1/config", For::Members).body(json!({"config": {"name": "Ada"}})),
        route("GET", "/v1/sessions", For::Somebody),
        route("GET", "/v1/usage", For::Members),
        route("GET", "/v1/push", For::Members),
        route("GET", "/v1/memories", For::Operator),
        route("POST", "/v1/gc", For::Operator).body(json!({})),
        route("POST", "/v1/usage/raise", For::Operator).body(json!({"tokens": 1})),
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

/// Routes that [`table`] does not have, each with the test that requests it.
const ELSEWHERE: [(&str, &str); 23] = [
    // In the tests of the server: `pages`, `push`, `memories`, `webhooks`, `mcp` and `mcp_tokens`.
    ("POST", "/v1/push"),
    ("DELETE", "/v1/push"),
    ("PATCH", "/v1/memories/{id}"),
    ("DELETE", "/v1/memories/{id}"),
    ("POST", "/v1/auth/page"),
    ("POST", "/v1/auth/code"),
    ("POST", "/v1/hooks/{id}"),
    ("POST", "/mcp"),
    ("GET", "/v1/tokens"),
    ("DELETE", "/v1/tokens/{id}"),
    // In `signatures`.
    ("POST", "/v1/auth/token"),
    // Below.
    ("GET", "/v1/resolve"),
    // In `acts`.
    ("GET", "/v1/agents/{id}"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/import"),
    ("GET", "/v1/blobs/{id}"),
    ("POST", "/v1/sessions/{id}/approvals"),
    ("GET", "/v1/sessions/{id}/file"),
    ("GET", "/v1/sessions/{id}/restore"),
    ("POST", "/v1/sessions/{id}/restore"),
    ("POST", "/v1/sessions/{id}/revisions"),
    ("POST", "/v1/sessions/{id}/context"),
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
    let actors =
        Actor::STRANGERS
            .into_iter()
            .chain([Actor::Watcher, Actor::Operator, Actor::Driver, Actor::Owner]);
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

/// Only people who may see a session get its title and its first message.
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
            // The operator may open a member's session, by its whole id.
            for view in ["environment", "runtime", "ui"]
                .iter()
                .filter(|_| actor != Actor::Operator)
            {
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
    assert_eq!(message.code(), "denied", "visitors can only see sessions");
    let more = json!({"person": "own_visitors", "role": "drive"});
    assert_eq!(visible.ask("POST", &roles, Some(&more)).await.code(), "refused");
}
