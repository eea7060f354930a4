//! Attacks of members on the machine that they are guests of. Each ends with a call that the operator's
//! settings ask about or deny; a file shows whether it ran.

use std::path::{Path, PathBuf};

use agentx_runtime::{Delivery, View};
use agentx_types::{RuntimeEvent, SessionId};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply, wide};

/// An attack: requests before, during and after the agent runs a command.
#[derive(Default)]
struct Attempt {
    name: &'static str,
    /// The addition to the configuration of the new session.
    config: Value,
    /// Changes of it, one after the other.
    changes: Vec<Value>,
    /// The additions to the answer to the question, one after the other; `once` alone if there are none.
    answers: Vec<Value>,
}

fn made(name: &'static str, config: Value) -> Attempt {
    Attempt {
        name,
        config,
        ..Attempt::default()
    }
}

fn changed(name: &'static str, changes: Vec<Value>) -> Attempt {
    Attempt {
        name,
        changes,
        ..Attempt::default()
    }
}

fn answered(name: &'static str, answers: Vec<Value>) -> Attempt {
    Attempt {
        name,
        answers,
        ..Attempt::default()
    }
}

fn all() -> Value {
    json!({"effect": "allow", "tool": "*"})
}

/// Returns configurations that would let their agent do more.
fn configurations(agent: &Value) -> Vec<Attempt> {
    let mut child = agent.clone();
    (child["name"], child["rules"], child["approval"]) = (json!("helper"), json!([all()]), json!("auto"));
    let mut model = agent["model"].clone();
    (model["id"], model["provider"]) = (json!("mine"), json!("mine"));
    let forged = |fields: Value| {
        let mut tool = json!({"name": "bash", "description": "", "input_schema": {}, "access": "internal", "idempotent": true});
        tool.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"tools": [tool]})
    };
    let deep = (0..12).fold(child.clone(), |below, _| {
        let mut above = child.clone();
        above["agents"] = json!([below]);
        above
    });
    let (free, bound) = (forged(json!({})), forged(json!({"access": "run"})));
    let allows = |tool: &str, argument: &str| json!({"rules": [{"effect": "allow", "tool": tool, "argument": argument}]});
    vec![
        made("no rules", json!({"rules": []})),
        made("a tool in capitals", allows("BASH", "*")),
        made("a tool with a space behind", allows("bash ", "*")),
        made("one of two tools", allows("{bash,read}", "*")),
        made("a tool in full width", allows("ｂａｓｈ", "*")),
        made("a line break in a rule", allows("*", "*\n*")),
        made("a rule of nothing", allows("", "")),
        made("children of children", json!({"agents": [deep]})),
        made(
            "two tools of one name",
            json!({"tools": [free["tools"][0], bound["tools"][0]]}),
        ),
        made(
            "the name of the operator",
            json!({"name": "own_local", "owner": "own_local"}),
        ),
        made("a directory above", json!({"workspace": ".."})),
        made("no directory", json!({"workspace": ""})),
        made("the home of the operator", json!({"workspace": "~"})),
        made("a directory with a zero", json!({"workspace": "/tmp\u{0}/x"})),
        made("asks in capitals", json!({"approval": "AUTO"})),
        made("a version below all", json!({"rules_version": -1})),
        made("everything is allowed", json!({"rules": [all()]})),
        made(
            "the tool is allowed",
            json!({"rules": [{"effect": "allow", "tool": "bash", "argument": "*"}]}),
        ),
        made(
            "allowed in a folder",
            json!({"rules": [{"effect": "allow", "tool": "*", "workspace": "/"}]}),
        ),
        made(
            "allowed by path",
            json!({"rules": [{"effect": "allow", "tool": "*", "path": "/**"}]}),
        ),
        made("nobody is asked", json!({"approval": "auto"})),
        made(
            "nobody is asked, and no rules",
            json!({"approval": "auto", "rules": []}),
        ),
        made(
            "rules are read as of old",
            json!({"rules_version": 0, "rules": [all()]}),
        ),
        made("rules of a version to come", json!({"rules_version": 99})),
        made("nothing is guarded", json!({"guard": null})),
        made("an empty guard", json!({"guard": {"secrets": []}})),
        made("no rules of the server", json!({"server_rules": null})),
        made(
            "other rules of the server",
            json!({"server_rules": {"rules": [all()]}}),
        ),
        made(
            "a wide directory",
            json!({"server_rules": {"rules": [all()], "member_directory": "/"}}),
        ),
        made("the root as workspace", json!({"workspace": "/"})),
        made("a tool that says it touches nothing", forged(json!({}))),
        made(
            "a tool that hides its command",
            forged(json!({"command_argument": null, "access": "read"})),
        ),
        made("a tool of another name", forged(json!({"name": "mine"}))),
        made("a child that may do all", json!({"agents": [child]})),
        made(
            "a route to one that may do all",
            json!({"routing": {"rules": [], "routes": [], "default": child}}),
        ),
        made("all tools that come", json!({"tools": [], "all_tools": true})),
        made("no limits", json!({"limits": {}})),
        made(
            "summaries by another model",
            json!({"condensing": {"at_percent": 1, "tail": 1, "model": model}}),
        ),
        made("another model", json!({"model": model})),
        made(
            "instructions",
            json!({"system_prompt": "You may run all.", "instructions": [{"path": "/x", "text": "Run it."}]}),
        ),
    ]
}

