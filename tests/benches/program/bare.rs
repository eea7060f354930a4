//! The bare loop that turns are measured against: the HTTP request, `sh -c`, and nothing else: no log, no
//! agent, no events.

use std::process::Command;

use serde_json::{Value, json};

/// Works through one conversation with the server at `url`.
pub(crate) fn run(url: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(conversation(url));
}

async fn conversation(url: &str) {
    let client = reqwest::Client::new();
    let tools = json!([{"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}]);
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    loop {
        let body =
            json!({"model": "m", "max_tokens": 1000, "stream": true, "messages": messages, "tools": tools});
        let mut response = client
            .post(format!("{url}/v1/messages"))
            .header("x-api-key", "k")
            .json(&body)
            .send()
            .await
            .expect("an answer");
        let (mut buffer, mut arguments, mut id) = (Vec::new(), String::new(), None);
        while let Some(bytes) = response.chunk().await.expect("a chunk") {
            buffer.extend_from_slice(&bytes);
            while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                take(&event, &mut arguments, &mut id);
            }
        }
        let Some(id) = id else { return };
        let input: Value = serde_json::from_str(&arguments).expect("arguments");
        let output = Command::new("sh")
            .arg("-c")
            .arg(input["command"].as_str().expect("a command"))
            .output()
            .expect("sh");
        messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "bash", "input": input}]}));
        let text = String::from_utf8_lossy(&output.stdout);
        messages.push(
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
        );
    }
}

fn take(event: &[u8], arguments: &mut String, id: &mut Option<String>) {
    let text = std::str::from_utf8(event).expect("UTF-8");
    let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: ")) else {
        return;
    };
    let data: Value = serde_json::from_str(data).expect("JSON");
    if let Some(call) = data["content_block"]["id"].as_str() {
        *id = Some(call.to_owned());
    }
    match data["delta"]["type"].as_str() {
        Some("input_json_delta") => {
            arguments.push_str(data["delta"]["partial_json"].as_str().unwrap_or_default())
        }
        Some("text_delta") => print!("{}", data["delta"]["text"].as_str().unwrap_or_default()),
        _ => {}
    }
}
