//! Questions of the model that wait for an answer (`tools.ask_user: wait`), where nobody is there to answer.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

fn asks(_: &Value) -> ModelAnswer {
    ModelAnswer::default().then(AnswerPart::Call {
        id: "call_1".into(),
        name: "ask_user".into(),
        input: json!({ "question": "Which?", "choices": ["a", "b"] }),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_answered_has_no_sign_of_success() {
    let answers = |request: &Value| {
        let messages = request["messages"].as_array().map(Vec::as_slice);
        match messages.unwrap_or_default().last() {
            Some(last) if last["role"] == "tool" => ModelAnswer::text("I take a."),
            _ => asks(request),
        }
    };
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), answers).await;
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\n\
         models:\n  m: {{provider: mine}}\nmodel: m\n",
        server.url()
    ));
    let run = |args: &[&str]| -> Ran { tokio::task::block_in_place(|| sandbox.run(args)) };
    for flags in [&[][..], &["--yes"]] {
        let ran = run(&[&["run", "go"], flags].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "I take a.\n"), "{ran}");
        assert!(ran.stderr.contains("└ – nobody answered"), "{ran}");
        assert!(!ran.stderr.contains('✓'), "{ran}");
        let id = &tokio::task::block_in_place(|| crate::rewind::id_of(&sandbox, 0));
        let shown = run(&["show", id]);
        assert!(
            shown.stdout.contains("└ – Nobody is here to answer.") && !shown.stdout.contains('✓'),
            "{shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_left_with_a_question_says_what_it_cost_and_takes_no_prompt_behind_it() {
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), asks).await;
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\n\
         models:\n  m: {{provider: mine, prices: {{input: 1000, output: 1000}}}}\n\
         model: m\ntools: {{ask_user: wait}}\n",
        server.url()
    ));
    let run = |args: &[&str]| -> Ran {
        let args = [&["run", "--output-format", "json"], args].concat();
        tokio::task::block_in_place(|| sandbox.run(&args))
    };
    let ran = run(&["go"]);
    let result = ran.result();
    assert_eq!(
        (ran.code, &result["error"]["kind"]),
        (Some(7), &json!("answer_needed")),
        "{ran}"
    );
    assert!(result["run_id"].is_string(), "{ran}");
    assert_eq!(result["model_calls"], 1, "{ran}");
    assert!(result["usage"]["output_tokens"].as_u64() > Some(0), "{ran}");
    assert!(result["cost_usd"].as_f64() > Some(0.0), "{ran}");
    let id = &tokio::task::block_in_place(|| crate::rewind::id_of(&sandbox, 0));
    for _ in 0..2 {
        let ran = run(&["--session", id, "and more words"]);
        assert_eq!(ran.code, Some(7), "{ran}");
        let told = ran.result()["error"]["message"].to_string();
        assert!(told.contains("your prompt was not sent"), "{ran}");
    }
    let show = tokio::task::block_in_place(|| sandbox.run(&["show", id]));
    assert!(
        !show.stdout.contains("and more words"),
        "nothing is queued: {show}"
    );
    let listed = tokio::task::block_in_place(|| sandbox.run(&["sessions", "list"]));
    assert!(listed.stdout.contains("asks you"), "it waits: {listed}");
    let again = run(&["--session", id]);
    assert_eq!(again.code, Some(7), "{again}");
    assert!(again.result()["run_id"].is_string(), "{again}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_left_with_such_a_question_says_that_it_stays_open() {
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), asks).await;
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\n\
         models:\n  m: {{provider: mine}}\nmodel: m\ntools: {{ask_user: wait}}\n",
        server.url()
    ));
    tokio::task::block_in_place(|| {
        let mut chat = crate::pty::Pty::start(&sandbox, &[], 100, 40);
        chat.wait_for_last("›");
        chat.keys("go\r");
        chat.wait_for("Which?");
        chat.keys("\u{4}");
        chat.wait_for("the question stays open; press Ctrl-D again to leave");
        chat.keys("\u{4}");
        assert_eq!(chat.end(), Some(0));
        let told = "· not answered; the question is open until you come back";
        assert!(
            chat.lines().iter().any(|line| line == told),
            "{:#?}",
            chat.lines()
        );
        let mut chat = crate::pty::Pty::start(&sandbox, &["resume", "--last"], 100, 40);
        chat.wait_for("Which?");
    });
}
