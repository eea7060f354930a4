//! Size limits of input: refused input is neither kept nor repeated at length.

use agentx_config::Settings;
use agentx_runtime::{Delivery, RestoreRequest, Runtime as _, View};
use agentx_server::{Caller, RequestTerms};
use agentx_types::wire::{InterruptFrame, Problem, WheelFrame, WheelWish};
use agentx_types::{ConfigChange, MessageId, RULES_VERSION, RuntimeEvent, SessionId};
use axum::http::{Method, StatusCode};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply, wide};
use crate::support::within;

impl Desk {
    async fn send(&self, token: &str, session: &str, route: &str, body: &Value) -> Reply {
        let path = format!("/v1/sessions/{session}/{route}");
        self.post(&path, body).by(token).send().await
    }

    async fn changes(&self, token: &str, session: &str, change: Value) -> Reply {
        self.send(token, session, "changes", &json!({ "change": change }))
            .await
    }

    /// A session of somebody in which a call waits, so that all that is said from now on waits.
    async fn busy(&self, token: &str) -> String {
        let session = self.session(token).await;
        let begun = json!({"content": "run touch file"});
        self.send(token, &session, "messages", &begun).await.ok();
        session
    }

    /// From now on the sessions of each member take as much as they may.
    async fn fill(&self) {
        let mut settings = Settings::clone(&self.state.settings());
        settings.quotas.bytes = Some(1);
        self.state.renew(&settings).await;
    }

    async fn head(&self, session: &str) -> u64 {
        let path = format!("/v1/sessions/{session}");
        let info = self.get(&path).by(&self.operator).send().await.ok().json();
        info["last_seq"].as_u64().unwrap()
    }
}

fn answered(answer: &Reply, status: u16, code: &str) -> String {
    let got = (answer.status.as_u16(), answer.code());
    assert_eq!(got, (status, code.to_owned()), "{}", answer.json());
    answer.json()["detail"].as_str().unwrap().to_owned()
}

fn deny(pattern: &str) -> Value {
    json!({"rule_added": {"effect": "deny", "tool": "bash", "argument": pattern}})
}

#[tokio::test]
async fn a_message_weighs_its_parts_and_all_their_texts() {
    let desk = Desk::with_quotas(|quotas| quotas.queued_bytes = 10_000).await;
    let file = |kind: &str, name: &str| json!({"type": "file", "media_type": kind, "name": name, "source": {"url": "https://example.com/a"}});
    let long = "x".repeat(10_000);
    let empty = json!({"type": "text", "text": ""});
    for content in [
        json!(vec![empty; 40]),
        json!([file("a/b", &long)]),
        json!([file(&long, "a")]),
        json!("a schema"),
    ] {
        let session = desk.busy(&desk.ann).await;
        let mut body = json!({ "content": content });
        if content == "a schema" {
            body["answer_schema"] = json!({"schema": {"enum": [long]}});
        }
        desk.send(&desk.ann, &session, "messages", &body).await.ok();
        let more = desk
            .send(&desk.ann, &session, "messages", &json!({"content": "more"}))
            .await;
        let said = answered(&more, 429, "queue_full");
        assert!(said.contains("quotas.queued_bytes"), "{said}");
    }
}

#[tokio::test]
async fn a_message_has_so_many_parts_and_none_of_a_provider() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let empty = json!({"type": "text", "text": ""});
    let body = json!({"content": vec![empty; 1001]});
    let answer = desk.send(&desk.ann, &session, "messages", &body).await;
    let said = answered(&answer, 422, "bad_json");
    assert!(said.contains("at most 1000 parts"), "{said}");
    let data = json!({"api": "anthropic", "data": {"x": 1}});
    for part in [
        json!({"type": "text", "text": "hi", "provider": data}),
        json!({"type": "opaque", "provider": data}),
    ] {
        let body = json!({"content": [part]});
        let answer = desk
            .send(
                &desk.operator,
                &desk.session(&desk.operator).await,
                "messages",
                &body,
            )
            .await;
        let said = answered(&answer, 400, "bad_request");
        assert!(said.contains("but no provider data (`provider`)"), "{said}");
    }
}

