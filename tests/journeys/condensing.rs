//! A session that outgrows its model's window: it is condensed meanwhile, shown, paid for, replayed, and
//! restored.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentx_testing::RequestChecks;
use agentx_tests::model_server::{Answer, ModelServer, Reply};
use agentx_tests::{Ran, World};
use serde_json::Value;

use crate::{facts, names};

/// The server's answer to a request for a summary.
const SUMMARY: &str = "The numbers were printed.";
/// The id of the model that [`CONFIG`] describes.
const MODEL: &str = "made-up-1";
const CONFIG: &str = "
model: small
models:
  small: {provider: anthropic, id: made-up-1, context_window: 16000, max_output_tokens: 1000}
condense: {at: 60, keep: 2}
";

/// A model that prints much this number of times, writes requested summaries, and reports a full window for
/// the requests whose numbers `overflows` accepts.
fn world(rounds: usize, overflows: fn(usize) -> bool) -> (World, Arc<Mutex<Vec<Value>>>) {
    world_with(rounds, overflows, 0)
}

/// The same, but this number of first summaries never come.
fn world_with(rounds: usize, overflows: fn(usize) -> bool, stalls: usize) -> (World, Arc<Mutex<Vec<Value>>>) {
    let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (kept, asked) = (requests.clone(), AtomicUsize::new(0));
    let wanted = AtomicUsize::new(0);
    let checks = RequestChecks::new().knowing(MODEL).knowing("made-up-2");
    let server = ModelServer::checked(checks, move |body: &[u8]| {
        let request: Value = serde_json::from_slice(body).unwrap();
        let wants_summary = request["system"]
            .to_string()
            .contains("You condense the conversation");
        kept.lock().unwrap().push(request);
        if wants_summary && wanted.fetch_add(1, Ordering::SeqCst) < stalls {
            return Reply::Stall(vec!["The numb".into()]);
        }
        if wants_summary {
            return words(SUMMARY);
        }
        let number = asked.fetch_add(1, Ordering::SeqCst);
        if overflows(number) {
            return Reply::Whole {
                status: "400 Bad Request",
                headers: vec!["content-type: application/json".into()],
                body: r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 20001 tokens > 16000 maximum"}}"#.into(),
            };
        }
        if number < rounds {
            return Reply::Answer(Answer {
                calls: vec![(format!("toolu_{number}"), "seq 1 700".to_owned())],
                ..Answer::default()
            });
        }
        words("all is printed")
    });
    let world = World::of(server.unwrap());
    world.config(CONFIG);
    (world, requests)
}

fn words(text: &str) -> Reply {
    Reply::Answer(Answer {
        words: vec![text.to_owned()],
        ..Answer::default()
    })
}

fn text_of(request: &Value, message: usize) -> String {
    request["messages"][message]["content"].to_string()
}

