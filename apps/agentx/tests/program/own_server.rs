//! The user's own model server, and a provider that cannot be asked: what is listed, and that nothing passes
//! for an answer of a model.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer};

use crate::common::Sandbox;
use crate::models::{answering, streaming};
use crate::pty::Pty;

fn with_list(ids: &[&str]) -> Sandbox {
    let data: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
    let body = serde_json::json!({ "object": "list", "data": data }).to_string();
    let address = answering("200 OK", body);
    Sandbox::new()
        .env("OPENAI_BASE_URL", &format!("{address}/v1"))
        .env("OPENAI_API_KEY", "sk-made-up")
}

/// The rows of the list that are of this provider, without the blanks.
fn rows(sandbox: &Sandbox, provider: &str) -> Vec<String> {
    let listed = sandbox.run(&["models"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    let rows = listed.stdout.lines().filter(|line| line.contains(provider));
    rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn the_list_has_what_the_server_has_and_marks_what_is_asked() {
    let one = with_list(&["my-model"]);
    let listed = rows(&one, " openai ");
    assert!(
        listed.len() == 1 && listed[0].starts_with("* my-model openai"),
        "{listed:?}"
    );
    assert!(
        listed[0].contains('?') && !listed[0].contains("$0"),
        "nobody knows its price: {listed:?}"
    );
    let two = with_list(&["my-model", "other"]);
    let listed = rows(&two, " openai ");
    assert!(
        listed.len() == 2 && listed.iter().all(|row| !row.starts_with('*')),
        "{listed:?}"
    );
    let named = with_list(&["my-model", "other"]).env("AGENTX_MODEL", "openai/not-listed");
    let listed = rows(&named, " openai ");
    assert!(
        listed.iter().any(|row| row.starts_with("* not-listed openai")),
        "{listed:?}"
    );
    let silent = Sandbox::new()
        .env(
            "OPENAI_BASE_URL",
            &format!("{}/v1", answering("404 Not Found", "{}")),
        )
        .env("OPENAI_API_KEY", "sk-made-up");
    let listed = silent.run(&["models"]);
    assert!(
        listed.code == Some(0) && listed.stderr.contains("does not list its models"),
        "{listed}"
    );
}

#[test]
fn a_provider_without_its_key_is_never_answered_for_by_the_demo() {
    let provider = "providers:\n  mine:\n    base_url: https://models.example/v1\n    api_key: ${NO_SUCH}\n";
    let sandbox = Sandbox::new();
    sandbox.config(provider);
    for line in [
        &["run", "hello"][..],
        &["run", "--output-format", "json", "hello"],
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(4), "{ran}");
        assert!(ran.stderr.contains("NO_SUCH is not set"), "{ran}");
        assert!(
            !ran.stdout.contains("demo") && !ran.stdout.contains("completed"),
            "{ran}"
        );
    }
    let chat = sandbox.run_with_input(&[], "hello\n");
    assert_eq!(chat.code, Some(4), "{chat}");
    let checked = sandbox.run(&["config", "check"]);
    assert!(checked.stderr.contains("NO_SUCH is not set"), "{checked}");
    let chosen = sandbox.run(&["run", "--model", "scripted", "hello"]);
    assert!(
        chosen.code == Some(0) && !chosen.stderr.contains("offline demo"),
        "who asks for it gets it: {chosen}"
    );
}

#[test]
fn a_run_without_a_model_fails_and_the_demo_answers_where_it_is_named() {
    let sandbox = Sandbox::new().without_model();
    for line in [
        &["run", "hello"][..],
        &["run", "--quiet", "hello"],
        &["run", "--output-format", "json", "hello"],
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(4), "{ran}");
        assert!(
            ran.stderr.contains("error: no model is connected") && ran.stderr.contains("--model demo"),
            "{ran}"
        );
        assert!(
            !ran.stdout.contains("demo:") && !ran.stdout.contains("completed"),
            "{ran}"
        );
    }
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(!listed.stdout.contains("ses_"), "nothing was begun: {listed}");
    for name in ["demo", "scripted"] {
        let ran = sandbox.run(&["run", "--model", name, "hello"]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
}

#[test]
fn doctor_looks_for_the_model_as_a_run_does() {
    let model = |sandbox: &Sandbox| {
        let told = sandbox.run(&["doctor"]);
        let lines: Vec<_> = told.stdout.lines().map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.contains(" model  ")).unwrap();
        (told.code, lines[at..].iter().take(2).cloned().collect::<String>())
    };
    let one = with_list(&["my-model"]);
    let (code, told) = model(&one);
    assert!(
        code == Some(0) && told.starts_with("ok") && told.contains("my-model of openai"),
        "{told}"
    );
    let shown = one.run(&["config", "show"]);
    assert!(
        shown
            .stdout
            .contains("no model is named; the server at http://127.0.0.1"),
        "{shown}"
    );
    let several = with_list(&["one", "two"]);
    let (code, told) = model(&several);
    assert!(
        code == Some(2) && told.contains("has several: one, two"),
        "{told}"
    );
    for provider in ["ANTHROPIC_BASE_URL", "GROQ_BASE_URL"] {
        let address = answering("200 OK", "{}");
        let keyless = Sandbox::new().env(provider, &address);
        let (code, told) = model(&keyless);
        assert!(code == Some(4) && told.contains("_API_KEY is not set"), "{told}");
        for chat in [
            keyless.run_with_input(&[], "hello\n"),
            keyless.run(&["run", "hello"]),
        ] {
            assert_eq!(chat.code, Some(4), "refused at the start: {chat}");
            assert!(chat.stderr.contains("_API_KEY is not set"), "{chat}");
        }
    }
}

#[test]
fn a_session_of_the_demo_says_how_a_model_is_asked_that_was_connected_since() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "hello"]).code, Some(0));
    let resumed = |sandbox: &Sandbox| sandbox.run_with_input(&["resume", "--last"], "/status\n");
    let told = resumed(&sandbox);
    assert!(
        !told.stderr.contains("the offline demo answers in this session"),
        "{told}"
    );
    let list = r#"{"object":"list","data":[{"id":"my-model"}]}"#;
    let sandbox = sandbox.env("OPENAI_BASE_URL", &format!("{}/v1", answering("200 OK", list)));
    let told = resumed(&sandbox);
    assert!(
        told.stderr
            .contains("the offline demo answers in this session; `/model` lists"),
        "{told}"
    );
}