#[tokio::test]
async fn what_is_refused_has_stored_no_files() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let picture = |fill: u8| {
        let bytes = base64::engine::general_purpose::STANDARD.encode(vec![fill; 3 << 20]);
        json!({"type": "file", "media_type": "text/plain", "source": {"base64": bytes}})
    };
    let message = |content: Value, key: &str| json!({"content": content, "idempotency_key": key});
    desk.send(&desk.ann, &session, "messages", &message(json!("hello"), "K"))
        .await
        .ok();
    desk.share(&desk.ann, &session, &desk.bob_id, json!("drive"))
        .await;
    let before = desk.database().await;
    let reused = message(json!([picture(1)]), "K");
    let answer = desk.send(&desk.ann, &session, "messages", &reused).await;
    answered(&answer, 422, "key_reused");
    // Ann drives.
    let words = message(json!([picture(2)]), "B");
    let answer = desk.send(&desk.bob, &session, "messages", &words).await;
    answered(&answer, 403, "denied");
    let after = desk.database().await;
    assert!(after < before + (3 << 20), "{before} to {after}");
    desk.send(
        &desk.ann,
        &session,
        "messages",
        &message(json!([picture(3)]), "A"),
    )
    .await
    .ok();
    let kept = desk.database().await;
    assert!(
        kept > after + (2 << 20),
        "what is taken is stored: {after} to {kept}"
    );
}

impl Desk {
    /// Bytes of all that is stored.
    async fn database(&self) -> u64 {
        let stored = self.state.runtime().stored(None).await.unwrap();
        stored.unwrap().database.unwrap()
    }
}

#[tokio::test]
async fn a_change_makes_a_configuration_no_larger_than_the_server_takes() {
    let desk = Desk::with_quotas(|quotas| quotas.config_bytes = 200_000).await;
    let own = desk.session(&desk.operator).await;
    desk.share(&desk.operator, &own, &desk.bob_id, json!("drive"))
        .await;
    let hers = desk.session(&desk.ann).await;
    let long = "x".repeat(250_000);
    let many: Vec<Value> = (0..5000)
        .map(|number| json!({"effect": "deny", "tool": "bash", "argument": format!("rm {number}*")}))
        .collect();
    for (token, session) in [(&desk.ann, &hers), (&desk.bob, &own)] {
        for change in [deny(&long), json!({"rules": many})] {
            let head = desk.head(session).await;
            let answer = desk.changes(token, session, change).await;
            let said = answered(&answer, 413, "too_large");
            assert!(said.contains("quotas.config_bytes"), "{said}");
            let wheel = u64::from(head == 1 || desk.head(session).await > head);
            assert!(desk.head(session).await <= head + wheel);
        }
        desk.changes(token, session, deny("rm *")).await.ok();
    }
    let body = json!({"agent": "react", "system_prompt": long});
    let made = desk.post("/v1/sessions", &body).by(&desk.ann).send().await;
    answered(&made, 413, "too_large");
}

