//! Actions of people: sessions made, changed, forked and deleted; the same request twice; the parts of an
//! agent that a server accepts.

use agentx_runtime::{OpenRequest, Runtime as _};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::Desk;

#[tokio::test]
async fn a_session_from_beginning_to_end() {
    let desk = Desk::new().await;
    let config = json!({"config": desk.agent().await});
    let made = desk.post("/v1/sessions", &config).by(&desk.ann).send().await;
    assert_eq!(made.status, StatusCode::CREATED);
    let at = made.header("location").to_owned();
    let seq = desk
        .say(&desk.ann, &at["/v1/sessions/".len()..], json!("hello"))
        .await;
    let patched = desk
        .ask(Method::PATCH, &at)
        .by(&desk.ann)
        .json(&json!({"title": "Greetings"}));
    patched.send().await.ok();
    let info = desk.seen(&at).await;
    assert_eq!(
        (&info["title"], &info["role"]),
        (&json!("Greetings"), &json!("own"))
    );
    let state = desk.seen(&format!("{at}/state")).await;
    assert_eq!(state["run"]["status"], "completed");
    assert_eq!(state["sharing"]["seat"]["client"], "http");
    for path in ["verify", "replay"] {
        let check = desk.ask(Method::POST, &format!("{at}/{path}")).by(&desk.ann);
        let checked = check.send().await.ok();
        assert!(checked.json()["problems"].as_array().is_none_or(Vec::is_empty));
    }
    let context = desk.seen(&format!("{at}/context")).await;
    assert!(context["body"].as_str().unwrap().contains("hello"));
    let exported = desk.get(&format!("{at}/export")).by(&desk.ann).send().await.ok();
    assert_eq!(exported.header("content-type"), "application/x-ndjson");
    let text = String::from_utf8(exported.body.to_vec()).unwrap();
    let frames = text.lines().map(serde_json::from_str::<Value>);
    let seqs: Vec<u64> = frames
        .map(|frame| frame.unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let fork = json!({"at_seq": seq});
    let fork = desk.post(&format!("{at}/fork"), &fork).by(&desk.ann).send().await;
    assert_eq!(fork.status, StatusCode::CREATED);
    let forked = desk.seen(fork.header("location")).await;
    assert_eq!(forked["last_seq"], json!(seq));
    let gone = desk.ask(Method::DELETE, &at).by(&desk.ann).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(desk.get(&at).by(&desk.ann).send().await.code(), "no_session");
}

#[tokio::test]
async fn what_is_asked_for_twice_is_done_once() {
    let desk = Desk::new().await;
    let config = json!({"config": desk.agent().await});
    let make = async |token: &str| {
        let ask = desk.post("/v1/sessions", &config).by(token);
        let made = ask.header("idempotency-key", "k1").send().await.ok();
        made.json()["session_id"].as_str().unwrap().to_owned()
    };
    let session = make(&desk.ann).await;
    assert_eq!(make(&desk.ann).await, session);
    assert_ne!(make(&desk.bob).await, session, "a key is its person's");
    let mut other = config.clone();
    other["config"]["name"] = json!("another");
    let other = desk.post("/v1/sessions", &other).by(&desk.ann);
    let other = other.header("idempotency-key", "k1").send().await;
    assert_eq!(
        (other.status.as_u16(), &*other.code()),
        (422, "key_reused"),
        "a key is that of one request"
    );
    let messages = format!("/v1/sessions/{session}/messages");
    let say = async || {
        let ask = desk.post(&messages, &json!({"content": "hello"})).by(&desk.ann);
        ask.header("idempotency-key", "m1").send().await.ok().json()["seq"].clone()
    };
    assert_eq!(say().await, say().await);
    let in_body = json!({"content": "hello", "idempotency_key": "m2"});
    let one = desk
        .post(&messages, &in_body)
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    let other = desk
        .post(&messages, &in_body)
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    assert_eq!(one, other);
}

#[tokio::test]
async fn an_agent_that_is_posted_whole_keeps_what_makes_it_work() {
    let desk = Desk::new().await;
    let tool = |name: &str, quit: bool| json!({"name": name, "description": "", "input_schema": {}, "access": "internal", "quit": quit});
    let mut helper = desk.agent().await;
    helper["name"] = json!("helper");
    helper["tools"] = json!([tool("read", false)]);
    let mut config = desk.agent().await;
    config["tools"] = json!([tool("grep", true), tool("glob", false), tool("delegate", false)]);
    config["agents"] = json!([helper]);
    let ask = desk.post("/v1/sessions", &json!({"config": config}));
    let made = ask.by(&desk.ann).send().await.ok();
    let path = format!("{}/state", made.header("location"));
    let state = desk.get(&path).by(&desk.ann).send().await.ok().json();
    let kept = |agent: &Value| -> Vec<(String, bool)> {
        let tools = agent["tools"].as_array().unwrap().iter();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.map(|tool| (name(tool), tool["quit"] == true)).collect()
    };
    let expected = [
        ("grep", true),
        ("glob", false),
        ("delegate", false),
        ("agents", false),
    ];
    assert_eq!(
        kept(&state["config"]),
        expected.map(|(name, quit)| (name.to_owned(), quit))
    );
    let delegate = &state["config"]["tools"][2];
    assert_eq!(
        delegate["input_schema"]["properties"]["agent"]["enum"],
        json!(["helper"])
    );
    let helper = &state["config"]["agents"][0];
    assert_eq!(kept(helper), [("read".to_owned(), false)]);
}

#[tokio::test]
async fn tools_and_trust_are_the_servers() {
    let desk = Desk::new().await;
    let own = desk.agent().await;
    let mut config = own.clone();
    config["tools"] = json!([
        {"name": "bash", "description": "forged", "input_schema": {}, "access": "internal"},
        {"name": "mine", "description": "mine", "input_schema": {}, "access": "internal"},
    ]);
    config["workspace"] = json!("/");
    config["model"]["prices"] = json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0});
    config["rules"] = json!([{"effect": "allow", "tool": "*"}, {"effect": "deny", "tool": "bash"}]);
    let made = desk
        .post("/v1/sessions", &json!({"config": config}))
        .by(&desk.ann)
        .send()
        .await
        .ok();
    let path = format!("{}/state", made.header("location"));
    let state = desk.get(&path).by(&desk.ann).send().await.ok().json();
    let kept = &state["config"];
    assert_eq!(
        kept["workspace"],
        json!(desk.ann_dir()),
        "a member works in a directory of their own"
    );
    assert_eq!(kept["model"], own["model"]);
    assert_eq!(kept["tools"].as_array().unwrap().len(), 1);
    assert_ne!(kept["tools"][0]["description"], "forged");
    assert_eq!(kept["rules"], json!([{"effect": "deny", "tool": "bash"}]));

    config["approval"] = json!("auto");
    let refused = desk
        .post("/v1/sessions", &json!({"config": config}))
        .by(&desk.ann)
        .send()
        .await;
    assert_eq!(refused.code(), "denied");
    config["workspace"] = json!(desk.directory.path());
    let made = desk
        .post("/v1/sessions", &json!({"config": config}))
        .by(&desk.operator)
        .send()
        .await
        .ok();
    let path = format!("{}/state", made.header("location"));
    let state = desk.get(&path).by(&desk.operator).send().await.ok().json();
    let real = std::fs::canonicalize(desk.directory.path()).unwrap();
    assert_eq!(
        state["config"]["workspace"],
        json!(real),
        "the operator says where"
    );
    assert_eq!(state["config"]["approval"], "auto");
    config["model"]["id"] = json!("no-such-model");
    config["model"]["provider"] = json!("nobody");
    let unknown = desk
        .post("/v1/sessions", &json!({"config": config}))
        .by(&desk.operator)
        .send()
        .await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.code().as_str()),
        (422, "unknown_model")
    );
}