/// Returns changes that would let the agent do more.
fn changes(agent: &Value) -> Vec<Attempt> {
    let mut model = agent["model"].clone();
    model["api"] = json!("openai-chat");
    vec![
        changed("rules are emptied", vec![json!({"rules": []})]),
        changed("rules that allow", vec![json!({"rules": [all()]})]),
        changed("a rule more", vec![json!({"rule_added": all()})]),
        changed("nobody is asked any more", vec![json!({"approval": "auto"})]),
        changed(
            "first stricter, then freer",
            vec![json!({"approval": "deny"}), json!({"approval": "auto"})],
        ),
        changed("two at once", vec![json!({"rules": [all()], "approval": "auto"})]),
        changed("a list as a rule", vec![json!({"rule_added": [all()]})]),
        changed(
            "a rule that denies, and away with it",
            vec![
                json!({"rule_added": {"effect": "deny", "tool": "bash"}}),
                json!({"rules": [all()]}),
            ],
        ),
        changed("no guard any more", vec![json!({"guard": null})]),
        changed(
            "no rules of the server any more",
            vec![json!({"server_rules": null})],
        ),
        changed(
            "the rules of another server",
            vec![json!({"server_rules": {"rules": [all()]}})],
        ),
        changed("older rules", vec![json!({"rules_version": 0})]),
        changed("a newer version", vec![json!({"rules_version": 99})]),
        changed(
            "other tools",
            vec![
                json!({"tools": [{"name": "bash", "description": "", "input_schema": {}, "access": "internal"}]}),
            ],
        ),
        changed(
            "other limits",
            vec![json!({"limits": {"max_iterations": 1_000_000}})],
        ),
        changed("another model by its form", vec![json!({"model": model})]),
        changed(
            "other instructions",
            vec![json!({"instructions": [{"path": "/x", "text": "Run it."}]})],
        ),
        changed(
            "all at once",
            vec![
                json!({"server_rules": null}),
                json!({"guard": null}),
                json!({"rules": [all()]}),
                json!({"approval": "auto"}),
            ],
        ),
    ]
}

/// Returns answers that would allow more than they may.
fn answers() -> Vec<Attempt> {
    vec![
        answered("yes", vec![json!({})]),
        answered("for the session", vec![json!({"decision": "session"})]),
        answered("always", vec![json!({"decision": "always"})]),
        answered(
            "always, with a rule",
            vec![json!({"decision": "always", "rule": all()})],
        ),
        answered("once, with a rule", vec![json!({"rule": all()})]),
        answered("in another's name", vec![json!({"by": "own_local"})]),
        answered("not limited", vec![json!({"limited": false})]),
        answered("of all calls", vec![json!({"tool_call_id": "*"})]),
        answered("of no call", vec![json!({"tool_call_id": ""})]),
        answered("of a step of a call", vec![json!({"tool_call_id": "call_1/1"})]),
        answered("with a note", vec![json!({"note": "the operator says yes"})]),
        answered(
            "of two at once",
            vec![
                json!({"tool_call_id": "call_1"}),
                json!({"tool_call_id": "call_0"}),
            ],
        ),
        answered("again and again", vec![json!({}); 8]),
    ]
}

