//! The output of a run when the model's server refuses, against a server on this machine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::models::{answering, streaming};
#[cfg(unix)]
use crate::pty::Pty;
use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer};
use serde_json::{Value, json};

#[test]
fn a_refused_key_and_a_refused_request_have_exits_of_their_own() {
    for (status, body, code) in [
        (
            "401 Unauthorized",
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            4,
        ),
        (
            "400 Bad Request",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}"#,
            4,
        ),
        (
            "400 Bad Request",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"no such thing"}}"#,
            5,
        ),
    ] {
        let address = answering(status, body);
        let sandbox = Sandbox::new()
            .env("ANTHROPIC_API_KEY", "sk-secret-key")
            .env("ANTHROPIC_BASE_URL", &address);
        let ran = sandbox.run(&["run", "--output-format", "json", "hello"]);
        assert_eq!(ran.code, Some(code), "{ran}");
        let result = ran.result();
        assert_eq!(result["status"], "failed", "{ran}");
        assert_eq!(result["exit_code"], code, "{ran}");
        assert!(!ran.to_string().contains("sk-secret-key"), "{ran}");
    }
}

/// A made-up answer of Claude that ends for this reason.
fn claude_ends(why: &str) -> String {
    format!(
        r#"{{"type":"message","id":"msg_1","role":"assistant","model":"m","content":[{{"type":"text","text":"half of"}}],"stop_reason":"{why}","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
    )
}

#[test]
fn an_answer_that_is_cut_off_fails_the_run_in_every_format() {
    let why = "max_tokens";
    let told = |ran: &crate::common::Ran| ran.stderr.matches("the answer is cut off").count();
    let sandbox = Sandbox::new()
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", &answering("200 OK", claude_ends(why)));
    let ran = sandbox.run(&[
        "run",
        "--model",
        "opus",
        "--max-cost",
        "1",
        "--output-format",
        "json",
        "hello",
    ]);
    assert_eq!(ran.code, Some(5), "{ran}");
    assert!(!ran.stderr.contains("costs"), "it has a price: {ran}");
    assert_eq!(ran.result()["text"], "half of", "{ran}");
    assert!(ran.result()["cost_usd"].as_f64() > Some(0.0), "{ran}");
    assert_eq!(ran.result()["stop_reason"], why, "{ran}");
    assert_eq!(ran.result()["error"]["kind"], "answer_cut_off", "{ran}");
    assert_eq!(told(&ran), 1, "{ran}");
    let run = |flags: &[&str]| sandbox.run(&[&["run", "--model", "opus", "hello"][..], flags].concat());
    for (flags, printed) in [
        (&["--quiet"][..], "half of\n"),
        (&[], "half of\n"),
        (&["--streams"], "agentx │ half of\n"),
    ] {
        let ran = run(flags);
        assert_eq!(ran.code, Some(5), "{ran}");
        assert!(ran.stdout.starts_with(printed), "{ran}");
        assert_eq!(told(&ran), 1, "{ran}");
        assert!(ran.stderr.contains("agentx run --last \"go on\""), "{ran}");
        assert!(ran.stderr.contains("params.max_output_tokens"), "{ran}");
    }
    let streamed = run(&["--output-format", "stream-json"]);
    assert_eq!(streamed.code, Some(5), "{streamed}");
    assert_eq!(streamed.result()["exit_code"], 5, "{streamed}");
}

#[test]
fn a_declined_answer_fails_the_run_in_every_format_and_the_next_run_goes_on() {
    let chat = |finish: &str, message: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"{finish}"}}],"usage":{{"prompt_tokens":1,"completion_tokens":2}}}}"#
        )
    };
    let half = r#"{"role":"assistant","content":"half of"}"#;
    let cases = [
        ("opus", "ANTHROPIC_BASE_URL", claude_ends("refusal")),
        ("openai/made-up", "OPENAI_BASE_URL", chat("content_filter", half)),
        ("openai/made-up", "OPENAI_BASE_URL", chat("SAFETY", half)),
        (
            "openai/made-up",
            "OPENAI_BASE_URL",
            chat(
                "stop",
                r#"{"role":"assistant","content":null,"refusal":"I cannot."}"#,
            ),
        ),
    ];
    for (model, variable, body) in cases {
        let sandbox = Sandbox::new()
            .env("ANTHROPIC_API_KEY", "sk-test")
            .env(variable, &answering("200 OK", body));
        let run = |format: &str| {
            let ran = sandbox.run(&[
                "run",
                "--model",
                model,
                "--output-format",
                format,
                "made up and bad",
            ]);
            assert_eq!(ran.code, Some(5), "{model} {format}: {ran}");
            ran
        };
        for format in ["json", "stream-json"] {
            let result = run(format).result();
            assert_eq!(result["status"], "failed", "{result}");
            assert_eq!(result["error"]["kind"], "content_filter", "{result}");
            assert_eq!(result["stop_reason"], "refusal", "{result}");
        }
        let told = run("text").stderr;
        assert_eq!(told.matches("declined to answer").count(), 1, "{told}");
        let quiet = sandbox.run(&["run", "--quiet", "--model", model, "hello"]);
        assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(5), ""), "{quiet}");
    }
}