#[test]
fn a_model_that_only_the_server_knows_is_asked_by_its_name() {
    let sandbox = with_list(&["my-model", "other"]);
    let ran = sandbox.run(&["run", "--model", "other", "hello"]);
    assert!(!ran.stderr.contains("unknown model"), "{ran}");
    let ran = sandbox.run(&["run", "--model", "others", "hello"]);
    assert!(ran.stderr.contains("unknown model `others`"), "{ran}");
    let mut chat = Pty::start(&sandbox, &["--model", "my-model"], 120, 40);
    chat.wait_for_last("›");
    chat.keys("/model\r");
    chat.wait_for("▸ my-model  ");
    chat.keys("\u{15}");
    chat.keys("/model other\r");
    chat.wait_for("now using other");
    chat.keys("/model\r");
    chat.wait_for("▸ other  ");
    assert!(
        !chat.lines().iter().any(|line| line.contains("gpt-")),
        "that server has none of them: {:#?}",
        chat.lines()
    );
    chat.keys("\u{15}\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_key_that_the_server_refuses_is_named_whatever_model_is_asked() {
    let address = answering("401 Unauthorized", "{}".to_owned());
    let url = format!("{address}/v1");
    let with_key = Sandbox::new()
        .env("OPENAI_BASE_URL", &url)
        .env("OPENAI_API_KEY", "sk-made-up");
    for arguments in [&["run", "hello"][..], &["run", "--model", "mine", "hello"]] {
        let ran = with_key.run(arguments);
        assert_eq!(ran.code, Some(4), "{ran}");
        assert!(
            ran.stderr
                .contains("rejects the API key in OPENAI_API_KEY (HTTP 401)"),
            "{ran}"
        );
    }
    let ran = Sandbox::new().env("OPENAI_BASE_URL", &url).run(&["run", "hello"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("wants a key in OPENAI_API_KEY"), "{ran}");
}

#[test]
fn what_nobody_knows_the_price_of_costs_a_question_mark() {
    let answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\n\
                  data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1200,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";
    let sandbox = Sandbox::new().env("KEY_OF_MINE", "made-up");
    sandbox.config(&format!(
        "model: mine/some\nproviders:\n  mine:\n    base_url: {}/v1\n    api_key: ${{KEY_OF_MINE}}\n",
        streaming(&[answer])
    ));
    let ran = sandbox.run(&["run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(
        listed.stdout.contains(" $? ") && !listed.stdout.contains("$0"),
        "{listed}"
    );
    for line in [
        &["usage", "--by", "model"][..],
        &["usage", "--by", "day"],
        &["usage", "--by", "session"],
        &["usage", "--by", "cause"],
        &["sessions", "stats"],
    ] {
        let ran = sandbox.run(line);
        assert!(ran.stdout.contains("$?") && !ran.stdout.contains("$0"), "{ran}");
    }
    let id = crate::rewind::id_of(&sandbox, 0);
    for format in ["md", "html"] {
        let ran = sandbox.run(&["sessions", "export", &id, "--format", format]);
        assert!(
            ran.stdout.contains(" out, $?") && !ran.stdout.contains("$0.0"),
            "{ran}"
        );
    }
    let stats = sandbox.run(&["sessions", "stats", "--json"]);
    assert_eq!(stats.code, Some(0), "{stats}");
    let json = sandbox.run(&["usage", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        rows["rows"][0]["unpriced_models"],
        serde_json::json!(["mine/some"]),
        "{json}"
    );
}

/// Calls a tool first, and answers then.
fn looks_and_answers(request: &serde_json::Value) -> ModelAnswer {
    if request.to_string().contains("\"role\":\"tool\"") {
        return ModelAnswer::text("done");
    }
    ModelAnswer::default()
        .then(AnswerPart::Thinking("hm".into()))
        .then(AnswerPart::Call {
            id: "call_1".into(),
            name: "bash".into(),
            input: serde_json::json!({ "command": "echo x" }),
        })
}

#[tokio::test(flavor = "multi_thread")]
async fn models_that_want_their_reasoning_back_go_on_behind_a_server_of_ones_own() {
    for (id, refusals) in [("deepseek-v4-pro", 0), ("alias", 1)] {
        let server = StrictServer::chat(ChatServer::new(Dialect::DeepSeek), looks_and_answers).await;
        let sandbox = Sandbox::new();
        sandbox.config(&format!(
            "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodel: mine/{id}\n",
            server.url()
        ));
        for session in [None, Some("--last")] {
            let args = ["run", "--yes", "go"].into_iter().chain(session);
            let args: Vec<&str> = args.collect();
            let ran = tokio::task::block_in_place(|| sandbox.run(&args));
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "done\n"),
                "{id}: {ran}"
            );
            let told = ran.stderr.contains("reasoning_content");
            assert_eq!(told, refusals > 0 && session.is_none(), "{id}: {ran}");
        }
        assert_eq!(server.refused().len(), refusals, "{id}");
    }
}

#[test]
fn a_chat_with_a_server_of_several_models_asks_which_one_is_meant() {
    let several = with_list(&["one", "two"]);
    let mut chat = Pty::start(&several, &[], 100, 30);
    chat.wait_for("Which model? [number or name, q to leave]");
    chat.keys("7\r");
    chat.wait_for("`7` is not one of the models.");
    chat.keys("2\r");
    chat.wait_for("`agentx config set model openai/two`");
    chat.wait_for_last("›");
    assert!(chat.lines().join("\n").contains("· two ·"));
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let mut left = Pty::start(&several, &[], 100, 30);
    left.wait_for("Which model?");
    left.keys("q\r");
    assert_eq!(left.end(), Some(0));
}

/// The shape of the list is llama.cpp's, the figures are made up.
#[test]
fn the_window_that_a_server_reports_is_compared_with_the_assumed_one() {
    let list = serde_json::json!({ "data": [{ "id": "small", "meta": { "n_ctx": 8192 } }] });
    let address = answering("200 OK", list.to_string());
    let sandbox = Sandbox::new()
        .env("OPENAI_BASE_URL", &format!("{address}/v1"))
        .env("OPENAI_API_KEY", "sk-made-up");
    let doctor = sandbox.run(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("the server runs small with 8192 tokens, but 128000 are assumed"),
        "{doctor}"
    );
}
