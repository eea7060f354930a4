//! A session belongs to the server that it was asked at: what was said there goes to no other one before a
//! person says so.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};
use crate::models::{answering, recording};

const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\n\
                      data: [DONE]\n\n";

/// The program with the server of the provider `openai` at this address.
fn at(sandbox: &Sandbox, address: &str, args: &[&str], input: &str) -> Ran {
    let variables = [
        ("OPENAI_BASE_URL", format!("{address}/v1")),
        ("OPENAI_API_KEY", "sk-made-up".to_owned()),
        ("AGENTX_MODEL", "openai/own".to_owned()),
    ];
    sandbox.run_where(&variables, args, input)
}

#[test]
fn a_run_sends_nothing_to_another_server_before_the_model_is_named_again() {
    let ((one, _), (two, sent)) = (recording(ANSWER), recording(ANSWER));
    let sandbox = Sandbox::new();
    let first = at(&sandbox, &one, &["run", "--model", "openai/own", "keep this"], "");
    assert_eq!(first.code, Some(0), "{first}");
    for args in [
        &["run", "--last", "more"][..],
        &["run", "--last", "--fork", "more"],
    ] {
        let refused = at(&sandbox, &two, args, "");
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(
            refused.stderr.contains(&sandbox.normalized(&one))
                && refused.stderr.contains(&sandbox.normalized(&two))
                && refused.stderr.contains("set OPENAI_BASE_URL")
                && refused.stderr.contains("--model openai/own"),
            "{refused}"
        );
    }
    assert_eq!(sent.lock().unwrap().len(), 0, "nothing was sent");
    let again = at(&sandbox, &one, &["run", "--last", "more"], "");
    assert_eq!(again.code, Some(0), "{again}");
    for args in [
        &["run", "--last", "--model", "openai/own", "more"][..],
        &["run", "--last", "more"],
    ] {
        let moved = at(&sandbox, &two, args, "");
        assert_eq!(moved.code, Some(0), "{moved}");
    }
    assert!(sent.lock().unwrap()[0].contains("keep this"));
    let back = at(&sandbox, &one, &["run", "--last", "more"], "");
    assert_eq!(back.code, Some(2), "{back}");
}

#[test]
fn a_run_sends_nothing_to_the_vendor_where_the_address_is_not_set_any_more() {
    let (local, _) = recording(ANSWER);
    let sandbox = Sandbox::new();
    let first = at(
        &sandbox,
        &local,
        &["run", "--model", "openai/own", "keep this"],
        "",
    );
    assert_eq!(first.code, Some(0), "{first}");
    let key = [("OPENAI_API_KEY", "sk-made-up".to_owned())];
    let refused = sandbox.run_where(&key, &["run", "--last", "more"], "");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused
            .stderr
            .contains("is now at https://api.openai.com: nothing was sent"),
        "{refused}"
    );
    let json = sandbox.run_where(&key, &["run", "--last", "--output-format", "json", "more"], "");
    assert_eq!(json.code, Some(2), "{json}");
    assert!(json.stdout.contains("\"exit_code\":2"), "{json}");
}

#[test]
fn a_chat_says_so_and_sends_nothing_before_the_model_is_chosen_again() {
    let ((one, _), (two, sent)) = (recording(ANSWER), recording(ANSWER));
    let sandbox = Sandbox::new();
    at(&sandbox, &one, &["run", "--model", "openai/own", "keep this"], "");
    let chat = at(&sandbox, &two, &["resume", "--last"], "more\n");
    assert!(
        chat.stderr.contains("note: this session used the server at")
            && chat.stderr.contains("`/model openai/own`"),
        "{chat}"
    );
    assert!(chat.stdout.contains("nothing was sent"), "{chat}");
    assert_eq!(sent.lock().unwrap().len(), 0, "nothing was sent");
    let chat = at(&sandbox, &two, &["resume", "--last"], "/model openai/own\nmore\n");
    assert_eq!(chat.code, Some(0), "{chat}");
    assert!(
        chat.stdout.contains("Hello.") && !sent.lock().unwrap().is_empty(),
        "{chat}"
    );
}

#[test]
fn a_session_that_goes_on_at_a_server_of_ones_own_belongs_to_it_from_then_on() {
    let sandbox = Sandbox::new();
    sandbox.config("model_calls:\n  retries: 0\n  max_retry_time: 1s\n");
    // Whether an Ollama runs here or not, it has no such model.
    let first = sandbox.run(&["run", "--model", "ollama/no-such-model-of-anybody", "hello"]);
    assert_eq!(first.code, Some(5), "{first}");
    let (own, _) = recording(ANSWER);
    let variables = [
        ("OLLAMA_BASE_URL", format!("{own}/v1")),
        ("AGENTX_MODEL", "demo".to_owned()),
    ];
    let moved = sandbox.run_where(&variables, &["run", "--last", "more"], "");
    assert_eq!(moved.code, Some(0), "{moved}");
    assert!(
        moved
            .stderr
            .contains("note: this session now uses the server at http://"),
        "{moved}"
    );
    let again = sandbox.run_where(&variables, &["run", "--last", "more"], "");
    assert!(!again.stderr.contains("now using"), "said once: {again}");
    let gone = sandbox.run(&["run", "--last", "more"]);
    assert_eq!(gone.code, Some(2), "{gone}");
    assert!(gone.stderr.contains("set OLLAMA_BASE_URL"), "{gone}");
}

#[test]
fn a_provider_of_the_settings_that_moves_is_told_apart_too() {
    let ((one, _), (two, sent)) = (recording(ANSWER), recording(ANSWER));
    let sandbox = Sandbox::new();
    let provider = |address: &str| {
        format!("model: mine/own\nproviders:\n  mine:\n    base_url: {address}/v1\n    auth: none\n")
    };
    sandbox.config(&provider(&one));
    assert_eq!(sandbox.run(&["run", "keep this"]).code, Some(0));
    sandbox.config(&provider(&two));
    let refused = sandbox.run(&["run", "--last", "more"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("providers.mine.base_url"), "{refused}");
    assert_eq!(sent.lock().unwrap().len(), 0, "nothing was sent");
    // The demo does not use a server.
    let demo = answering("200 OK", "{}");
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "--model", "demo", "hello"]).code, Some(0));
    let resumed = at(&sandbox, &demo, &["run", "--last", "hello"], "");
    assert_eq!(resumed.code, Some(0), "{resumed}");
}