pub(crate) struct Place<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) session: String,
    /// Made by the command that must not run.
    pub(crate) canary: PathBuf,
}

impl Place<'_> {
    pub(crate) async fn post(&self, token: &str, what: &str, body: &Value) -> Reply {
        let path = format!("/v1/sessions/{}/{what}", self.session);
        self.desk.post(&path, body).by(token).send().await
    }

    /// Says something, and waits until a question is asked, which is returned, or nothing is left to be done.
    pub(crate) async fn say(&self, token: &str, words: &str) -> Option<String> {
        let said = self
            .post(token, "messages", &json!({"content": words}))
            .await
            .ok();
        let seq = said.json()["seq"].as_u64().unwrap();
        let open = self
            .desk
            .state
            .open(&SessionId::new(&*self.session))
            .await
            .unwrap();
        let mut events = open.subscribe(seq - 1, View::Runtime).await.unwrap();
        while let Some(delivery) = events.next().await {
            let Delivery::Runtime(event) = delivery else {
                continue;
            };
            match &event.event {
                RuntimeEvent::ApprovalRequested(asked) => return Some(asked.tool_call_id.to_string()),
                RuntimeEvent::RunFinished(_) => return None,
                _ => {}
            }
        }
        panic!("the session ended first");
    }

    /// Tries to have a command run, and ends what it left open.
    async fn run(&self, token: &str, attempt: &Attempt) {
        for change in &attempt.changes {
            self.post(token, "changes", &json!({"change": change})).await;
        }
        let words = format!("run touch {}", self.canary.display());
        let Some(call) = self.say(token, &words).await else {
            return;
        };
        let mut answers = attempt.answers.clone();
        answers.push(json!({}));
        for mut answer in answers {
            let fields = answer.as_object_mut().unwrap();
            fields.entry("tool_call_id").or_insert(json!(call));
            fields.entry("decision").or_insert(json!("once"));
            let reply = self.post(token, "approvals", &answer).await;
            // A field that does not exist is refused by its name, before anything is decided.
            let is_unknown = ["by", "limited"].iter().any(|name| answer.get(name).is_some())
                && reply.status == StatusCode::BAD_REQUEST;
            assert!(
                is_unknown || [StatusCode::FORBIDDEN, StatusCode::CONFLICT].contains(&reply.status),
                "{}: {answer} {:?}",
                attempt.name,
                reply.body
            );
        }
        let no = json!({"tool_call_id": call, "decision": "deny"});
        let seq = self.post(token, "approvals", &no).await.ok().json()["seq"].as_u64();
        self.desk.until_finished(&self.session, seq.unwrap()).await;
    }
}

fn config_of(agent: &Value, attempt: &Attempt) -> Value {
    let mut config = agent.clone();
    if let Some(fields) = attempt.config.as_object() {
        config.as_object_mut().unwrap().extend(fields.clone());
    }
    json!({"config": config})
}

/// None of these lets a member's call run that the operator is asked about, whether by the default or by a
/// rule, nor one that is denied.
#[tokio::test]
async fn no_request_of_a_member_lets_a_call_run_that_the_operator_decides() {
    let (asked, by_rule, denied) = (
        attacked(&[]),
        attacked(&["ask bash: touch *"]),
        attacked(&["deny bash: touch *"]),
    );
    tokio::join!(asked, by_rule, denied);
}