/// A person whose quota is used up can still make a session stricter, and adds nothing else to it.
#[tokio::test]
async fn what_is_written_for_good_counts_for_the_owner_and_a_stricter_rule_is_possible() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = None).await;
    let session = desk.session(&desk.ann).await;
    let first = json!({"content": "hello"});
    let said = desk
        .send(&desk.ann, &session, "messages", &first)
        .await
        .ok()
        .json();
    desk.until_finished(&session, said["seq"].as_u64().unwrap()).await;
    desk.share(&desk.ann, &session, &desk.bob_id, json!("watch"))
        .await;
    desk.fill().await;
    let head = desk.head(&session).await;
    let title = json!({"title": "another"});
    let path = format!("/v1/sessions/{session}");
    let renamed = desk
        .ask(Method::PATCH, &path)
        .json(&title)
        .by(&desk.ann)
        .send()
        .await;
    let long = deny(&"x".repeat(300_000));
    let role = |person: &str, role: Value| json!({"person": person, "role": role});
    for answer in [
        renamed,
        desk.send(&desk.ann, &session, "roles", &role(&desk.vera_id, json!("watch")))
            .await,
        desk.send(&desk.ann, &session, "roles", &role(&desk.vera_id, Value::Null))
            .await,
        desk.changes(&desk.ann, &session, json!({"params": {}})).await,
        desk.changes(&desk.ann, &session, json!({"rules": []})).await,
        desk.changes(&desk.ann, &session, long).await,
    ] {
        let said = answered(&answer, 507, "quota_storage");
        assert!(said.contains("quotas.storage_bytes"), "{said}");
    }
    assert_eq!(desk.head(&session).await, head, "nothing of it is on record");
    desk.changes(&desk.ann, &session, deny("rm *")).await.ok();
    desk.changes(&desk.ann, &session, json!({"approval": "deny"}))
        .await
        .ok();
    for tokens in [500_000, 1000] {
        let change = json!({"limits": {"max_tokens": tokens}});
        desk.changes(&desk.ann, &session, change).await.ok();
    }
    desk.send(&desk.ann, &session, "roles", &role(&desk.bob_id, Value::Null))
        .await
        .ok();
    for again in [
        json!({"limits": {"max_tokens": 1000}}),
        json!({"limits": {"max_tokens": 2000, "max_wall_ms": 1}}),
        deny("rm *"),
        json!({"approval": "deny"}),
        json!({"approval": "ask"}),
    ] {
        let answer = desk.changes(&desk.ann, &session, again).await;
        answered(&answer, 507, "quota_storage");
    }
}

/// A change that would widen a limit is refused as a whole, as a request and as a command of a socket.
#[tokio::test]
async fn a_change_that_widens_a_limit_is_refused_with_the_bound() {
    let desk = Desk::set(wide(), |settings| settings.limits.max_tokens = Some(1000)).await;
    let session = desk.session(&desk.ann).await;
    let head = desk.head(&session).await;
    for (limits, said) in [
        (
            json!({"max_iterations": 1_000_000}),
            "`limits.max_iterations` is at most 50",
        ),
        (
            json!({"max_iterations": 5, "max_tokens": 1001}),
            "`limits.max_tokens` is at most 1000",
        ),
    ] {
        let change = json!({ "limits": limits });
        let answer = desk.changes(&desk.ann, &session, change.clone()).await;
        let detail = answered(&answer, 403, "denied");
        assert!(detail.contains(said), "{detail}");
        let frame = json!({"session_id": session, "command": "change", "args": {"change": change}});
        let frame = serde_json::from_value(frame).unwrap();
        let caller = desk.caller(&desk.ann, "socket");
        let refused = desk.state.command(&caller, frame).await.unwrap_err();
        assert!(refused.to_string().contains(said), "{refused}");
    }
    assert_eq!(desk.head(&session).await, head, "nothing of it is on record");
    let stricter = json!({"limits": {"max_iterations": 5}});
    desk.changes(&desk.ann, &session, stricter).await.ok();
    let state = desk.seen(&format!("/v1/sessions/{session}/state")).await;
    let limits = &state["config"]["limits"];
    assert_eq!(limits, &json!({"max_iterations": 5, "max_tokens": 1000}));
    // It may widen again, up to the settings.
    let wider = json!({"limits": {"max_iterations": 50}});
    desk.changes(&desk.ann, &session, wider).await.ok();
}