#[tokio::test]
async fn who_drives_is_asked_over_http_too() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.share(&desk.ann, &session, &desk.bob_id, json!("drive"))
        .await;
    desk.say(&desk.ann, &session, json!("hello")).await;
    let path = format!("/v1/sessions/{session}/messages");
    let stale = json!({"content": "late", "wheel_epoch": 99});
    let stale = desk.post(&path, &stale).by(&desk.ann).send().await;
    assert_eq!(
        (stale.status, stale.code().as_str()),
        (StatusCode::CONFLICT, "stale_epoch")
    );
    // Ann drives, but she is not there; Bob may not take that for granted before she has been gone for a
    // while.
    let other = desk
        .post(&path, &json!({"content": "me"}))
        .by(&desk.bob)
        .send()
        .await;
    assert_eq!(other.code(), "denied");
    let nothing = desk
        .ask(Method::POST, &format!("/v1/sessions/{session}/interrupt"))
        .by(&desk.ann);
    assert!(
        nothing.send().await.status.is_success(),
        "what does not run is stopped already"
    );
}

#[tokio::test]
async fn what_the_server_counts_is_for_its_operator() {
    let desk = Desk::new().await;
    // As a server does that runs.
    let counter = agentx_runtime::run_counter(desk.state.counts().runs.clone());
    let runtime = desk.state.runtime();
    runtime.attach(counter, agentx_bus::Restart::Never).await.unwrap();
    let session = desk.session(&desk.ann).await;
    let metrics = async || {
        let text = desk.get("/metrics").by(&desk.operator).send().await.ok();
        String::from_utf8(text.body.to_vec()).unwrap()
    };
    let text = metrics().await;
    assert!(text.contains("\nagentx_sessions_open 1\n"), "{text}");
    assert!(text.contains("\nagentx_runs_completed_total 0\n"), "{text}");
    desk.say(&desk.ann, &session, json!("hello")).await;
    // The counter hears of the end of the run as this test does, in a task of its own.
    crate::support::within(async {
        while !metrics().await.contains("\nagentx_runs_completed_total 1\n") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let text = metrics().await;
    assert!(text.contains("\nagentx_model_calls_total 1\n"), "{text}");
    assert!(
        text.contains("\n# TYPE agentx_runs_completed_total counter\n"),
        "{text}"
    );
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once(' ').unwrap();
        assert!(
            text.contains(&format!("# TYPE {name} ")) && value.parse::<u64>().is_ok(),
            "{line}"
        );
    }
    assert_eq!(desk.get("/v1/health").send().await.ok().json()["status"], "ok");
}

#[tokio::test]
async fn a_change_does_not_widen_what_the_server_gives() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let path = format!("/v1/sessions/{session}/changes");
    let change = async |change: Value| {
        desk.post(&path, &json!({"change": change}))
            .by(&desk.ann)
            .send()
            .await
    };
    for wider in [
        json!({"approval": "auto"}),
        json!({"rule_added": {"effect": "allow", "tool": "*"}}),
        json!({"rules": [{"effect": "allow", "tool": "bash"}]}),
        json!({"tools": []}),
    ] {
        assert_eq!(change(wider.clone()).await.code(), "denied", "{wider}");
    }
    let own = desk.agent().await["model"].clone();
    let mut cheap = own.clone();
    cheap["prices"] = json!({"input": 7, "output": 7, "cache_read": 7, "cache_write": 7});
    change(json!({"model": cheap})).await.ok();
    change(json!({"rule_added": {"effect": "deny", "tool": "bash"}}))
        .await
        .ok();
    change(json!({"approval": "deny"})).await.ok();
    let state = desk
        .get(&format!("/v1/sessions/{session}/state"))
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    assert_eq!(
        state["config"]["model"], own,
        "what it costs is the server's to say"
    );
    assert_eq!(state["config"]["approval"], "deny");
    let mut unknown = own;
    unknown["provider"] = json!("nobody");
    assert_eq!(change(json!({"model": unknown})).await.code(), "unknown_model");
}