/// Returns the number of model calls for summaries.
fn compactions(world: &World) -> u64 {
    let ran = world.run(&["usage", "--by", "cause", "--json"]).exits(0);
    let rows: Value = serde_json::from_str(&ran.out).unwrap();
    let found = rows["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "compaction");
    found.map_or(0, |row| row["calls"].as_u64().unwrap())
}

fn printed(world: &World) -> Ran {
    let ran = world
        .run_prompt(None, &["--yes"], "print them all")
        .end()
        .exits(0);
    assert_eq!(ran.result()["text"], "all is printed", "{ran}");
    world.check(&ran.session());
    ran
}

#[test]
fn a_long_run_is_condensed_on_its_way() {
    let (world, requests) = world(14, |_| false);
    let ran = printed(&world);
    let facts = facts(&world, &ran);
    let condensed = names(&facts)
        .iter()
        .filter(|name| **name == "context_condensed")
        .count();
    assert!((1..=6).contains(&condensed), "{condensed} times: {ran}");
    assert!(ran.err.contains("condensed "), "{ran}");
    assert_eq!(compactions(&world), condensed as u64);
    let requests = requests.lock().unwrap().clone();
    let last = requests.last().unwrap();
    assert!(text_of(last, 0).contains("print them all"), "{last}");
    assert!(last["messages"].to_string().contains(SUMMARY), "{last}");
    assert!(last["tools"].to_string().contains("\"recall\""), "{last}");
    assert_eq!(
        requests[0]["tools"], last["tools"],
        "the beginning of what is sent stays"
    );
    let shown = world.run(&["context", &ran.session()]).exits(0);
    assert!(shown.err.contains("are condensed"), "{shown}");
    let summary = world.run(&["context", &ran.session(), "--summary", "1"]).exits(0);
    assert_eq!(summary.out.trim(), SUMMARY, "{summary}");
}

#[test]
fn a_window_that_is_full_sooner_than_thought_is_condensed_and_asked_once_more() {
    let (world, _) = world(5, |number| number == 4);
    let ran = printed(&world);
    let facts = facts(&world, &ran);
    assert!(names(&facts).contains(&"context_condensed"), "{ran}");
    assert_eq!(ran.result()["status"], "completed");
}

/// Whether the model was set anew.
fn names_a_window(facts: &[Value]) -> bool {
    let mut changes = facts.iter().filter(|fact| fact["event"] == "config_changed");
    changes.any(|fact| fact.to_string().contains("context_window"))
}

#[test]
fn the_next_process_knows_the_window_that_the_server_named() {
    let (world, _) = world(5, |number| number == 4);
    let larger = "  larger: {provider: anthropic, id: made-up-2, context_window: 100000}\ncondense";
    world.config(&CONFIG.replace("16000", "200000").replace("condense", larger));
    let first = printed(&world);
    let session = first.session();
    let next = world
        .run_prompt(Some(&session), &["--yes", "--model", "small"], "and now?")
        .end()
        .exits(0);
    assert!(!names_a_window(&facts(&world, &next)), "{next}");
    let other = world
        .run_prompt(Some(&session), &["--yes", "--model", "larger"], "and now?")
        .end()
        .exits(0);
    assert!(names_a_window(&facts(&world, &other)), "{other}");
}

#[test]
fn a_summary_that_dies_with_its_process_is_written_by_the_next() {
    let (world, _) = world_with(14, |_| false, 1);
    let running = world.run_prompt(None, &["--yes"], "print them all");
    running.frame(|frame| frame["event"] == "action_started" && frame["payload"]["kind"] == "condense");
    let killed = running.kill();
    let session = killed.session();
    let ran = world
        .run_prompt(Some(&session), &["--yes"], "and now?")
        .end()
        .exits(0);
    let facts = facts(&world, &ran);
    assert!(names(&facts).contains(&"context_condensed"), "{ran}");
    world.check(&session);
}

#[test]
fn a_summary_that_takes_too_long_is_stopped_with_the_run() {
    let (world, _) = world_with(14, |_| false, 1);
    let running = world.run_prompt(None, &["--yes"], "print them all");
    running.frame(|frame| frame["event"] == "action_started" && frame["payload"]["kind"] == "condense");
    running.signal(nix::sys::signal::Signal::SIGINT);
    let ran = running.end().exits(130);
    let facts = facts(&world, &ran);
    assert!(names(&facts).contains(&"condensing_failed"), "{ran}");
    world.check(&ran.session());
}

#[test]
fn a_summary_is_shown_before_a_model_was_asked_with_it() {
    let (world, _) = world(0, |_| false);
    let long = "much is to be said about this ".repeat(40);
    let mut chat = world.talk(&["chat"]);
    for number in 1..=4 {
        chat.types(&format!("{number} {long}"));
        chat.says("all is printed", number);
    }
    chat.types("/compact");
    chat.says("/compact undo takes it back", 1);
    chat.types_no_more();
    chat.end().exits(0);
    let listed = world.run(&["sessions", "list", "--json"]).exits(0);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let session = listed[0]["session_id"].as_str().unwrap();
    let summary = world.run(&["context", session, "--summary", "1"]).exits(0);
    assert_eq!(summary.out.trim(), SUMMARY, "{summary}");
}

#[test]
fn a_chat_condenses_when_it_is_told_to_and_takes_it_back() {
    let (world, requests) = world(0, |_| false);
    let long = "much is to be said about this ".repeat(40);
    let mut chat = world.talk(&["chat"]);
    for number in 1..=4 {
        chat.types(&format!("{number} {long}"));
        chat.says("all is printed", number);
    }
    chat.types("/compact keep the names");
    chat.says("/compact undo takes it back", 1);
    chat.types("after it");
    chat.says("all is printed", 5);
    chat.types("/compact undo");
    chat.says("are restored in full", 1);
    chat.types("and then");
    chat.says("all is printed", 6);
    chat.types_no_more();
    chat.end().exits(0);
    let requests = requests.lock().unwrap().clone();
    let asked = requests
        .iter()
        .filter(|request| !request["system"].to_string().contains("You condense"));
    let asked: Vec<&Value> = asked.collect();
    let messages = |at: usize| asked[at]["messages"].as_array().unwrap().clone();
    assert!(
        requests
            .iter()
            .any(|request| request.to_string().contains("keep the names"))
    );
    assert!(asked[4]["messages"].to_string().contains(SUMMARY));
    assert!(!asked[5]["messages"].to_string().contains(SUMMARY));
    let (before, after) = (messages(3), messages(5));
    let said = |message: &Value| {
        message
            .to_string()
            .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    };
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| said(before) == said(after))
    );
}