/// The length of an answer that nobody set is up to the model's server, so any number may be more.
#[tokio::test]
async fn who_drives_sets_no_length_of_answers_where_there_was_none() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    desk.share(&desk.operator, &session, &desk.bob_id, json!("drive"))
        .await;
    let params = |most: Value| json!({"params": {"max_output_tokens": most}});
    for most in [90_000, 1] {
        let answer = desk.changes(&desk.bob, &session, params(json!(most))).await;
        let detail = answered(&answer, 403, "denied");
        assert!(
            detail.contains("`params` would allow answers more tokens"),
            "{detail}"
        );
    }
    // Where the operator set one, it is the bound.
    desk.changes(&desk.operator, &session, params(json!(500)))
        .await
        .ok();
    desk.release(&desk.operator, &session).await;
    for wider in [json!(501), Value::Null] {
        let answer = desk.changes(&desk.bob, &session, params(wider)).await;
        answered(&answer, 403, "denied");
    }
    desk.changes(&desk.bob, &session, params(json!(499))).await.ok();
}

/// A session may have wider limits than settings that became stricter; nothing is reduced silently.
#[tokio::test]
async fn a_limit_beyond_settings_that_became_stricter_is_refused_with_their_bound() {
    let desk = Desk::set(wide(), |settings| settings.limits.max_iterations = Some(20)).await;
    let session = desk.session(&desk.ann).await;
    let mut settings = Settings::clone(&desk.state.settings());
    settings.limits.max_iterations = Some(10);
    desk.state.renew(&settings).await;
    let limits = |most: u32| json!({"limits": {"max_iterations": most}});
    let detail = answered(
        &desk.changes(&desk.ann, &session, limits(15)).await,
        403,
        "denied",
    );
    assert!(
        detail.contains("only this server's operator")
            && detail.ends_with("`limits.max_iterations` is at most 10"),
        "{detail}"
    );
    desk.changes(&desk.ann, &session, limits(10)).await.ok();
    desk.changes(&desk.ann, &session, limits(5)).await.ok();
    // The owner's limit binds who drives, and the owner can extend it.
    desk.share(&desk.ann, &session, &desk.bob_id, json!("drive"))
        .await;
    desk.release(&desk.ann, &session).await;
    let detail = answered(&desk.changes(&desk.bob, &session, limits(7)).await, 403, "denied");
    assert!(
        detail.contains("only the owner of this session")
            && detail.ends_with("`limits.max_iterations` is at most 5"),
        "{detail}"
    );
    let left_out = json!({"limits": {"max_tokens": 500}});
    let detail = answered(&desk.changes(&desk.bob, &session, left_out).await, 403, "denied");
    assert!(
        detail.contains("at most 5, and a limit that is left out counts as that of the server's settings"),
        "{detail}"
    );
    let both = json!({"limits": {"max_iterations": 5, "max_tokens": 500}});
    desk.changes(&desk.bob, &session, both).await.ok();
}

/// A misspelt limit would loosen what it was meant to tighten.
#[tokio::test]
async fn a_limit_that_does_not_exist_is_refused_by_its_name() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    for list in [json!([]), json!([5])] {
        let answer = desk.changes(&desk.ann, &session, json!({ "limits": list })).await;
        let detail = answered(&answer, 400, "bad_request");
        assert!(detail.contains("must be an object"), "{detail}");
    }
    let change = json!({"limits": {"max_costs": 1}});
    let answer = desk.changes(&desk.ann, &session, change.clone()).await;
    let detail = answered(&answer, 400, "bad_request");
    assert!(detail.contains("\"max_costs\""), "{detail}");
    let frame = json!({"session_id": session, "command": "change", "args": {"change": change}});
    let caller = desk.caller(&desk.ann, "socket");
    let frame = serde_json::from_value(frame).unwrap();
    let refused = desk.state.command(&caller, frame).await.unwrap_err();
    assert!(refused.to_string().contains("\"max_costs\""), "{refused}");
}

