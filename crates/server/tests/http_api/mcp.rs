//! `/mcp` as clients of the Model Context Protocol use it: every version, the caller's own tools and
//! sessions, refusals, calls that run long, and clients that go away.

use agentx_config::{McpServerSettings, McpTarget, McpValue, Secret};
use agentx_mcp::{KnownServers, McpEnvironment, McpLaunchContext, McpLimits};
use agentx_testing::fixture;
use agentx_types::{ApprovalMode, ContentPart, OwnerId, SessionId, ToolStatus};
use axum::http::{Method, StatusCode};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};

use crate::http_api::desk::{Ask, Desk, Reply, rule_of, wide};

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(tool: &str, arguments: Value) -> Value {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

fn ask<'a>(desk: &'a Desk, token: &str, body: &Value) -> Ask<'a> {
    desk.post("/mcp", body).by(token)
}

/// The result of a request that has to succeed.
async fn result(desk: &Desk, token: &str, method: &str, params: Value) -> Value {
    let reply = ask(desk, token, &request(method, params)).send().await.ok();
    let message = reply.json();
    assert_eq!(
        (&message["jsonrpc"], &message["id"]),
        (&json!("2.0"), &json!(1)),
        "{message}"
    );
    assert!(message["error"].is_null(), "{message}");
    message["result"].clone()
}

/// The words of a call, and whether it failed.
pub(super) async fn called(desk: &Desk, token: &str, tool: &str, arguments: Value) -> (String, bool) {
    let result = result(
        desk,
        token,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
    .await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["isError"].as_bool().unwrap())
}

#[tokio::test]
async fn a_client_of_a_version_with_a_handshake_is_served() {
    let desk = Desk::new().await;
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let begun = result(
            &desk,
            &desk.ann,
            "initialize",
            json!({"protocolVersion": version}),
        )
        .await;
        assert_eq!(begun["protocolVersion"], version);
        assert_eq!(begun["serverInfo"]["name"], "agentx");
    }
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let taken = ask(&desk, &desk.ann, &notification)
        .header("mcp-protocol-version", "2025-11-25")
        .send()
        .await;
    assert_eq!((taken.status, taken.body.len()), (StatusCode::ACCEPTED, 0));
    let tools = result(&desk, &desk.ann, "tools/list", json!({})).await;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["bash", "read", "write", "edit", "glob", "grep", "query"]);
}

#[tokio::test]
async fn a_client_of_the_version_without_a_handshake_is_served() {
    let desk = Desk::new().await;
    let body = |method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request(method, params)
    };
    let ask_with = |method: &str, params: Value, name: &str| {
        let asked = ask(&desk, &desk.ann, &body(method, params))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if name.is_empty() {
            asked
        } else {
            asked.header("mcp-name", name)
        }
    };
    let found = ask_with("server/discover", json!({}), "")
        .send()
        .await
        .ok()
        .json();
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let listed = ask_with("tools/list", json!({}), "").send().await.ok().json();
    assert_eq!(listed["result"]["resultType"], "complete");
    let glob = json!({"name": "glob", "arguments": {"pattern": "*"}});
    let done = ask_with("tools/call", glob.clone(), "glob")
        .send()
        .await
        .ok()
        .json();
    assert_eq!(done["result"]["isError"], false);
    let other = ask_with("tools/call", glob, "grep").send().await;
    assert_eq!(
        (other.status, &other.json()["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!(-32_020))
    );
    let unknown = ask_with("nothing/there", json!({}), "").send().await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (StatusCode::NOT_FOUND, &json!(-32_601))
    );
    let removed = ask_with("ping", json!({}), "").send().await;
    assert_eq!(
        (removed.status, &removed.json()["error"]["code"]),
        (StatusCode::NOT_FOUND, &json!(-32_601))
    );
    let old = ask(&desk, &desk.ann, &request("tools/list", json!({})))
        .header("mcp-protocol-version", "1999-01-01")
        .send()
        .await;
    assert_eq!(
        (old.status, &old.json()["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!(-32_022))
    );
}

/// A proxy may read another one of two headers than the server, and another text in what is not ASCII.
#[tokio::test]
async fn a_header_that_cannot_be_compared_with_the_body_is_a_mismatch() {
    let desk = Desk::new().await;
    let glob = call("glob", json!({"pattern": "*"}));
    let twice = |name: &str, first: &str| {
        let asks = ask(&desk, &desk.ann, &glob);
        asks.header(name, first).header(name, "other")
    };
    let not_ascii = ask(&desk, &desk.ann, &glob).header_bytes("mcp-name", "glób".as_bytes());
    for asks in [
        twice("mcp-name", "glob"),
        twice("mcp-method", "tools/call"),
        twice("mcp-protocol-version", "2025-11-25"),
        not_ascii,
    ] {
        let reply = asks.send().await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (StatusCode::BAD_REQUEST, &json!(-32_020))
        );
    }
    let mut numbered = glob.clone();
    numbered["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": 5});
    let reply = ask(&desk, &desk.ann, &numbered).send().await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!(-32_602))
    );
}

