//! The model's server refuses, breaks off, or is not a model's server: what the program prints, how it exits,
//! what it keeps; and the key appears nowhere.

use std::net::TcpListener;
use std::path::Path;

use agentx_tests::model_server::Reply;
use agentx_tests::{KEY, Model, Ran, World};
use serde_json::{Value, json};

use crate::facts;

fn says_no(status: &'static str, headers: &[&str], kind: &str, message: &str) -> Reply {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    let json = "content-type: application/json".to_owned();
    Reply::Whole {
        status,
        headers: headers
            .iter()
            .map(|line| (*line).to_owned())
            .chain([json])
            .collect(),
        body: body.to_string(),
    }
}

/// Runs a prompt with the result as JSON.
fn ask(world: &World) -> Ran {
    world.run(&["run", "--output-format", "json", "hello"])
}

/// The key is in nothing that was printed, and in no file that is kept.
fn key_is_nowhere(world: &World, ran: &Ran) {
    assert!(!ran.to_string().contains(KEY), "{ran}");
    let session = ran.result()["session_id"].as_str().map(str::to_owned);
    for args in [
        &["config", "show"][..],
        &["models"],
        &["sessions", "list", "--json"],
    ] {
        let shown = world.run(args).exits(0);
        assert!(!shown.to_string().contains(KEY), "{args:?}: {shown}");
    }
    if let Some(session) = session {
        for command in [&["sessions", "show", "--json"][..], &["context"]] {
            let shown = world.run(&[command, &[&session]].concat()).exits(0);
            assert!(!shown.to_string().contains(KEY), "{shown}");
        }
    }
    let mut files = 0;
    no_key_below(&world.data(), &mut files);
    assert!(files > 0, "there is nothing to look at");
}

fn no_key_below(folder: &Path, files: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_key_below(&path, files);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in {}", path.display());
        *files += 1;
    }
}

/// The run failed with this exit and this kind of error; returns the result.
fn failed(world: &World, ran: &Ran, exit: i32, kind: &str) -> Value {
    assert_eq!(ran.code, Some(exit), "{ran}");
    let result = ran.result();
    assert_eq!(result["status"], "failed", "{ran}");
    assert_eq!(result["exit_code"], exit, "{ran}");
    assert_eq!(result["error"]["kind"], kind, "{ran}");
    assert!(result["error"]["hint"].is_string(), "{ran}");
    assert!(ran.err.contains("error: ") && ran.err.contains("hint: "), "{ran}");
    key_is_nowhere(world, ran);
    world.check(result["session_id"].as_str().unwrap());
    result
}

/// After the fault the session continues.
fn goes_on(world: &World, model: &Model, result: &Value) {
    model.only([Model::words(&["well again"])]);
    let session = result["session_id"].as_str().unwrap();
    let ran = world.run(&["run", "--session", session, "and now?"]).exits(0);
    assert_eq!(ran.out, "well again\n", "{ran}");
}

#[test]
fn a_refused_key_is_a_matter_of_credentials() {
    let echo = format!("invalid x-api-key: {KEY}");
    let model = Model::start([says_no("401 Unauthorized", &[], "authentication_error", &echo)]);
    let world = World::new(&model.url());
    let ran = ask(&world);
    let result = failed(&world, &ran, 4, "unauthorized");
    assert!(result["error"]["hint"].as_str().unwrap().contains("key"), "{ran}");
    assert_eq!(model.requests().len(), 1, "a wrong key does not get better");
    goes_on(&world, &model, &result);
}

#[test]
fn a_rate_limit_is_waited_for() {
    let model = Model::start([
        says_no(
            "429 Too Many Requests",
            &["retry-after: 1"],
            "rate_limit_error",
            "slow down",
        ),
        Model::words(&["at last"]),
    ]);
    let world = World::new(&model.url());
    let ran = ask(&world).exits(0);
    assert_eq!(ran.result()["text"], "at last", "{ran}");
    let all = facts(&world, &ran);
    let attempt = all.iter().find(|fact| fact["event"] == "attempt_failed").unwrap();
    assert_eq!(attempt["payload"]["status"], 429);
    assert!(
        attempt["payload"]["retry_in_ms"].as_u64().unwrap() >= 1000,
        "{attempt}"
    );
    assert!(
        ran.err.contains("slow down"),
        "a person sees why it takes so long: {ran}"
    );
    key_is_nowhere(&world, &ran);
}