#[test]
fn a_call_that_is_written_as_text_is_said_to_be_one() {
    let body = |content: &str| {
        let message = json!({"role": "assistant", "content": content});
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string()
    };
    let call = r#"{"name": "bash", "arguments": {"command": "ls"}}"#;
    for content in [
        format!("<tool_call>\n{call}\n</tool_call>"),
        format!("```json\n{call}\n```"),
        format!("[TOOL_CALLS][{call}]"),
    ] {
        let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &answering("200 OK", body(&content)));
        for flags in [&[][..], &["--quiet"], &["--output-format", "json"]] {
            let ran = sandbox.run(&[&["run", "--model", "openai/own", "hello"][..], flags].concat());
            assert_eq!(ran.code, Some(0), "{ran}");
            let told = crate::common::squeezed(&ran.stderr);
            let parsers = ["`--jinja`", "`--enable-auto-tool-choice --tool-call-parser NAME`"];
            assert_eq!(
                told.matches("the model wrote a tool call as text, so").count(),
                1,
                "{ran}"
            );
            assert!(parsers.iter().all(|parser| told.contains(parser)), "{ran}");
        }
    }
}

#[test]
fn words_before_a_tag_that_only_closes_are_no_part_of_the_answer() {
    let chunk = |content: &str| {
        let chunk = json!({"id": "x", "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": null}]});
        format!("data: {chunk}\n\n")
    };
    let end = r#"data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let body = [
        chunk("Hm, a greet"),
        chunk("ing.\n</thi"),
        chunk("nk>\n\nHel"),
        chunk("lo"),
        format!("{end}\n\ndata: [DONE]\n\n"),
    ]
    .concat();
    let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &streaming(&[&body]));
    let ran = sandbox.run(&["run", "--quiet", "--model", "openai/own", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello\n"), "{ran}");
}

#[test]
fn an_answer_that_ends_for_an_unknown_reason_says_so() {
    let sandbox = Sandbox::new()
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", &answering("200 OK", claude_ends("made_up")));
    let ran = sandbox.run(&["run", "--quiet", "--model", "opus", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "half of\n"), "{ran}");
    assert!(
        crate::common::squeezed(&ran.stderr).contains("may be incomplete"),
        "{ran}"
    );
    let ran = sandbox.run(&["run", "--model", "opus", "--output-format", "json", "hello"]);
    assert_eq!(ran.result()["stop_reason"], "other", "{ran}");
}

#[test]
fn an_answer_without_a_word_fails_the_run_in_every_format() {
    let body = |(content, reason): (&str, &str)| {
        format!(
            r#"{{"type":"message","id":"msg_1","role":"assistant","model":"m","content":[{content}],"stop_reason":"{reason}","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
        )
    };
    let thought = r#"{"type":"thinking","thinking":"Hm.","signature":"made up"}"#;
    let blank = r#"{"type":"text","text":" \n"}"#;
    for answer in [
        ("", "end_turn"),
        (thought, "end_turn"),
        (blank, "end_turn"),
        ("", "tool_use"),
    ] {
        let sandbox = Sandbox::new()
            .env("ANTHROPIC_API_KEY", "sk-test")
            .env("ANTHROPIC_BASE_URL", &answering("200 OK", body(answer)));
        let run = |flags: &[&str]| sandbox.run(&[&["run", "--model", "opus", "hello"][..], flags].concat());
        for flags in [&["--quiet"][..], &[]] {
            let ran = run(flags);
            assert_eq!((ran.code, ran.stdout.trim()), (Some(5), ""), "{ran}");
            assert_eq!(ran.stderr.matches("without an answer").count(), 1, "{ran}");
            assert!(ran.stderr.contains("agentx run --last \"go on\""), "{ran}");
        }
        for format in ["json", "stream-json"] {
            let ran = run(&["--output-format", format]);
            assert_eq!(ran.code, Some(5), "{ran}");
            assert_eq!(ran.result()["error"]["kind"], "empty_answer", "{ran}");
        }
    }
}

#[test]
fn a_model_that_has_nothing_to_add_to_what_its_calls_did_has_answered() {
    let sandbox = Sandbox::new();
    let script = r#"
- { result: "*", say: "" }
- { input: "go", call: { tool: bash, input: { command: "true" } } }
"#;
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/.agentx/script.yaml", script);
    let ran = sandbox.run(&["run", "--yes", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    let nothing_worked = script.replace("true", "exit 3");
    sandbox.write("ws/.agentx/script.yaml", &nothing_worked);
    let ran = sandbox.run(&["run", "--yes", "go"]);
    assert_eq!(ran.code, Some(5), "{ran}");
}

#[test]
fn a_limit_of_money_for_a_model_without_a_price_is_said_to_count_what_the_server_reports() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &answering("200 OK", body));
    let ran = sandbox.run(&["run", "--model", "openai/own", "--max-cost", "1", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"), "{ran}");
    assert!(
        ran.stderr.starts_with(
            "note: the prices of own are unknown, so max_cost counts only the costs that its server reports"
        ),
        "{ran}"
    );
    let uncounted = "so max_cost did not count them";
    assert!(ran.stderr.contains(uncounted), "{ran}");
    let reported = body.replacen(
        '{',
        r#"{"usage":{"prompt_tokens":5,"completion_tokens":1,"cost":2.0},"#,
        1,
    );
    let server = Sandbox::new().env("OPENAI_BASE_URL", &answering("200 OK", &reported));
    let told = server.run(&["run", "--model", "openai/own", "--max-cost", "1", "hello"]);
    assert!(
        told.stderr
            .contains("the limit of $1.00 for one run is reached: this run cost $2.00")
            && !told.stderr.contains(uncounted),
        "{told}"
    );
    let ran = sandbox.run(&["run", "--model", "openai/own", "hello"]);
    assert_eq!(ran.stderr, "", "{ran}");
    let ran = sandbox.run(&["run", "--model", "openai/own", "--output-format", "json", "hello"]);
    let result = ran.result();
    assert!(result["usage"]["input_tokens"].as_u64() > Some(0), "{ran}");
    assert_eq!(result.get("cost_usd"), Some(&Value::Null), "{ran}");
}

#[test]
fn a_server_of_ones_own_is_asked_for_a_model_that_it_has() {
    let answer =
        r#""choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]"#;
    let run = |status: &'static str, models: &str| {
        let body = format!(r#"{{"data":[{models}],{answer}}}"#);
        let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &answering(status, body));
        // The usual model is asked at the Responses API otherwise.
        sandbox.config("providers: {openai: {api: openai-chat}}\n");
        sandbox.run(&["run", "hello"])
    };
    let one = run("200 OK", r#"{"id":"made-up/7b"}"#);
    assert_eq!((one.code, one.stdout.as_str()), (Some(0), "hello\n"), "{one}");
    assert!(
        one.stderr
            .contains("using made-up/7b, the only model of the server at http://127.0.0.1"),
        "{one}"
    );
    let usual = run("200 OK", r#"{"id":"made-up"},{"id":"gpt-6.2-sol"}"#);
    assert_eq!(
        (usual.code, usual.stdout.as_str()),
        (Some(0), "hello\n"),
        "{usual}"
    );
    assert_eq!(usual.stderr, "", "it has the default model: {usual}");
    for (status, models, told) in [
        (
            "200 OK",
            r#"{"id":"made-up-1"},{"id":"made-up-2"}"#,
            "several: made-up-1, made-up-2",
        ),
        ("200 OK", "", "has none"),
        (
            "404 Not Found",
            "",
            "does not list its models: it answers with HTTP 404",
        ),
    ] {
        let ran = run(status, models);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(crate::common::squeezed(&ran.stderr).contains(told), "{ran}");
    }
    let several = run("200 OK", r#"{"id":"made-up-1"},{"id":"made-up-2"}"#);
    assert!(
        crate::common::squeezed(&several.stderr).contains("--model openai/made-up-1"),
        "{several}"
    );
}

/// The default model that a person set for a provider is asked, whatever the server lists.
#[test]
fn the_default_model_of_a_provider_is_asked_whatever_its_server_lists() {
    let own = "models:\n  my-model: {provider: mine}\n";
    let named = "models:\n  my-model: {provider: mine, id: a-model}\n";
    for (status, listed, models, asked) in [
        ("404 Not Found", "", "", None),
        ("404 Not Found", "", own, None),
        (
            "200 OK",
            r#"{"id":"a-model"},{"id":"b-model"}"#,
            own,
            Some("my-model"),
        ),
        (
            "200 OK",
            r#"{"id":"a-model"},{"id":"b-model"}"#,
            "",
            Some("my-model"),
        ),
        ("200 OK", r#"{"id":"a-model"}"#, "", Some("my-model")),
        (
            "200 OK",
            r#"{"id":"my-model"},{"id":"b-model"}"#,
            "",
            Some("my-model"),
        ),
        (
            "200 OK",
            r#"{"id":"a-model"},{"id":"b-model"}"#,
            named,
            Some("a-model"),
        ),
    ] {
        let answer = r#""choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]"#;
        let address = answering(status, format!(r#"{{"data":[{listed}],{answer}}}"#));
        let sandbox = Sandbox::new();
        let provider = format!(
            "providers:\n  mine: {{base_url: '{address}/v1', auth: none, default_model: my-model}}\n{models}"
        );
        sandbox.config(&provider);
        let ran = sandbox.run(&["run", "--output-format", "json", "hello"]);
        let case = format!("{status}, {listed}, {models}: {ran}");
        match asked {
            Some(id) => {
                assert_eq!(ran.code, Some(0), "{case}");
                assert!(!ran.stderr.contains("the only model"), "{case}");
                let id = format!("\"{id}\"");
                let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([]), "--format", "json"]);
                assert!(shown.stdout.contains(&id), "{case}");
            }
            // This server answers everything with 404, so the request itself fails: not the choice of a
            // model.
            None => assert_eq!(ran.code, Some(5), "{case}"),
        }
    }
}

#[test]
fn limits_hold_with_a_server_that_reports_no_usage() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"true\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let models = "models:\n  own:\n    provider: openai\n    prices: {input: 1.00, output: 1.00}\n";
    for (limit, code) in [
        ("max_tokens: 100", "token_limit"),
        ("max_cost: 0.0001", "cost_limit"),
    ] {
        let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &answering("200 OK", body));
        sandbox.config(&format!("{models}limits:\n  {limit}\n"));
        let ran = sandbox.run(&[
            "run",
            "--yes",
            "--model",
            "own",
            "--output-format",
            "json",
            "hello",
        ]);
        let result = ran.result();
        assert_eq!(result["error"]["kind"], code, "{ran}");
        assert!(result["usage"]["estimated_tokens"].as_u64() > Some(100), "{ran}");
    }
}

/// Asks for a tool until a conversation was condensed and continued.
fn works_until_condensed(request: &Value) -> ModelAnswer {
    let text = request.to_string();
    let results = text.matches("\"role\":\"tool\"").count();
    if request["tools"].as_array().is_none_or(Vec::is_empty) {
        ModelAnswer::text("In short: lines were printed.")
    } else if text.contains("In short: lines were printed.") && results > 0 {
        ModelAnswer::text("done")
    } else {
        ModelAnswer::default().then(AnswerPart::Call {
            id: format!("call_{}", text.len()),
            name: "bash".into(),
            input: json!({ "command": format!("seq {} 1 2500", results + 1) }),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_says_once_that_ollama_cuts_what_it_sends_and_goes_on_with_less() {
    let server = StrictServer::chat(
        ChatServer::new(Dialect::Ollama).with_window(8_192),
        works_until_condensed,
    )
    .await;
    let sandbox = Sandbox::new().env("OLLAMA_BASE_URL", &format!("{}/v1", server.url()));
    let run = move || sandbox.run(&["run", "--model", "ollama/made-up", "--yes", "print lines"]);
    let ran = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran}");
    let told = crate::common::squeezed(&ran.stderr);
    let noticed = told.matches("the server reads only 8192 tokens").count();
    assert_eq!(noticed, 1, "{ran}");
    assert!(told.contains("OLLAMA_CONTEXT_LENGTH=32768"), "{ran}");
    assert!(told.contains("context_window: 8192"), "{ran}");
    server.refused_nothing();
}

#[cfg(unix)]
#[test]
fn messages_that_were_not_answered_go_along_with_a_word() {
    let refused = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let sandbox = Sandbox::new()
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", &answering("401 Unauthorized", refused));
    let mut chat = Pty::start(&sandbox, &["chat", "--model", "opus"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("first\r");
    chat.wait_for("invalid x-api-key");
    chat.wait_for_last("›");
    assert!(!chat.lines().join("\n").contains("unanswered"));
    chat.keys("second\r");
    chat.wait_for("· the model also reads 1 earlier message that has no answer yet (/rewind drops it)");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let mut chat = Pty::start(&sandbox, &["resume", "--last"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("third\r");
    chat.wait_for("· the model also reads 2 earlier messages that have no answer yet (/rewind drops them)");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_bad_address_or_key_is_named_with_its_variable() {
    for (key, address, code, named) in [
        ("sk-made-up", "http://127.0.0.1:port/v1", 3, "OPENAI_BASE_URL"),
        ("sk-made\nup", "http://127.0.0.1:1/v1", 4, "OPENAI_API_KEY"),
    ] {
        let sandbox = Sandbox::new()
            .env("OPENAI_API_KEY", key)
            .env("OPENAI_BASE_URL", address);
        let ran = sandbox.run(&["run", "--model", "openai/made-up", "hello"]);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert!(
            ran.stderr.contains(named) && ran.stderr.contains("hint: "),
            "{ran}"
        );
        assert!(!ran.to_string().contains("sk-made"), "{ran}");
    }
}