/// A misspelt setting would leave the default in its place, which may be looser.
#[tokio::test]
async fn a_setting_that_does_not_exist_is_refused_by_its_name_and_what_was_meant() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let agent = desk.agent().await;
    let mut nested = agent.clone();
    nested["agents"] = json!([agent]);
    for (place, named) in [
        ("/config/limits/max_itertions", "did you mean \"max_iterations\"?"),
        ("/config/params/temprature", "did you mean \"temperature\"?"),
        ("/config/agents/0/aproval", "did you mean \"approval\"?"),
        ("/config/xyzzy", "the fields are "),
        ("/cofnig", "did you mean \"config\"?"),
    ] {
        let mut body = json!({ "config": nested });
        let (parent, name) = place.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = json!(1);
        let made = desk.post("/v1/sessions", &body).by(&desk.ann).send().await;
        let detail = answered(&made, 400, "bad_request");
        assert!(
            detail.contains(&format!("{name:?}")) && detail.contains(named),
            "{detail}"
        );
        let path = place.trim_start_matches('/').replace('/', ".");
        assert_eq!(made.json()["data"]["path"], json!(path));
    }
    let named = json!({"agent": "reader", "limits": {"max_tokns": 1}});
    let made = desk.post("/v1/sessions", &named).by(&desk.ann).send().await;
    assert!(answered(&made, 400, "bad_request").contains("\"max_tokens\""));
    let change = json!({"params": {"temprature": 1}});
    let answer = desk.changes(&desk.ann, &session, change).await;
    assert!(answered(&answer, 400, "bad_request").contains("\"temperature\""));
    // A role that is left out takes the role away, and a place that is left out is the end.
    let at = format!("/v1/sessions/{session}");
    let body = json!({"person": desk.bob_id, "rol": "watch"});
    let role = desk
        .post(&format!("{at}/roles"), &body)
        .by(&desk.ann)
        .send()
        .await;
    assert!(answered(&role, 400, "bad_request").contains("\"role\""));
    let body = json!({"at": 1});
    let fork = desk.post(&format!("{at}/fork"), &body).by(&desk.ann).send().await;
    assert!(answered(&fork, 422, "bad_json").contains("at_seq"));
    // A message is read by older and newer servers, which ignore what they do not know.
    let body = json!({"content": "hello", "mood": "happy"});
    let said = desk.post(&format!("{at}/messages"), &body).by(&desk.ann);
    said.send().await.ok();
}

/// A person whose quota is used up cannot fill the log with changes of the wheel. They can stop a run and
/// release the wheel.
#[tokio::test]
async fn changes_of_the_wheel_count_for_the_owner() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = None).await;
    let session = desk.busy(&desk.ann).await;
    let id = SessionId::new(&*session);
    let open = desk.state.open(&id).await.unwrap();
    let mut events = open.subscribe(0, View::Runtime).await.unwrap();
    let asks = |delivery: &Delivery| match delivery {
        Delivery::Runtime(event) => matches!(event.event, RuntimeEvent::ApprovalRequested(_)),
        _ => false,
    };
    while !asks(&within(events.next()).await.unwrap()) {}
    drop((events, open));
    desk.fill().await;
    let head = desk.head(&session).await;
    let (one, other) = (desk.caller(&desk.ann, "one"), desk.caller(&desk.ann, "other"));
    let wheel = |caller: &Caller, wish: WheelWish| {
        let frame = WheelFrame {
            session_id: id.clone(),
            wish,
        };
        let (state, caller) = (desk.state.clone(), caller.clone());
        async move { state.wheel(&caller, frame).await.map(drop) }
    };
    let stop = |caller: &Caller| {
        let frame = InterruptFrame {
            session_id: id.clone(),
            reason: None,
            wheel_epoch: None,
            idempotency_key: None,
        };
        let (state, caller) = (desk.state.clone(), caller.clone());
        async move { state.interrupt(&caller, frame).await }
    };
    let restore = || RestoreRequest {
        to_seq: 1,
        files: Vec::new(),
    };
    for caller in [&one, &other, &one] {
        let state = &desk.state;
        let rules = ConfigChange::Rules(Vec::new());
        let input = (MessageId::new("msg_none"), None);
        for refused in [
            wheel(caller, WheelWish::Take).await,
            state
                .change(caller, &id, rules, RequestTerms::default())
                .await
                .map(drop),
            state
                .revise(caller, &id, input, RequestTerms::default())
                .await
                .map(drop),
            state
                .restore(caller, &id, restore(), RequestTerms::default())
                .await
                .map(drop),
        ] {
            assert_eq!(Problem::from(&refused.unwrap_err()).code, "quota_storage");
        }
    }
    assert_eq!(desk.head(&session).await, head, "nothing of it is on record");
    let stopped = stop(&one).await.unwrap();
    desk.until_finished(&session, stopped).await;
    let head = desk.head(&session).await;
    for _ in 0..3 {
        let again = stop(&other).await.unwrap_err();
        assert_eq!(Problem::from(&again).code, "quota_storage");
    }
    assert_eq!(desk.head(&session).await, head);
    wheel(&one, WheelWish::Release).await.unwrap();
    assert_eq!(desk.head(&session).await, head + 1);
}