/// A copy is made of pages of whole segments, and for a fork of no more than it shares.
#[tokio::test]
async fn rows_are_as_they_are_stored() {
    let desk = Desk::new().await;
    let config = json!({"config": desk.agent().await});
    let made = desk.post("/v1/sessions", &config).by(&desk.ann).send().await.ok();
    let at = made.header("location").to_owned();
    let session = at["/v1/sessions/".len()..].to_owned();
    for words in ["one", "two", "three"] {
        desk.say(&desk.ann, &session, json!(words)).await;
    }
    let get = async |path: String| desk.get(&path).by(&desk.ann).send().await.ok().json();
    let whole = get(format!("{at}/rows")).await;
    let rows = whole["rows"].as_array().unwrap();
    let last = &rows[rows.len() - 1];
    let verified = desk.ask(Method::POST, &format!("{at}/verify")).by(&desk.ann);
    assert_eq!(last["hash"], verified.send().await.ok().json()["head"]);
    assert!(whole["next_after_seq"].is_null());
    assert_eq!(
        (&whole["before"]["seq"], &rows[0]["starts"]),
        (&json!(0), &json!(true))
    );
    let (mut paged, mut after) = (Vec::new(), json!(0));
    while !after.is_null() {
        let page = get(format!("{at}/rows?bytes=1&after_seq={after}")).await;
        assert_eq!(page["before"]["seq"], after);
        paged.extend(page["rows"].as_array().unwrap().clone());
        after = page["next_after_seq"].clone();
    }
    assert_eq!(&paged, rows);
    let none = get(format!("{at}/rows?after_seq={}", u64::MAX)).await;
    assert_eq!(
        (&none["rows"], &none["before"]["hash"]),
        (&json!([]), &last["hash"])
    );
    for wrong in ["bytes=0", "bytes=99999999", "after_seq=-1"] {
        let refused = desk.get(&format!("{at}/rows?{wrong}")).by(&desk.ann).send().await;
        assert_eq!(refused.code(), "bad_request", "{wrong}");
    }
    let fork = desk
        .post(&format!("{at}/fork"), &json!({"at_seq": 7}))
        .by(&desk.ann);
    let fork = fork.send().await;
    let shared = get(format!("{}/rows", fork.header("location"))).await;
    let ends = shared["rows"].as_array().unwrap().last().unwrap()["last_seq"].clone();
    assert_eq!((&ends, &shared["parts"][0]["upto_seq"]), (&json!(7), &json!(7)));
    assert_eq!(shared["next_after_seq"], json!(7));
}

