//! `agentx sessions scan`: secrets that sessions recorded before the program knew them are found, and not
//! shown.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use serde_json::{Value, json};

use crate::common::Sandbox;

/// A made-up secret without a published form.
const KEY: &str = "walrus-5f2c81d09be34a7766";

/// The output as it is, with its ids.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.command(args).output().unwrap();
    let words = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{args:?}: {words}");
    String::from_utf8(ran.stdout).unwrap()
}

fn json_of(sandbox: &Sandbox, args: &[&str]) -> Value {
    let text = output(sandbox, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Imports a log of OpenHands in which a command printed this; returns the session's id.
fn imported(sandbox: &Sandbox, printed: &str) -> String {
    let log = json!([
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Find the walrus."}},
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "cat notes"}},
        {"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": printed, "extras": {"metadata": {"exit_code": 0}}},
    ]);
    sandbox.write("ws/log.json", log.to_string());
    let told = json_of(sandbox, &["sessions", "import", "--json", "log.json"]);
    told["session_id"].as_str().unwrap().to_owned()
}

/// The places of the key in a session, as its document has them.
fn places(sandbox: &Sandbox, id: &str) -> Vec<u64> {
    let document = json_of(sandbox, &["sessions", "export", "--format", "json", id]);
    let events = document["events"].as_array().unwrap();
    let with_key = events.iter().filter(|event| event.to_string().contains(KEY));
    with_key.map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn a_scan_names_the_place_of_a_recorded_secret_and_does_not_show_it() {
    let sandbox = Sandbox::new();
    let clean = imported(&sandbox, "a walrus");
    let planted = imported(&sandbox, &format!("token: {KEY}"));
    let ran = sandbox.run(&["run", "--quiet", "--yes", &format!("run echo {KEY}")]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let before = output(&sandbox, &["sessions", "scan"]);
    assert_eq!(before, "no known secret is recorded\n", "nobody knows it yet");
    let expected = places(&sandbox, &planted);
    assert!(!expected.is_empty());

    let sandbox = sandbox.env("WALRUS_TOKEN", KEY);
    let scan = |id: &str| {
        let args = ["sessions", "scan", "--json", id];
        let found = json_of(&sandbox, &args[..if id.is_empty() { 3 } else { 4 }]);
        assert!(!found.to_string().contains(KEY), "{found}");
        found.as_array().unwrap().clone()
    };
    let of_seq = |seq: &u64| json!({"session": planted, "seq": seq, "name": "WALRUS_TOKEN"});
    let found: Vec<Value> = expected.iter().map(of_seq).collect();
    assert_eq!(scan(&planted), found);
    assert_eq!(scan(&clean), Vec::<Value>::new());
    let all = scan("");
    let of = |id: &str| all.iter().filter(|found| found["session"] == id).count();
    assert_eq!((of(&planted), of(&clean)), (expected.len(), 0), "{all:?}");
    assert!(
        all.len() > expected.len(),
        "in the session of the run, too: {all:?}"
    );

    let told = output(&sandbox, &["sessions", "scan", &planted]);
    for seq in expected {
        assert!(
            told.contains(&format!("{planted} · event {seq} · WALRUS_TOKEN\n")),
            "{told}"
        );
    }
    assert!(told.contains("hint: ") && !told.contains(KEY), "{told}");
    assert_eq!(output(&sandbox, &["sessions", "scan", &clean]), before);
    assert_eq!(sandbox.run(&["sessions", "scan", "ses_nosuch"]).code, Some(8));
}
