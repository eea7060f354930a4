//! AgentX as an MCP server beyond plain calls: prompts, completion, results that are not text, log messages
//! and subscriptions, in front of parts that are made up.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_mcp::{
    ClientAnswer, ClientLogLevel, ClientQuestion, HttpMessage, McpRequestContext, MirroredHeaders,
    ServedCall, ServedDocument, ServedParts, serve,
};
use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::{
    Access, ContentPart, EffectEnded, EffectOutcome, EnvironmentEvent, MediaPart, MediaSource, ToolCallId,
    ToolSpec,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const SESSION: &str = "agentx://sessions/ses_1";

#[derive(Default)]
struct Parts {
    version: AtomicU64,
    level: ClientLogLevel,
}

fn greeting() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom to greet."},
            "tone": {"type": "string", "enum": ["formal", "friendly", "short"]},
            "times": {"type": "integer"},
        },
        "required": ["name"],
    });
    ToolSpec::new("greeting", "Greets.", schema, Access::Internal)
}

impl ServedParts for Parts {
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        let spec = |name| ToolSpec::new(name, "Made up.", json!({"type": "object"}), Access::Read);
        Box::pin(std::future::ready(
            ["picture", "count", "logs", "asks"].map(spec).to_vec(),
        ))
    }

    fn output_schema(&self, tool: &ToolSpec) -> Option<Value> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        (tool.name == "count").then_some(schema)
    }

    fn call(&self, mut call: ServedCall) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            if call.tool == "count" {
                return ToolOutcome::success(r#"{"n":7}"#);
            }
            if call.tool == "picture" {
                let picture = MediaPart {
                    media_type: "image/png".into(),
                    source: MediaSource::Base64("iVBO".into()),
                    name: None,
                };
                let mut outcome = ToolOutcome::success("a picture");
                outcome.content.push(ContentPart::Image(picture));
                return outcome;
            }
            if call.tool == "asks" {
                return asking(call).await;
            }
            for level in ["debug", "info", "warn"] {
                call.progress.hear(&logged(level));
            }
            ToolOutcome::success("logged")
        })
    }

    fn log_level(&self) -> Option<&ClientLogLevel> {
        Some(&self.level)
    }

    fn prompts(&self) -> Vec<ToolSpec> {
        vec![greeting()]
    }

    fn prompt(&self, _: &ToolSpec, input: &Value) -> Result<String, String> {
        if input.get("name").is_none() {
            return Err("`name` is missing".into());
        }
        Ok(format!("Greet: {input}"))
    }

    fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>> {
        let document = ServedDocument {
            address: SESSION.into(),
            name: "ses_1".into(),
            title: "Made up".into(),
            version: self.version.load(Ordering::SeqCst),
        };
        Box::pin(std::future::ready(Ok(vec![document])))
    }

    fn read<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn linked_file<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<MediaPart>, String>> {
        let file = |media_type: &str| MediaPart {
            media_type: media_type.into(),
            source: MediaSource::Base64("YWJj".into()),
            name: None,
        };
        let found = match address {
            "agentx://blob/b3_text" => Ok(Some(file("text/plain"))),
            "agentx://blob/b3_picture" => Ok(Some(file("image/png"))),
            "agentx://blob/b3_large" => Err("it is too large".to_owned()),
            _ => Ok(None),
        };
        Box::pin(std::future::ready(found))
    }
}

/// A step of a script that logs something.
fn logged(level: &str) -> EnvironmentEvent {
    EnvironmentEvent::EffectEnded(EffectEnded {
        tool_call_id: ToolCallId::new("call_1"),
        step: 1,
        kind: "log".into(),
        input: Some(Box::new(
            json!({"level": level, "message": format!("so {level}")}),
        )),
        outcome: Box::new(EffectOutcome::Done(Value::Null)),
        bill: None,
        details: None,
    })
}

/// A call that says and logs something before and after its question.
async fn asking(mut call: ServedCall) -> ToolOutcome {
    call.progress.hear(&logged("info"));
    call.progress.say("asks");
    let question = ClientQuestion {
        key: "k".into(),
        message: "May it?".into(),
        schema: json!({"type": "object", "properties": {}}),
    };
    let answer = call.questions.ask(question).await;
    call.progress.hear(&logged("info"));
    call.progress.say("goes on");
    let is_allowed = matches!(answer, Some(ClientAnswer::Accepted(_)));
    ToolOutcome::success(format!("allowed: {is_allowed}"))
}

/// A client at the other end of a pipe.
struct Client {
    parts: Arc<Parts>,
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Client {
    fn new() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let parts = Arc::new(Parts::default());
        let served = serve(
            parts.clone(),
            BufReader::new(input),
            output,
            CancellationToken::new(),
        );
        tokio::spawn(served);
        let (from, to) = tokio::io::split(ours);
        Self {
            parts,
            to,
            from: BufReader::new(from).lines(),
        }
    }