#[tokio::test]
async fn rules_of_a_newer_program_and_long_names_are_refused() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    let change = json!({"rules_version": RULES_VERSION + 1});
    let answer = desk.changes(&desk.operator, &session, change).await;
    let said = answered(&answer, 400, "bad_request");
    assert!(said.contains(&format!("up to version {RULES_VERSION}")), "{said}");
    let change = json!({ "rules_version": RULES_VERSION });
    desk.changes(&desk.operator, &session, change).await.ok();
    let mut newer = desk.agent().await;
    newer["rules_version"] = json!(u32::MAX);
    let mut named = desk.agent().await;
    named["name"] = json!("x".repeat(201));
    let mut child = desk.agent().await;
    child["agents"] = json!([named]);
    for config in [newer, named, child] {
        for token in [&desk.ann, &desk.operator] {
            let body = json!({ "config": config });
            let made = desk.post("/v1/sessions", &body).by(token).send().await;
            answered(&made, 400, "bad_request");
        }
    }
}

#[tokio::test]
async fn a_refusal_repeats_little_of_what_was_sent() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    let long = "x".repeat(100_000);
    let call = json!({"tool_call_id": long, "decision": "deny"});
    let pin = json!({"wish": {"pin": {"message_id": long, "pinned": true}}});
    for (route, body) in [
        ("approvals", call),
        ("revisions", json!({ "message_id": long })),
        ("context", pin),
        (
            "changes",
            json!({"change": {"model": {"id": long, "provider": "x", "api": "scripted", "context_window": 1, "max_output_tokens": 1}}}),
        ),
        ("messages", json!({"content": "hi", "mode": long})),
        ("messages", json!({"content": [{"type": long}]})),
    ] {
        let answer = desk.send(&desk.operator, &session, route, &body).await;
        assert!(answer.status.is_client_error(), "{route}: {}", answer.json());
        assert!(
            answer.body.len() < 10_000,
            "{route} says {} bytes",
            answer.body.len()
        );
    }
    let agent = json!({ "agent": long });
    let model = json!({"agent": "react", "model": long});
    for body in [agent, model] {
        let made = desk.post("/v1/sessions", &body).by(&desk.ann).send().await;
        answered(&made, 400, "bad_request");
    }
    let path = format!("/v1/sessions/{}", "s".repeat(201));
    let answer = desk.get(&path).by(&desk.operator).send().await;
    answered(&answer, 404, "no_session");
    for name in ["agents", "media"] {
        let path = format!("/v1/sessions/{session}/events?{name}={}", "x".repeat(201));
        let answer = desk.get(&path).by(&desk.operator).send().await;
        answered(&answer, 400, "bad_request");
    }
    let made_up = json!({"wish": {"pin": {"message_id": "msg_made_up", "pinned": true}}});
    let head = desk.head(&session).await;
    let answer = desk.send(&desk.operator, &session, "context", &made_up).await;
    answered(&answer, 409, "refused");
    assert!(
        desk.head(&session).await <= head + 1,
        "the wheel alone is on record"
    );
}