#[test]
fn a_wait_of_hours_is_not_waited() {
    let model = Model::start([says_no(
        "429 Too Many Requests",
        &["retry-after: 86400"],
        "rate_limit_error",
        "come back tomorrow",
    )]);
    let world = World::new(&model.url());
    let ran = ask(&world);
    let result = failed(&world, &ran, 5, "rate_limited");
    assert!(ran.err.contains("it asks to wait 1d,"), "{ran}");
    goes_on(&world, &model, &result);
}

/// A server that is away is waited for as long as a test may take.
const BRIEFLY: &str = "model_calls:\n  max_retry_time: 2s\n";

#[test]
fn a_server_that_fails_and_fails_is_given_up() {
    let no = || says_no("500 Internal Server Error", &[], "api_error", "out of order");
    let model = Model::start((0..100).map(|_| no()));
    let world = World::new(&model.url());
    world.config(BRIEFLY);
    let ran = ask(&world);
    let result = failed(&world, &ran, 5, "server_error");
    assert!(model.requests().len() > 2, "it was tried again");
    assert!(ran.err.contains("retrying in"), "a person sees when: {ran}");
    assert!(ran.err.contains("out of order"), "{ran}");
    goes_on(&world, &model, &result);
}

#[test]
fn nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = World::new(&format!("http://{address}"));
    world.config(BRIEFLY);
    let ran = ask(&world);
    failed(&world, &ran, 5, "connection_failed");
    assert!(ran.err.contains("connection refused"), "{ran}");
}

#[test]
fn a_stream_that_is_cut_keeps_what_was_said_and_is_asked_again() {
    let model = Model::start([
        Reply::Cut(vec!["half a ".into(), "sentence".into()]),
        Model::words(&["a whole one"]),
    ]);
    let world = World::new(&model.url());
    let ran = world
        .run(&["run", "--output-format", "stream-json", "hello"])
        .exits(0);
    assert_eq!(ran.result()["text"], "a whole one", "{ran}");
    let frames = ran.frames();
    let said: String = frames
        .iter()
        .filter(|frame| frame["event"] == "text_delta")
        .filter_map(|frame| frame["payload"]["text"].as_str())
        .collect();
    assert_eq!(said, "half a sentencea whole one");
    let stops = frames.iter().filter(|frame| frame["event"] == "message_stop");
    let reasons: Vec<_> = stops
        .map(|frame| frame["payload"]["stop_reason"].clone())
        .collect();
    assert_eq!(reasons, ["broken", "end_turn"], "{ran}");
    assert!(ran.err.contains("broke off"), "a person is told: {ran}");
    key_is_nowhere(&world, &ran);
    world.check(&ran.session());
}

#[test]
fn a_stream_that_is_always_cut_is_given_up_with_what_was_said() {
    let model = Model::start((0..10).map(|_| Reply::Cut(vec!["half a sentence".into()])));
    let world = World::new(&model.url());
    let ran = ask(&world);
    let result = failed(&world, &ran, 5, "stream_broken");
    assert_eq!(result["text"], "half a sentence", "{ran}");
    assert_eq!(model.requests().len(), 5);
    goes_on(&world, &model, &result);
}

#[test]
fn a_page_is_no_stream() {
    let page = || Reply::Whole {
        status: "200 OK",
        headers: vec!["content-type: text/html".into()],
        body: "<html><body>Welcome to our hotel network</body></html>".into(),
    };
    let model = Model::start((0..10).map(|_| page()));
    let world = World::new(&model.url());
    let ran = ask(&world);
    let result = failed(&world, &ran, 5, "bad_response");
    goes_on(&world, &model, &result);
}

#[test]
fn an_address_that_points_elsewhere_does_not_get_the_key() {
    let model = Model::start([Reply::Whole {
        status: "302 Found",
        headers: vec!["location: http://127.0.0.1:9/".into()],
        body: String::new(),
    }]);
    let world = World::new(&model.url());
    let ran = ask(&world);
    failed(&world, &ran, 5, "redirected");
}
