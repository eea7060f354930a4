//! `agentx cache why` through the program: what it prints of a first request, of one that the cache had, of a
//! change of the tools and of another model.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{Anthropic, ModelAnswer};
use serde_json::Value;

use crate::common::{Ran, Sandbox};

/// Checks that it succeeded and that its output has these words, in this order.
#[track_caller]
fn prints(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut rest = ran.stdout.as_str();
    for word in words {
        let found = rest.split_once(word);
        rest = found.unwrap_or_else(|| panic!("{word:?} is missing: {ran}")).1;
    }
}

/// Runs in the session of this folder, and then asks why.
fn asked(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let ran = sandbox.run(&[&["run", "--yes"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran}");
    sandbox.run(&["cache", "why"])
}

#[tokio::test(flavor = "multi_thread")]
async fn it_names_the_first_difference_its_cause_and_its_cost() {
    let server = StrictServer::anthropic(Anthropic::new(), |_: &Value| ModelAnswer::text("Done.")).await;
    let sandbox = Sandbox::new()
        .env("ANTHROPIC_API_KEY", "made-up-key")
        .env("ANTHROPIC_BASE_URL", &server.url());
    let check = move || {
        nothing_is_lost(&sandbox);
        other_tools(&sandbox);
        another_model(&sandbox);
        let wrong = sandbox.run(&["cache", "why", "1"]);
        assert_eq!(wrong.code, Some(2), "{wrong}");
        let told = "no model was called in ses_[id] up to event 1";
        assert!(wrong.stderr.contains(told), "{wrong}");
    };
    tokio::task::spawn_blocking(check).await.unwrap();
    server.refused_nothing();
}

fn nothing_is_lost(sandbox: &Sandbox) {
    let first = asked(sandbox, &["--model", "anthropic/claude-opus-5-5", "hello"]);
    prints(
        &first,
        &[
            "session ses_[id], request of event ",
            " to anthropic/claude-opus-5-5: ",
            " in, 0 of them from the cache\n",
            "this is the agent's first request: nothing was cached yet\n",
        ],
    );
    assert!(!first.stdout.contains("cost:"), "{first}");
    let same = asked(sandbox, &["--last", "hello again"]);
    prints(
        &same,
        &[
            "it begins with the exact bytes of the request of event ",
            ": nothing changed\n",
            "cost: none that the provider counted\n",
        ],
    );
}

fn other_tools(sandbox: &Sandbox) {
    sandbox.config("tools: {disabled: [bash]}\n");
    let tools = asked(sandbox, &["--last", "and without it"]);
    prints(
        &tools,
        &[
            "it differs from the request of event ",
            " on, in tool ",
            "  before: ",
            "  after:  ",
            "cause: the list of tools changed, or how they are described\n",
            "cost: ",
            " tokens were read again, about $",
            " more than from the cache\n",
        ],
    );
    let json = sandbox.run(&["--json", "cache", "why"]);
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["causes"], serde_json::json!(["tool_list"]), "{json}");
    assert!(report["lost_tokens"].as_u64() > Some(1_024), "{json}");
}

fn another_model(sandbox: &Sandbox) {
    let model = "anthropic/claude-sonnet-5-5";
    let model = asked(sandbox, &["--last", "--model", model, "and you?"]);
    prints(
        &model,
        &[
            " to anthropic/claude-sonnet-5-5: ",
            " from byte 0 on, in the model:\n",
            "  before: anthropic/claude-opus-5-5\n",
            "  after:  anthropic/claude-sonnet-5-5\n",
            "cause: another model: a person switched to it\n",
        ],
    );
}