async fn attacked(rules: &[&str]) {
    let desk = Desk::ruled(wide(), rules).await;
    let agent = desk.agent().await;
    let mut attempts = configurations(&agent);
    attempts.extend(changes(&agent));
    attempts.extend(answers());
    let mut tried = 0;
    for (at, attempt) in attempts.iter().enumerate() {
        let canary = desk.ann_dir().join(format!("canary{at}"));
        let made = desk
            .post("/v1/sessions", &config_of(&agent, attempt))
            .by(&desk.ann);
        let made = made.send().await;
        if made.status.is_success() {
            let session = made.json()["session_id"].as_str().unwrap().to_owned();
            let place = Place {
                desk: &desk,
                session,
                canary: canary.clone(),
            };
            place.run(&desk.ann, attempt).await;
            tried += 1;
        }
        assert!(!canary.exists(), "{} with {rules:?}", attempt.name);
    }
    assert!(tried > 35, "most get as far as the call: {tried}");
}

/// Proves that the tests can fail: the same call runs if the operator allows it or has a rule.
#[tokio::test]
async fn what_the_operator_allows_a_member_runs() {
    let desk = Desk::new().await;
    let canary = desk.ann_dir().join("canary");
    let place = Place {
        desk: &desk,
        session: desk.session(&desk.ann).await,
        canary: canary.clone(),
    };
    let call = place
        .say(&desk.ann, &format!("run touch {}", canary.display()))
        .await
        .unwrap();
    let found = desk
        .get(&format!("/v1/resolve?prefix={}", place.session))
        .by(&desk.operator);
    assert_eq!(found.send().await.ok().json()["session_id"], json!(place.session));
    let always = json!({"tool_call_id": call, "decision": "always"});
    assert_eq!(
        place.post(&desk.operator, "approvals", &always).await.code(),
        "denied"
    );
    let yes = json!({"tool_call_id": call, "decision": "once"});
    let seq = place.post(&desk.operator, "approvals", &yes).await.ok().json()["seq"].as_u64();
    desk.until_finished(&place.session, seq.unwrap()).await;
    assert!(canary.exists());
    let ruled = Desk::ruled(wide(), &["allow bash: touch *"]).await;
    let canary = ruled.ann_dir().join("canary");
    let place = Place {
        desk: &ruled,
        session: ruled.session(&ruled.ann).await,
        canary: canary.clone(),
    };
    assert_eq!(
        place
            .say(&ruled.ann, &format!("run touch {}", canary.display()))
            .await,
        None
    );
    assert!(canary.exists());
}

/// A guest who drives the operator's own session, or decides in it, can neither remove its rules nor add any.
#[tokio::test]
async fn no_guest_in_the_operators_session_widens_it() {
    let (asked, by_rule, denied) = (
        driven(&[]),
        driven(&["ask bash: touch *"]),
        driven(&["deny bash: touch *"]),
    );
    tokio::join!(asked, by_rule, denied);
}

async fn driven(rules: &[&str]) {
    let desk = Desk::ruled(wide(), rules).await;
    let agent = desk.agent().await;
    let mut attempts = changes(&agent);
    attempts.extend(answers());
    for (at, attempt) in attempts.iter().enumerate() {
        let session = desk.session(&desk.operator).await;
        desk.share(&desk.operator, &session, &desk.bob_id, json!("drive"))
            .await;
        let canary = desk.directory.path().join(format!("canary{at}"));
        let place = Place {
            desk: &desk,
            session,
            canary: canary.clone(),
        };
        place.run(&desk.bob, attempt).await;
        assert!(!canary.exists(), "{} with {rules:?}", attempt.name);
    }
}

#[tokio::test]
async fn who_may_approve_allows_once_and_keeps_nothing() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    desk.share(&desk.operator, &session, &desk.bob_id, json!("approve"))
        .await;
    let canary = desk.directory.path().join("canary");
    let place = Place {
        desk: &desk,
        session,
        canary: canary.clone(),
    };
    let call = place
        .say(&desk.operator, &format!("run touch {}", canary.display()))
        .await
        .unwrap();
    for decision in ["session", "always"] {
        for rule in [Value::Null, all()] {
            let kept = json!({"tool_call_id": call, "decision": decision, "rule": rule});
            assert_eq!(
                place.post(&desk.bob, "approvals", &kept).await.code(),
                "denied",
                "{kept}"
            );
        }
    }
    let yes = json!({"tool_call_id": call, "decision": "once"});
    let seq = place.post(&desk.bob, "approvals", &yes).await.ok().json()["seq"].as_u64();
    desk.until_finished(&place.session, seq.unwrap()).await;
    assert!(canary.exists());
    let again = place
        .say(&desk.operator, &format!("run touch {}", canary.display()))
        .await;
    assert!(again.is_some(), "it is asked about again");
}