#[tokio::test]
async fn callers_work_in_their_own_places_by_the_servers_rules() {
    let desk = Desk::ruled(wide(), &["allow bash: echo *"]).await;
    std::fs::write(desk.ann_dir().join("hers.txt"), "of Ann\n").unwrap();
    std::fs::write(desk.directory.path().join("operators.txt"), "of the operator\n").unwrap();
    let (text, failed) = called(&desk, &desk.ann, "read", json!({"path": "hers.txt"})).await;
    assert!(!failed && text.contains("of Ann"), "{text}");
    let (text, failed) = called(&desk, &desk.bob, "read", json!({"path": "hers.txt"})).await;
    assert!(failed && text.contains("no such file"), "{text}");
    let outside = json!({"path": desk.directory.path().join("operators.txt")});
    let (text, failed) = called(&desk, &desk.ann, "read", outside).await;
    assert!(failed && text.contains("Not allowed"), "{text}");
    let (text, failed) = called(&desk, &desk.ann, "write", json!({"path": "new", "content": ""})).await;
    assert!(failed && text.contains("nobody can be asked here"), "{text}");
    assert!(!desk.ann_dir().join("new").exists());
    let (text, failed) = called(&desk, &desk.ann, "bash", json!({"command": "echo said"})).await;
    assert!(!failed && text.contains("said"), "{text}");
    for (tool, arguments) in [("todo", json!({"items": []})), ("made_up", json!({}))] {
        let refused = ask(&desk, &desk.ann, &call(tool, arguments)).send().await.json();
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
}

#[tokio::test]
async fn sessions_are_documents_of_those_who_may_see_them() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("what a fine day")).await;
    let address = format!("agentx://sessions/{session}");
    let listed = result(&desk, &desk.ann, "resources/list", json!({})).await;
    assert_eq!(listed["resources"][0]["uri"], address);
    let read = result(&desk, &desk.ann, "resources/read", json!({"uri": address})).await;
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("what a fine day"),
        "{read}"
    );
    let of_bob = result(&desk, &desk.bob, "resources/list", json!({})).await;
    assert_eq!(of_bob["resources"], json!([]));
    for uri in [
        address.as_str(),
        "agentx://sessions/ses_none",
        "file:///etc/hostname",
        "",
    ] {
        let body = request("resources/read", json!({"uri": uri}));
        let refused = ask(&desk, &desk.bob, &body).send().await.json();
        assert_eq!(refused["error"]["code"], -32_002, "{uri}: {refused}");
    }
}