    async fn send(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.to
            .write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn heard(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the answer to a request, and the messages that came before it.
    async fn asks(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        self.send(1, method, params).await;
        let mut before = Vec::new();
        loop {
            let message = self.heard().await;
            if message.get("id").is_some() {
                return (message, before);
            }
            before.push(message);
        }
    }

    async fn result(&mut self, method: &str, params: Value) -> Value {
        let (answer, _) = self.asks(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    async fn code(&mut self, method: &str, params: Value) -> Value {
        let (answer, _) = self.asks(method, params).await;
        answer["error"]["code"].clone()
    }
}

/// The metadata of a request in the version without a handshake.
fn stateless(more: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        meta[format!("io.modelcontextprotocol/{name}")] = value.clone();
    }
    meta
}

#[tokio::test]
async fn prompts_are_listed_and_written_with_their_arguments() {
    let mut client = Client::new();
    let begun = client
        .result("initialize", json!({"protocolVersion": "2025-11-25"}))
        .await;
    for offered in ["prompts", "completions", "logging"] {
        assert!(begun["capabilities"][offered].is_object(), "{begun}");
    }
    let listed = client.result("prompts/list", json!({})).await;
    let prompt = &listed["prompts"][0];
    assert_eq!(
        (&prompt["name"], &prompt["description"]),
        (&json!("greeting"), &json!("Greets."))
    );
    assert_eq!(
        prompt["arguments"][0],
        json!({"name": "name", "required": true, "description": "Whom to greet."})
    );
    assert_eq!(prompt["arguments"][1]["required"], false);
    let arguments = json!({"name": "7", "times": "2"});
    let got = client
        .result("prompts/get", json!({"name": "greeting", "arguments": arguments}))
        .await;
    // A text stays one though it looks like a number.
    let words = r#"Greet: {"name":"7","times":2}"#;
    assert_eq!(
        got["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": words}}])
    );
    for wrong in [
        json!({}),
        json!({"name": "nothing"}),
        json!({"name": "greeting"}),
        json!({"name": "greeting", "arguments": {"name": 7}}),
        json!({"name": "greeting", "arguments": []}),
    ] {
        assert_eq!(
            client.code("prompts/get", wrong.clone()).await,
            -32_602,
            "{wrong}"
        );
    }
    let listed = client
        .result("prompts/list", json!({"_meta": stateless(json!({}))}))
        .await;
    assert_eq!(
        (&listed["resultType"], &listed["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
}

#[tokio::test]
async fn arguments_of_prompts_and_ids_of_sessions_are_completed() {
    let mut client = Client::new();
    let ask = |reference: Value, name: &str, value: &str| json!({"ref": reference, "argument": {"name": name, "value": value}});
    let prompt = || json!({"type": "ref/prompt", "name": "greeting"});
    let given = client
        .result("completion/complete", ask(prompt(), "tone", "F"))
        .await;
    assert_eq!(
        given["completion"],
        json!({"values": ["formal", "friendly"], "total": 2, "hasMore": false})
    );
    let given = client
        .result("completion/complete", ask(prompt(), "name", "A"))
        .await;
    assert_eq!(given["completion"]["values"], json!([]));
    let templates = client.result("resources/templates/list", json!({})).await;
    let template = json!({"type": "ref/resource", "uri": templates["resourceTemplates"][0]["uriTemplate"]});
    let given = client
        .result("completion/complete", ask(template.clone(), "id", "ses_"))
        .await;
    assert_eq!(given["completion"]["values"], json!(["ses_1"]));
    for wrong in [
        ask(prompt(), "none", ""),
        ask(template, "none", ""),
        ask(
            json!({"type": "ref/resource", "uri": "file:///{path}"}),
            "path",
            "",
        ),
        ask(json!({"type": "ref/other"}), "name", ""),
        json!({"ref": prompt()}),
    ] {
        assert_eq!(
            client.code("completion/complete", wrong.clone()).await,
            -32_602,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn pictures_are_pictures_and_results_with_a_schema_are_structured() {
    let mut client = Client::new();
    let listed = client.result("tools/list", json!({})).await;
    assert_eq!(listed["tools"][1]["outputSchema"]["type"], "object");
    assert!(listed["tools"][0].get("outputSchema").is_none());
    let seen = client.result("tools/call", json!({"name": "picture"})).await;
    assert_eq!(
        seen["content"],
        json!([
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": "iVBO", "mimeType": "image/png"},
        ])
    );
    assert!(seen.get("structuredContent").is_none());
    let counted = client.result("tools/call", json!({"name": "count"})).await;
    assert_eq!(counted["structuredContent"], json!({"n": 7}));
}

#[tokio::test]
async fn files_that_results_link_to_are_resources() {
    let mut client = Client::new();
    let text = json!({"uri": "agentx://blob/b3_text"});
    let read = client.result("resources/read", text).await;
    let contents = json!({"uri": "agentx://blob/b3_text", "mimeType": "text/plain", "text": "abc"});
    assert_eq!(read["contents"], json!([contents]));
    let picture = json!({"uri": "agentx://blob/b3_picture"});
    let read = client.result("resources/read", picture).await;
    let contents = json!({"uri": "agentx://blob/b3_picture", "mimeType": "image/png", "blob": "YWJj"});
    assert_eq!(read["contents"], json!([contents]));
    for (address, code) in [
        ("agentx://blob/b3_large", -32_603),
        ("agentx://blob/b3_other", -32_002),
    ] {
        let refused = client.code("resources/read", json!({"uri": address})).await;
        assert_eq!(refused, code, "{address}");
    }
}

#[tokio::test]
async fn a_client_hears_what_a_tool_logs_from_the_level_that_it_set() {
    let mut client = Client::new();
    let call = || json!({"name": "logs"});
    let levels = |messages: &[Value]| -> Vec<Value> {
        let logs = messages
            .iter()
            .filter(|message| message["method"] == "notifications/message");
        logs.map(|message| message["params"]["level"].clone()).collect()
    };
    let (_, before) = client.asks("tools/call", call()).await;
    assert!(before.is_empty(), "nobody asked for messages: {before:?}");
    assert_eq!(
        client.result("logging/setLevel", json!({"level": "info"})).await,
        json!({})
    );
    let (_, heard) = client.asks("tools/call", call()).await;
    assert_eq!(levels(&heard), ["info", "warning"]);
    for wrong in [json!({}), json!({"level": "loud"}), json!({"level": 3})] {
        assert_eq!(client.code("logging/setLevel", wrong).await, -32_602);
    }
    // The version without a handshake names the level in each request, and does not know the method.
    let meta = stateless(json!({}));
    let set = json!({"level": "info", "_meta": meta});
    assert_eq!(client.code("logging/setLevel", set).await, -32_601);
    let wrong = json!({"name": "logs", "_meta": stateless(json!({"logLevel": "loud"}))});
    assert_eq!(client.code("tools/call", wrong).await, -32_602);
}

/// Sends a request as over HTTP; returns its result, and the messages that came before it.
async fn over_http(parts: &Arc<dyn ServedParts>, method: &str, params: Value) -> (Value, Vec<Value>) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let named = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let headers = MirroredHeaders {
        version: named.map(str::to_owned),
        method: Some(method.to_owned()),
        name: params["name"].as_str().map(str::to_owned),
        unreadable: None,
    };
    let HttpMessage::Request(request) = HttpMessage::read(&headers, body) else {
        return (Value::Null, Vec::new());
    };
    let (said, mut heard) = mpsc::channel(16);
    let context = McpRequestContext {
        cancel: CancellationToken::new(),
        said,
        suspended: Arc::default(),
        person: String::new(),
        can_be_asked: false,
    };
    let answer = request.answer(parts, context).await;
    let mut before = Vec::new();
    while let Some(message) = heard.recv().await {
        before.push(message);
    }
    (answer.message.unwrap_or_default(), before)
}

#[tokio::test]
async fn each_request_without_a_handshake_names_its_own_level() {
    let parts: Arc<dyn ServedParts> = Arc::new(Parts::default());
    let level = stateless(json!({"logLevel": "warning"}));
    let (_, heard) = over_http(&parts, "tools/call", json!({"name": "logs", "_meta": level})).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        heard[0]["params"],
        json!({"level": "warning", "logger": "logs", "data": "so warn"})
    );
    let none = json!({"name": "logs", "_meta": stateless(json!({}))});
    assert!(over_http(&parts, "tools/call", none).await.1.is_empty());
    // A level that was set by an older client does not reach this version.
    let set = over_http(&parts, "logging/setLevel", json!({"level": "debug"})).await;
    assert_eq!(set.0["result"], json!({}));
    let none = json!({"name": "logs", "_meta": stateless(json!({}))});
    assert!(over_http(&parts, "tools/call", none).await.1.is_empty());
    let (_, heard) = over_http(&parts, "tools/call", json!({"name": "logs"})).await;
    assert_eq!(heard.len(), 3, "{heard:?}");
}

#[tokio::test]
async fn each_request_that_waits_for_a_call_hears_it_under_its_own_token_and_level() {
    let mut client = Client::new();
    let capable = json!({"elicitation": {}});
    let mut meta = stateless(json!({"clientCapabilities": capable}));
    meta["progressToken"] = json!("first");
    let (asked, heard) = client
        .asks("tools/call", json!({"name": "asks", "_meta": meta}))
        .await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        heard[0]["params"],
        json!({"progressToken": "first", "progress": 1, "message": "asks"})
    );
    let answered = json!({
        "name": "asks",
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"k": {"action": "accept"}},
        "_meta": stateless(json!({"clientCapabilities": capable, "logLevel": "info"})),
    });
    let (done, heard) = client.asks("tools/call", answered).await;
    assert_eq!(done["result"]["content"][0]["text"], "allowed: true");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        heard[0]["params"],
        json!({"level": "info", "logger": "asks", "data": "so info"})
    );
}

#[tokio::test]
async fn a_client_with_a_handshake_hears_a_call_before_and_after_its_question() {
    let mut client = Client::new();
    let capable = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    client.result("initialize", capable).await;
    client.result("logging/setLevel", json!({"level": "info"})).await;
    let call = json!({"name": "asks", "_meta": {"progressToken": 5}});
    let (asked, before) = client.asks("tools/call", call).await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let response = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    client
        .to
        .write_all(format!("{response}\n").as_bytes())
        .await
        .unwrap();
    let after = vec![client.heard().await, client.heard().await];
    for heard in [before, after] {
        let methods: Vec<&Value> = heard.iter().map(|message| &message["method"]).collect();
        assert_eq!(methods, ["notifications/message", "notifications/progress"]);
    }
    let done = client.heard().await;
    assert_eq!(done["result"]["content"][0]["text"], "allowed: false");
}

#[tokio::test]
async fn only_a_connection_that_lasts_has_subscriptions_of_its_own() {
    let parts: Arc<dyn ServedParts> = Arc::new(Parts::default());
    let (begun, _) = over_http(&parts, "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!(begun["result"]["capabilities"]["resources"], json!({}));
    let (refused, _) = over_http(&parts, "resources/subscribe", json!({"uri": SESSION})).await;
    assert_eq!(refused["error"]["code"], -32_601);
    let mut client = Client::new();
    let begun = client
        .result("initialize", json!({"protocolVersion": "2025-11-25"}))
        .await;
    assert_eq!(begun["capabilities"]["resources"], json!({"subscribe": true}));
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_of_changes_of_what_it_subscribed_to_until_it_ends_that() {
    let mut client = Client::new();
    let uri = json!({"uri": SESSION});
    for wrong in [json!({}), json!({"uri": "agentx://sessions/ses_2"})] {
        assert!(client.code("resources/subscribe", wrong).await.is_i64());
    }
    assert_eq!(client.result("resources/subscribe", uri.clone()).await, json!({}));
    client.parts.version.store(5, Ordering::SeqCst);
    let heard = client.heard().await;
    assert_eq!(
        (&heard["method"], &heard["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(SESSION))
    );
    assert_eq!(client.result("resources/unsubscribe", uri).await, json!({}));
    client.parts.version.store(6, Ordering::SeqCst);
    let silent = tokio::time::timeout(std::time::Duration::from_secs(60), client.heard());
    assert!(silent.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_subscriptions_says_what_it_watches_and_each_message_names_it() {
    let mut client = Client::new();
    let wanted = json!({
        "resourceSubscriptions": [SESSION, "agentx://sessions/ses_2"],
        "toolsListChanged": true,
    });
    let params = json!({"notifications": wanted, "_meta": stateless(json!({}))});
    client.send(9, "subscriptions/listen", params).await;
    let begun = client.heard().await;
    assert_eq!(begun["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        begun["params"]["notifications"],
        json!({"resourceSubscriptions": [SESSION]})
    );
    client.parts.version.store(5, Ordering::SeqCst);
    let changed = client.heard().await;
    assert_eq!(changed["method"], "notifications/resources/updated");
    for message in [&begun, &changed] {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], 9);
    }
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    client
        .to
        .write_all(format!("{cancel}\n").as_bytes())
        .await
        .unwrap();
    let ended = client.heard().await;
    assert_eq!(
        (&ended["id"], &ended["result"]["resultType"]),
        (&json!(9), &json!("complete"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_ends_ends_by_itself() {
    let mut client = Client::new();
    let params = json!({"notifications": {}, "_meta": stateless(json!({}))});
    client.send(9, "subscriptions/listen", params).await;
    assert_eq!(client.heard().await["params"]["notifications"], json!({}));
    let began = tokio::time::Instant::now();
    assert_eq!(client.heard().await["id"], 9);
    assert!(began.elapsed().as_secs() <= 601, "{:?}", began.elapsed());
}