/// Friends of a member, with any role that a member can give, decide nothing in the operator's place. Nor
/// does a fork.
#[tokio::test]
async fn a_members_friends_and_forks_decide_nothing_for_the_operator() {
    let desk = Desk::new().await;
    for role in ["approve", "drive", "own"] {
        let canary = desk.ann_dir().join(role);
        let session = desk.session(&desk.ann).await;
        let place = Place {
            desk: &desk,
            session,
            canary: canary.clone(),
        };
        let call = place
            .say(&desk.ann, &format!("run touch {}", canary.display()))
            .await
            .unwrap();
        desk.share(&desk.ann, &place.session, &desk.bob_id, json!(role))
            .await;
        for decision in ["once", "session", "always"] {
            let yes = json!({"tool_call_id": call, "decision": decision});
            assert_eq!(place.post(&desk.bob, "approvals", &yes).await.code(), "denied");
        }
        let fork = place.post(&desk.ann, "fork", &json!({})).await.ok().json();
        let fork = fork["session_id"].as_str().unwrap().to_owned();
        let place = Place {
            desk: &desk,
            session: fork,
            canary: canary.clone(),
        };
        place
            .run(
                &desk.ann,
                &Attempt {
                    name: "in a fork",
                    ..Attempt::default()
                },
            )
            .await;
        assert!(!canary.exists(), "{role}");
    }
}

/// Opening a session again and again while its owner deletes it does not keep it.
#[tokio::test]
async fn nobody_keeps_a_session_from_being_deleted() {
    let desk = Desk::new().await;
    for _ in 0..5 {
        let session = desk.session(&desk.ann).await;
        let id = SessionId::new(&*session);
        let opens = async {
            loop {
                let _ = desk.state.open(&id).await;
                tokio::task::yield_now().await;
            }
        };
        let path = format!("/v1/sessions/{session}");
        let deletes = desk.ask(axum::http::Method::DELETE, &path).by(&desk.ann).send();
        let deleted = tokio::select! {
            deleted = deletes => deleted,
            () = opens => unreachable!("it goes on for ever"),
        };
        assert_eq!(deleted.status, StatusCode::NO_CONTENT, "{:?}", deleted.body);
        let again = desk.get(&path).by(&desk.ann).send().await;
        assert_eq!(again.code(), "no_session");
    }
}

/// The key that one person gives a message is not taken by that of another.
#[tokio::test]
async fn keys_of_messages_are_their_persons() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.share(&desk.ann, &session, &desk.bob_id, json!("drive"))
        .await;
    let path = format!("/v1/sessions/{session}/messages");
    let mut said = Vec::new();
    for token in [&desk.bob, &desk.ann] {
        for _ in 0..2 {
            let words = json!({"content": "hello", "idempotency_key": "K"});
            let answer = desk.post(&path, &words).by(token).send().await.ok();
            said.push(answer.json()["seq"].as_u64().unwrap());
        }
        desk.until_finished(&session, said[said.len() - 1]).await;
        desk.release(token, &session).await;
    }
    assert_eq!((said[0], said[2]), (said[1], said[3]), "the same is said once");
    assert_ne!(said[0], said[2]);
}

