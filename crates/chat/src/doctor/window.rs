//! Finds the part of a conversation that the user's own server really reads. Ollama silently cuts a longer
//! one, and its default window is small (4,096 tokens with less than 24 GiB of video memory:
//! <https://docs.ollama.com/context-length>, read 2026-11-22). llama.cpp and vLLM refuse a longer one.

use std::time::Duration;

use agentx::config::{ProviderSettings, Settings};
use agentx::node::model::served_window;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{DoctorCheck, reach};
use crate::models::default_model::own_servers;

/// Maximum time to wait for an answer here.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum number of bytes of an answer that are read.
const MOST: u64 = 1 << 20;
/// The window that Ollama assumes on most machines, in tokens.
const DEFAULT: u64 = 4_096;

/// Compares the window that the user's own server reports for the chosen model with the configured one;
/// `None` if it reports none, and for vendors.
pub(super) async fn check(settings: &Settings, provider: &ProviderSettings) -> Option<DoctorCheck> {
    let spec = settings
        .choose_model(&settings.model_or_default().value, &[])
        .ok()?;
    if provider.name != "ollama" || !provider.base_url.starts_with("http://") {
        let is_own = own_servers(settings).any(|own| own.name == provider.name);
        if !is_own || spec.provider != provider.name {
            return None;
        }
        let window = served_window(settings, &spec.provider, &spec.id).await?;
        let name = spec.name.as_deref().unwrap_or(&spec.id);
        return Some(compare_own(name, &spec.id, window, spec.context_window));
    }
    let host = reach::host_of(&provider.base_url)?;
    let running = ask(&host, "GET /api/ps", None).await?;
    if let Some(window) = loaded_window(&running, &spec.id) {
        return Some(compare(&spec.id, window, spec.context_window, "runs"));
    }
    let shown = ask(&host, "POST /api/show", Some(json!({ "model": &*spec.id }))).await?;
    let window = configured_window(&shown).unwrap_or(DEFAULT);
    Some(compare(&spec.id, window, spec.context_window, "would start"))
}

fn compare(model: &str, window: u64, assumed: u64, does: &str) -> DoctorCheck {
    let name = "window";
    if window >= assumed {
        return DoctorCheck::ok(name, format!("Ollama {does} {model} with {window} tokens"));
    }
    DoctorCheck::warn(
        name,
        format!(
            "Ollama {does} {model} with {window} tokens, but {assumed} are assumed: it silently truncates longer conversations"
        ),
        format!(
            "start it with OLLAMA_CONTEXT_LENGTH={assumed} ollama serve, or set context_window: {window} for {model} in the configuration"
        ),
    )
}

/// Compares the window of a server that refuses longer conversations.
fn compare_own(name: &str, id: &str, window: u64, assumed: u64) -> DoctorCheck {
    let part = "window";
    if window >= assumed {
        return DoctorCheck::ok(part, format!("the server runs {id} with {window} tokens"));
    }
    DoctorCheck::warn(
        part,
        format!("the server runs {id} with {window} tokens, but {assumed} are assumed"),
        format!(
            "`agentx config set models.{name}.context_window {window}` for a model of the configuration; otherwise describe it there with its id and its provider"
        ),
    )
}

/// The window of a model that is loaded, from `/api/ps`.
fn loaded_window(running: &Value, model: &str) -> Option<u64> {
    let models = running["models"].as_array()?;
    let found = models
        .iter()
        .find(|one| is_named(&one["name"], model) || is_named(&one["model"], model))?;
    found["context_length"].as_u64()
}

/// Returns whether this is the name of the model. A name without a tag means the latest one.
fn is_named(name: &Value, model: &str) -> bool {
    let name = name.as_str().unwrap_or_default();
    name == model || name.strip_suffix(":latest") == Some(model)
}

/// The window that the file of a model asks for, from `/api/show`: its line `num_ctx 8192`.
fn configured_window(shown: &Value) -> Option<u64> {
    let parameters = shown["parameters"].as_str()?;
    parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok())?
    })
}

/// The JSON that a server answers; `None` if it does not. HTTP/1.0 has no chunks that would have to be put
/// together.
async fn ask((host, port): &(String, u16), what: &str, body: Option<Value>) -> Option<Value> {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let request = format!(
        "{what} HTTP/1.0\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect((host.as_str(), *port)).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        stream.take(MOST).read_to_end(&mut answer).await.ok()?;
        let start = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
        serde_json::from_slice(answer.get(start + 4..)?).ok()
    };
    timeout(PATIENCE, exchange).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_what_the_server_says() {
        let running = json!({ "models": [{ "name": "qwen3:latest", "model": "qwen3:latest", "context_length": 4096 }] });
        assert_eq!(loaded_window(&running, "qwen3"), Some(4_096));
        assert_eq!(loaded_window(&running, "qwen3:8b"), None);
        let shown = json!({ "parameters": "stop \"<|im_end|>\"\nnum_ctx                        8192\n" });
        assert_eq!(configured_window(&shown), Some(8_192));
        assert_eq!(configured_window(&json!({})), None);
    }

    #[test]
    fn a_smaller_window_than_assumed_is_a_warning_that_names_both() {
        let warned = compare("qwen3", 4_096, 32_768, "runs");
        assert_eq!(warned.level, super::super::Level::Warn);
        assert!(warned.found.contains("4096") && warned.found.contains("32768"));
        assert!(
            warned
                .advice
                .is_some_and(|advice| advice.contains("OLLAMA_CONTEXT_LENGTH=32768"))
        );
        assert_eq!(
            compare("qwen3", 65_536, 32_768, "runs").level,
            super::super::Level::Ok
        );
    }

    #[test]
    fn a_server_that_is_not_ollama_is_compared_too() {
        let warned = compare_own("m1", "made-up", 8_192, 128_000);
        assert_eq!(warned.level, super::super::Level::Warn);
        assert!(warned.found.contains("made-up with 8192 tokens, but 128000"));
        assert!(
            warned
                .advice
                .is_some_and(|advice| advice.contains("models.m1.context_window 8192"))
        );
        let right = compare_own("m1", "made-up", 128_000, 128_000);
        assert_eq!(right.level, super::super::Level::Ok);
    }

    #[tokio::test]
    async fn the_server_is_asked_as_it_answers() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; 1024];
            let read = stream.read(&mut request).await.expect("a request");
            let answer = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"models\":[{\"name\":\"m\",\"context_length\":4096}]}";
            stream.write_all(answer.as_bytes()).await.expect("sent");
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let place = (address.ip().to_string(), address.port());
        let running = ask(&place, "GET /api/ps", None).await.expect("an answer");
        assert_eq!(loaded_window(&running, "m"), Some(4_096));
        assert!(
            server
                .await
                .expect("it ended")
                .starts_with("GET /api/ps HTTP/1.0\r\n")
        );
    }
}