#[tokio::test]
async fn where_as_many_wait_as_may_a_message_that_interrupts_is_taken() {
    let desk = Desk::with_quotas(|quotas| (quotas.queued, quotas.queued_bytes) = (2, 3000)).await;
    let session = desk.busy(&desk.ann).await;
    let say = async |words: &str, mode: &str| {
        let body = json!({"content": words, "mode": mode});
        desk.send(&desk.ann, &session, "messages", &body).await
    };
    say("one", "queue").await.ok();
    say("two", "queue").await.ok();
    let full = say("three", "queue").await;
    let said = answered(&full, 429, "queue_full");
    assert!(said.contains("an interrupt still works"), "{said}");
    let taken = say("hello", "interrupt").await;
    assert_eq!(taken.status, StatusCode::OK, "{}", taken.json());
}

/// The time of the client does not count when a message is compared with the one before.
#[tokio::test]
async fn a_message_that_is_sent_again_may_say_another_time() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let file = json!({"type": "file", "media_type": "text/plain", "source": {"base64": "aGVsbG8="}});
    let send = async |words: &str, time: Option<&str>| {
        let text = json!({"type": "text", "text": words});
        let mut body = json!({"content": [text, file], "idempotency_key": "K"});
        if let Some(time) = time {
            body["client_timestamp_utc"] = json!(time);
        }
        desk.send(&desk.ann, &session, "messages", &body).await
    };
    let first = send("hello", Some("2026-11-21T10:00:00Z")).await.ok().json();
    desk.until_finished(&session, first["seq"].as_u64().unwrap())
        .await;
    for time in [Some("2026-11-21T10:00:07Z"), None] {
        assert_eq!(send("hello", time).await.ok().json(), first);
    }
    let other = send("bye", Some("2026-11-21T10:00:00Z")).await;
    answered(&other, 422, "key_reused");
    for (name, value) in [
        ("mode", json!("interrupt")),
        ("answer_schema", json!({"schema": {"type": "object"}})),
    ] {
        let mut body = json!({"content": [{"type": "text", "text": "hello"}, file], "idempotency_key": "K"});
        body[name] = value;
        let other = desk.send(&desk.ann, &session, "messages", &body).await;
        answered(&other, 422, "key_reused");
    }
}

/// A large answer is held until it is sent, one of each person; others continue.
#[tokio::test]
async fn one_large_state_of_a_person_is_held_at_a_time() {
    let desk = Desk::new().await;
    let session = desk.busy(&desk.ann).await;
    let long = json!({"content": "x".repeat(2 << 20)});
    desk.send(&desk.ann, &session, "messages", &long).await.ok();
    desk.share(&desk.ann, &session, &desk.bob_id, json!("watch"))
        .await;
    let path = format!("/v1/sessions/{session}/state");
    let read = |token: &str| desk.get(&path).by(token);
    let first = read(&desk.ann).open().await;
    assert_eq!(first.status(), StatusCode::OK);
    let mut second = Box::pin(read(&desk.ann).open());
    let his = async {
        for _ in 0..20 {
            let state = read(&desk.bob).send().await.ok();
            assert!(state.body.len() > 2 << 20);
        }
    };
    tokio::select! {
        biased;
        _ = &mut second => panic!("two large answers of one person are held"),
        () = his => {}
    }
    drop(first);
    assert_eq!(second.await.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_agent_has_few_context_sources_with_different_names() {
    let desk = Desk::new().await;
    let source = |name: usize| json!({"name": format!("source-{name}"), "max_tokens": 1});
    for (names, is_taken) in [
        ((0..32).collect(), true),
        ((0..33).collect(), false),
        (vec![1, 1], false),
    ] {
        let mut config = desk.agent().await;
        config["context_sources"] = names.iter().copied().map(source).collect();
        let made = desk
            .post("/v1/sessions", &json!({"config": config}))
            .by(&desk.ann)
            .send()
            .await;
        if is_taken {
            made.ok();
        } else {
            assert!(answered(&made, 400, "bad_request").contains("context_sources"));
        }
    }
}