/// Agents of before there was condensing, and those of clients that do not know it: the server's setting is
/// theirs.
#[tokio::test]
async fn conversations_are_condensed_as_the_server_wants() {
    let desk = Desk::new().await;
    let usual = desk.agent().await["condensing"].clone();
    assert!(usual.is_object(), "{usual}");
    let mut config = desk.agent().await;
    config.as_object_mut().unwrap().remove("condensing");
    let made = desk.post("/v1/sessions", &json!({"config": config}));
    let made = made.by(&desk.ann).send().await.ok();
    let state = desk.seen(&format!("{}/state", made.header("location"))).await;
    assert_eq!(state["config"]["condensing"], usual);
    config["condensing"] = json!({"at_percent": 0, "tail": 2});
    let made = desk.post("/v1/sessions", &json!({"config": config}));
    let made = made.by(&desk.ann).send().await.ok();
    let state = desk.seen(&format!("{}/state", made.header("location"))).await;
    assert_eq!(
        state["config"]["condensing"]["at_percent"],
        json!(0),
        "who wants none says so"
    );
    config.as_object_mut().unwrap().remove("condensing");
    let old = serde_json::from_value(config).unwrap();
    // As an earlier program made it, and left it.
    let session = desk
        .state
        .runtime()
        .open(OpenRequest::New(Box::new(old)))
        .await
        .unwrap();
    let id = session.id().clone();
    session.close().await;
    drop(session);
    let path = format!("/v1/sessions/{id}/state");
    let look =
        async || desk.get(&path).by(&desk.operator).send().await.ok().json()["config"]["condensing"].clone();
    assert_eq!(look().await, Value::Null, "who only looks changes nothing");
    desk.say(&desk.operator, id.as_str(), json!("hello")).await;
    assert_eq!(look().await, usual);
}

/// A revocation, a stop or a stricter mode that comes with the key of another request must not seem to have
/// been carried out.
#[tokio::test]
async fn a_key_of_another_request_is_refused() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let at = format!("/v1/sessions/{session}");
    let ask = async |path: &str, body: Value| {
        let ask = desk.post(&format!("{at}/{path}"), &body).by(&desk.ann);
        ask.header("idempotency-key", "same").send().await
    };
    let person = &desk.bob_id;
    let shared = ask("roles", json!({"person": person, "role": "drive"}))
        .await
        .ok();
    let again = ask("roles", json!({"person": person, "role": "drive"}))
        .await
        .ok();
    assert_eq!(again.json(), shared.json());
    for (path, body) in [
        ("roles", json!({"person": person, "role": null})),
        ("interrupt", json!({})),
        ("changes", json!({"change": {"approval": "deny"}})),
    ] {
        let refused = ask(path, body).await;
        assert_eq!(
            (refused.status.as_u16(), &*refused.code()),
            (422, "key_reused"),
            "{path}"
        );
    }
    let state = desk.seen(&format!("{at}/state")).await;
    assert_eq!(state["sharing"]["roles"][person], json!("drive"), "{state}");
}