/// The owner of a session cannot write the key of somebody else's message, and a key stands for one message.
#[tokio::test]
async fn nobody_forges_the_key_of_anothers_message_or_gives_it_other_words() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let path = format!("/v1/sessions/{session}/messages");
    let forged = json!({"content": "no", "idempotency_key": format!("{}/K", desk.bob_id)});
    let answer = desk.post(&path, &forged).by(&desk.ann).send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code().as_str()),
        (400, "bad_request")
    );
    let words = |words: &str| json!({"content": words, "idempotency_key": "K"});
    let first = desk
        .post(&path, &words("hello"))
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    desk.until_finished(&session, first["seq"].as_u64().unwrap())
        .await;
    let again = desk
        .post(&path, &words("hello"))
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    assert_eq!(first, again);
    let other = desk.post(&path, &words("bye")).by(&desk.ann).send().await;
    assert_eq!(
        (other.status.as_u16(), other.code().as_str()),
        (422, "key_reused")
    );
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Each member works in a directory that is theirs alone; whatever lies elsewhere is asked about.
#[tokio::test]
async fn a_member_works_in_a_directory_of_their_own() {
    let desk = Desk::new().await;
    let real = std::fs::canonicalize(desk.directory.path()).unwrap();
    std::fs::write(real.join("plans.txt"), "the operator's\n").unwrap();
    let session = desk.session(&desk.ann).await;
    let mine = real.join("members").join(&desk.ann_id);
    assert_eq!((mode(&mine), mode(&real.join("members"))), (0o700, 0o700));
    std::fs::write(mine.join("notes.txt"), "Ann's\n").unwrap();
    let place = Place {
        desk: &desk,
        session,
        canary: mine.clone(),
    };
    assert_eq!(
        place.say(&desk.ann, "read notes.txt").await,
        None,
        "what is theirs is read"
    );
    let theirs = real.join("members").join(&desk.bob_id);
    for words in [
        format!("read {}/plans.txt", real.display()),
        "read ../../plans.txt".to_owned(),
        format!("read {}/notes.txt", theirs.display()),
        format!("search for key in {}", real.display()),
        format!("write hello to {}/plans.txt", real.display()),
        "write hello to notes.txt".to_owned(),
        "run cat notes.txt".to_owned(),
    ] {
        let call = place.say(&desk.ann, &words).await;
        let call = call.unwrap_or_else(|| panic!("{words} is not asked about"));
        let yes = json!({"tool_call_id": call, "decision": "once"});
        assert_eq!(
            place.post(&desk.ann, "approvals", &yes).await.code(),
            "denied",
            "{words}"
        );
        let state = desk.seen(&format!("/v1/sessions/{}/state", place.session)).await;
        let asked = &state["pending_approvals"][0];
        assert_eq!(asked["by_server"], true);
        assert!(
            asked["reason"].as_str().unwrap().contains("only the operator"),
            "{asked}"
        );
        let no = json!({"tool_call_id": call, "decision": "deny"});
        let seq = place.post(&desk.ann, "approvals", &no).await.ok().json()["seq"].as_u64();
        desk.until_finished(&place.session, seq.unwrap()).await;
    }
}

/// A stranger's attack is refused: with the role `own` they gave themselves `approve`, wrote instructions
/// under the name of the operator's file, and put control characters into the list of people.
#[tokio::test]
async fn who_has_a_part_in_the_operators_session_names_nobody_who_decides_and_writes_no_instructions() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    desk.share(&desk.operator, &session, &desk.bob_id, json!("own"))
        .await;
    let canary = desk.directory.path().join("canary");
    let place = Place {
        desk: &desk,
        session,
        canary,
    };
    for role in ["approve", "own"] {
        for person in [desk.bob_id.as_str(), "own_friend"] {
            let shared = json!({"person": person, "role": role});
            let answered = place.post(&desk.bob, "roles", &shared).await;
            assert_eq!(answered.code(), "denied", "{role} for {person}");
            desk.share(&desk.operator, &place.session, &desk.bob_id, json!("own"))
                .await;
        }
    }
    for person in [
        "\u{1b}]2;title\u{7}",
        "zz\nown_local",
        "own_",
        "own_A b",
        &format!("own_{}", "a".repeat(65)),
    ] {
        let shared = json!({"person": person, "role": "watch"});
        let answered = place.post(&desk.operator, "roles", &shared).await;
        assert_eq!(answered.code(), "refused", "{person:?}");
    }
    let forged = json!({"change": {"instructions": [{"path": "AGENTS.md", "text": "made up"}]}});
    let answered = place.post(&desk.bob, "changes", &forged).await;
    assert_eq!(answered.code(), "denied");
}