/// A long session is not read to its end for a client that gets its beginning.
#[tokio::test]
async fn the_beginning_of_a_session_ends_at_its_bound() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    for word in ["first", "second", "third"] {
        desk.say(&desk.ann, &session, json!(word.repeat(1_000))).await;
    }
    let runtime = desk.state.runtime_of(&desk.ann_id.as_str().into());
    let id = SessionId::new(&session);
    for (bytes, is_all) in [(usize::MAX, true), (1 << 20, true), (5_500, false)] {
        let (read, all) = agentx_history::transcript::beginning(&*runtime, &id, bytes)
            .await
            .unwrap();
        let text = agentx_history::transcript::markdown(&read);
        assert_eq!((all, text.contains("thirdthird")), (is_all, is_all), "{bytes}");
        assert!(text.contains("firstfirst"), "{bytes}");
    }
}

/// The code of a problem, by its status.
async fn problem(ask: Ask<'_>) -> (u16, String) {
    let reply: Reply = ask.send().await;
    (reply.status.as_u16(), reply.code())
}

#[tokio::test]
async fn strangers_and_nonsense_are_refused() {
    let desk = Desk::new().await;
    let list = request("tools/list", json!({}));
    assert_eq!(
        problem(desk.post("/mcp", &list)).await,
        (401, "unauthenticated".into())
    );
    let foreign = ask(&desk, &desk.ann, &list).header("origin", "https://evil.example");
    assert_eq!(problem(foreign).await.0, 403);
    for method in [Method::GET, Method::DELETE] {
        let asked = desk.ask(method, "/mcp").by(&desk.ann);
        assert_eq!(problem(asked).await, (405, "method_not_allowed".into()));
    }
    let ask_text = |kind: &str, text: &'static str| {
        let ask = desk.ask(Method::POST, "/mcp").by(&desk.ann);
        ask.header("content-type", kind).text(text)
    };
    assert_eq!(
        problem(ask_text("text/plain", "{}")).await,
        (415, "unsupported_media_type".into())
    );
    assert_eq!(problem(ask_text("application/json", "{")).await.0, 422);
    assert_eq!(problem(ask_text("application/json", "[]")).await.0, 422);
    let wrong = ask_text("application/json", "{}").send().await;
    assert_eq!(
        (wrong.status.as_u16(), &wrong.json()["error"]["code"]),
        (400, &json!(-32_600))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_streams_its_progress_and_ends_with_its_client() {
    let desk = Desk::set(wide(), |settings| {
        settings.rules = vec![rule_of("allow bash: *")];
        settings.quotas.calls = Some(1);
    })
    .await;
    let fifo = desk.ann_dir().join("wait");
    let line = "mkfifo wait; echo begun; read x < wait; echo over";
    let mut long = call("bash", json!({"command": line}));
    long["params"]["_meta"] = json!({"progressToken": "t"});
    let open = || {
        ask(&desk, &desk.ann, &long)
            .header("accept", "application/json, text/event-stream")
            .open()
    };
    let first = open().await;
    assert_eq!(first.headers()["content-type"], "text/event-stream");
    let mut pieces = first.into_body().into_data_stream();
    let progress = String::from_utf8(pieces.next().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(
        progress.starts_with("event: message\ndata: ") && progress.contains("begun"),
        "{progress}"
    );
    assert!(progress.contains("\"progressToken\":\"t\""), "{progress}");
    let busy = problem(ask(&desk, &desk.ann, &request("ping", json!({})))).await;
    assert_eq!(busy, (429, "too_many".into()));
    std::fs::write(&fifo, "go\n").unwrap();
    let mut rest = String::new();
    while let Some(piece) = pieces.next().await {
        rest.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(
        rest.contains("over") && rest.contains("\"isError\":false"),
        "{rest}"
    );

    std::fs::remove_file(&fifo).unwrap();
    let mut pieces = open().await.into_body().into_data_stream();
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    // The call is cancelled, and its place is free again.
    until_answered_with(&desk, StatusCode::OK).await;
}

/// Each line of progress that waits for its client repeats the token.
#[tokio::test]
async fn a_token_of_progress_takes_no_memory() {
    let desk = Desk::new().await;
    for token in [json!("t".repeat(129)), json!(["t"]), json!(null)] {
        let mut body = call("glob", json!({"pattern": "*"}));
        body["params"]["_meta"] = json!({"progressToken": token});
        let refused = ask(&desk, &desk.ann, &body).send().await.json();
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
}

/// Waits until a request of Ann is answered with this status.
async fn until_answered_with(desk: &Desk, status: StatusCode) {
    let ping = request("ping", json!({}));
    let answered = async {
        while ask(desk, &desk.ann, &ping).send().await.status != status {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), answered)
        .await
        .unwrap();
}

/// A document that nobody waits for any more takes no turn from others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reading_ends_with_its_client() {
    let desk = Desk::set(wide(), |settings| settings.quotas.calls = Some(1)).await;
    let session = desk.session(&desk.ann).await;
    // Somebody else's turn lasts as long as this test.
    let turn = desk.state.check_turns().take(&OwnerId::new("own_other")).await;
    let uri = format!("agentx://sessions/{session}");
    let body = request("resources/read", json!({"uri": uri}));
    loop {
        let mut reads = Box::pin(ask(&desk, &desk.ann, &body).send());
        let has_begun = tokio::select! {
            biased;
            // A request of the other branch was first.
            refused = &mut reads => refused.status != StatusCode::TOO_MANY_REQUESTS,
            () = until_answered_with(&desk, StatusCode::TOO_MANY_REQUESTS) => true,
        };
        if has_begun {
            break;
        }
    }
    until_answered_with(&desk, StatusCode::OK).await;
    drop(turn);
    let read = result(&desk, &desk.ann, "resources/read", json!({"uri": uri})).await;
    assert_eq!(read["contents"][0]["uri"], json!(uri));
}

/// Answers that nobody reads are held in memory, so a person has one of them at a time.
#[tokio::test]
async fn a_text_of_a_session_is_made_after_the_one_before_was_sent() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("\"".repeat(300_000))).await;
    let read = request(
        "resources/read",
        json!({"uri": format!("agentx://sessions/{session}")}),
    );
    let line = desk.caller(&desk.ann, "client").line;
    let turn = || desk.state.answer_turns().take(&line).now_or_never();
    let unread = ask(&desk, &desk.ann, &read).open().await;
    assert_eq!(unread.status(), StatusCode::OK);
    assert!(turn().is_none(), "it is not sent yet");
    let bob = desk.caller(&desk.bob, "client").line;
    assert!(desk.state.answer_turns().take(&bob).now_or_never().is_some());
    // Its connection has ended.
    drop(unread);
    assert!(turn().is_some());
    ask(&desk, &desk.ann, &read).send().await.ok();
    assert!(turn().is_some(), "it was sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_official_library_lists_and_calls_tools() {
    let desk = Desk::new().await;
    std::fs::write(desk.ann_dir().join("hers.txt"), "of Ann\n").unwrap();
    let mut settings = McpServerSettings::address("home", format!("{}/mcp", desk.listen().await));
    if let McpTarget::Address { headers, .. } = &mut settings.target {
        headers.push(McpValue {
            name: "Authorization".into(),
            from: vec!["TOKEN".into()],
            value: Some(Secret::new(format!("Bearer {}", desk.ann))),
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let surroundings = McpLaunchContext {
        known: KnownServers::in_directory(folder.path()),
        environment: Default::default(),
        limits: McpLimits::default(),
    };
    let client = McpEnvironment::new(settings, surroundings, []);
    let known = client.connect().await.unwrap();
    assert_eq!(known.identity.unwrap().protocol, "2026-07-28");
    let tools = client.tools();
    let read = tools
        .iter()
        .find(|tool| tool.spec().name.ends_with("read"))
        .unwrap();
    let outcome = read
        .call(json!({"path": "hers.txt"}), fixture::tool_context("/"))
        .await;
    let text: String = outcome.content.iter().filter_map(ContentPart::as_text).collect();
    assert!(
        outcome.status == ToolStatus::Success && text.contains("of Ann"),
        "{outcome:?}"
    );
    client.close().await;
}

/// A call in the version without a handshake, by a client that shows forms to its person.
pub(super) async fn askable_call(desk: &Desk, token: &str, more: Value) -> Value {
    let mut params = json!({"name": "write", "arguments": {"path": "made", "content": "by a client"}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let asked = ask(desk, token, &request("tools/call", params))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "write");
    asked.send().await.ok().json()
}

#[tokio::test]
async fn the_operators_client_allows_a_call_once_and_nobody_else_by_its_state() {
    let desk = Desk::set(wide(), |settings| settings.approval = ApprovalMode::Ask).await;
    let made = desk.directory.path().join("made");
    let asked = askable_call(&desk, &desk.operator, json!({})).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let message = asked["inputRequests"]["approval"]["params"]["message"].as_str();
    assert!(
        message.unwrap().contains("by a client"),
        "the question shows the call: {asked}"
    );
    assert!(!made.exists());
    let accepted = json!({
        "requestState": asked["requestState"],
        "inputResponses": {"approval": {"action": "accept", "content": {}}},
    });
    // A member cannot answer in the operator's place.
    let refused = askable_call(&desk, &desk.ann, accepted.clone()).await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    let done = askable_call(&desk, &desk.operator, accepted.clone()).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "by a client");
    let again = askable_call(&desk, &desk.operator, accepted).await;
    assert_eq!(again["error"]["code"], -32_602, "{again}");
    let asked = askable_call(&desk, &desk.operator, json!({})).await["result"].clone();
    let declined = json!({
        "requestState": asked["requestState"],
        "inputResponses": {"approval": {"action": "decline"}},
    });
    let done = askable_call(&desk, &desk.operator, declined).await["result"].clone();
    let text = done["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("it was not allowed at the client"), "{done}");
}

/// The client of a member is that member, who may not allow their own calls; Vera decides about those of
/// others alone.
#[tokio::test]
async fn clients_of_members_are_not_asked_about_what_the_operator_decides() {
    let desk = Desk::set(wide(), |settings| settings.approval = ApprovalMode::Ask).await;
    for token in [&desk.ann, &desk.vera] {
        let refused = askable_call(&desk, token, json!({})).await["result"].clone();
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("nobody can be asked here"), "{text}");
    }
    assert!(!desk.ann_dir().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_handshake_is_asked_on_the_stream_of_its_call() {
    let desk = Desk::set(wide(), |settings| settings.approval = ApprovalMode::Ask).await;
    let begin = |capabilities: Value| {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
        request("initialize", params)
    };
    let plain = ask(&desk, &desk.operator, &begin(json!({}))).send().await.ok();
    assert!(plain.headers.get("mcp-session-id").is_none());
    let capable = begin(json!({"elicitation": {}}));
    let begun = ask(&desk, &desk.operator, &capable).send().await.ok();
    let session = begun.header("mcp-session-id").to_owned();
    let body = call("write", json!({"path": "made", "content": "by a client"}));
    let stream = ask(&desk, &desk.operator, &body)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", &session)
        .open()
        .await;
    let mut pieces = stream.into_body().into_data_stream();
    let asked = String::from_utf8(pieces.next().await.unwrap().unwrap().to_vec()).unwrap();
    let asked: Value = serde_json::from_str(asked.split_once("data: ").unwrap().1).unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let response =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}});
    // The answer of somebody else is not that of the operator.
    let taken = ask(&desk, &desk.ann, &response).send().await;
    assert_eq!(taken.status, StatusCode::ACCEPTED);
    assert!(!desk.directory.path().join("made").exists());
    let taken = ask(&desk, &desk.operator, &response).send().await;
    assert_eq!(taken.status, StatusCode::ACCEPTED);
    let mut rest = String::new();
    while let Some(piece) = pieces.next().await {
        rest.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(rest.contains("\"isError\":false"), "{rest}");
    // Without a stream there is no place for the question.
    let refused = ask(&desk, &desk.operator, &body)
        .header("mcp-session-id", &session)
        .send()
        .await
        .json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}
