//! Every recorded stream, body and error of the three APIs: the decoded answer equals that of the vendor's
//! own SDK. The recordings are outside the project; if they are missing, the tests report that (and fail in
//! CI).
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read files and print"
)]

use crate::common;

use std::collections::BTreeMap;

use crate::common::{Recording, accumulate, context, decode, golden};
use agentx_llm::{ErrorCode, StreamError, decode_body, decode_error};
use agentx_types::{EnvironmentEvent, StopReason, Timestamp};
use serde_json::Value;

/// Runs `check` on every recording that it accepts, and counts them by provider.
fn count(cases: &str, check: impl Fn(&Recording) -> bool) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let Some(recordings) = common::recordings(cases) else {
        return counts;
    };
    for recording in common::all(&recordings) {
        if check(&recording) {
            *counts.entry(recording.provider.clone()).or_insert(0) += 1;
        }
    }
    println!("{cases}: {counts:?}, {} in all", counts.values().sum::<usize>());
    counts
}

/// Providers whose streams the data must contain, so that no test passes without data.
const PROVIDERS: [&str; 14] = [
    "anthropic",
    "copilot",
    "deepseek",
    "groq",
    "huggingface",
    "llamacpp",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "perplexity",
    "vercel-gateway",
    "xai",
    "zai",
];

#[test]
fn every_stream_is_what_its_golden_file_says() {
    let counts = count("69 streams against golden files", |recording| {
        let (Some(bytes), Some(golden)) = (recording.bytes("response.sse"), recording.json("golden.json"))
        else {
            return false;
        };
        let name = recording.name();
        let (events, result) = decode(recording.api, [bytes.as_slice()]);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        check_shape(&name, &events);
        golden::check(recording.api, &name, &accumulate(&events), &golden);
        true
    });
    assert!(
        counts.is_empty() || PROVIDERS.iter().all(|provider| counts.contains_key(*provider)),
        "{counts:?}"
    );
}

/// The rules for every stream, independent of its contents.
fn check_shape(name: &str, events: &[EnvironmentEvent]) {
    use EnvironmentEvent as E;
    assert!(
        matches!(events.first(), Some(E::StreamStart(_))),
        "{name}: begins with stream_start"
    );
    assert!(
        matches!(events.last(), Some(E::StreamEnd(_))),
        "{name}: ends with stream_end"
    );
    let mut args: BTreeMap<&str, String> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        match event {
            E::StreamStart(_) => assert_eq!(index, 0, "{name}: one start"),
            E::StreamEnd(_) => assert_eq!(index + 1, events.len(), "{name}: one end"),
            E::ToolCallStart(start) => {
                let twice = args.insert(start.tool_call_id.as_str(), String::new());
                assert!(twice.is_none(), "{name}: one start for each call");
            }
            E::ToolCallChunk(chunk) => args
                .get_mut(chunk.tool_call_id.as_str())
                .unwrap_or_else(|| panic!("{name}: a chunk before its start"))
                .push_str(&chunk.json),
            E::ToolCall(call) => {
                let streamed = args.remove(call.tool_call_id.as_str()).unwrap_or_default();
                if call.invalid.is_none() && !streamed.trim().is_empty() {
                    let streamed: Value = serde_json::from_str(&streamed).expect("valid arguments");
                    assert_eq!(streamed, call.input, "{name}: the call is what was streamed");
                }
            }
            _ => {}
        }
    }
    assert!(args.is_empty(), "{name}: every call that began ended");
}

#[test]
fn streams_that_break_keep_what_came_and_say_why() {
    let counts = count("4 streams without golden files", |recording| {
        let Some(bytes) = recording.bytes("response.sse") else {
            return false;
        };
        // Gemini's are in `gemini.rs` and `interactions.rs`.
        let is_gemini = recording.api.as_str().starts_with("gemini");
        if recording.json("golden.json").is_some() || is_gemini {
            return false;
        }
        let name = recording.name();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (events, result) = decode(recording.api, [bytes.as_slice()]);
        let answer = accumulate(&events);
        assert!(
            !answer.message.content.is_empty(),
            "{name}: something came before"
        );
        if text.contains("\"error\":{") {
            let Err(StreamError::Provider(error)) = result else {
                panic!("{name}: {result:?}")
            };
            assert!(
                text.contains(&error.message.replace('"', "\\\"")),
                "{name}: the provider's words: {error}"
            );
            assert_eq!(error.status, Some(400), "{name}");
            assert_eq!(answer.stop_reason, StopReason::Broken, "{name}");
        } else {
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            check_shape(&name, &events);
        }
        true
    });
    assert!(
        counts.is_empty() || counts.values().sum::<usize>() >= 3,
        "{counts:?}"
    );
}

#[test]
fn every_body_is_what_it_says() {
    let counts = count("14 bodies", |recording| {
        let Some(whole) = recording.json("response.json") else {
            return false;
        };
        if recording.status() != 200 {
            return false;
        }
        let name = recording.name();
        let mut events = Vec::new();
        let bytes = recording.bytes("response.json").expect("it was read before");
        decode_body(recording.api, context(), &bytes, &mut events)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        check_shape(&name, &events);
        golden::check(recording.api, &name, &accumulate(&events), &whole);
        true
    });
    assert!(
        counts.is_empty() || (counts.contains_key("anthropic") && counts.len() >= 3),
        "{counts:?}"
    );
}

#[test]
fn every_error_has_a_code_and_the_providers_words() {
    let Some(recordings) = common::recordings("46 error bodies") else {
        return;
    };
    let mut checked = 0;
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for provider in common::folders(&recordings) {
        for api in common::folders(&provider) {
            for file in common::files(&api) {
                let Some(stem) = file
                    .to_string_lossy()
                    .strip_suffix(".meta.json")
                    .map(str::to_owned)
                else {
                    continue;
                };
                let recording = Recording {
                    provider: String::new(),
                    api: agentx_types::Api::OpenaiChat,
                    stem: stem.into(),
                };
                let status = recording.status();
                let Some(body) = recording.bytes("response.json").filter(|_| status >= 400) else {
                    continue;
                };
                let error = decode_error(status, &[], &body, Timestamp(0));
                *codes.entry(error.code.as_str()).or_insert(0) += 1;
                check_error(&recording.name(), status, &body, &error);
                checked += 1;
            }
        }
    }
    println!("error bodies: {checked}, {codes:?}");
    assert!(checked >= 20, "{checked}");
}

fn check_error(name: &str, status: u16, body: &[u8], error: &agentx_llm::ModelError) {
    let text = String::from_utf8_lossy(body);
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    assert_eq!(error.status, Some(status), "{name}");
    let first_words: String = error
        .message
        .split_whitespace()
        .take(2)
        .collect::<Vec<_>>()
        .join(" ");
    let flat = format!(
        "{} {value}",
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    )
    .replace("\\n", " ");
    assert!(
        !error.message.is_empty() && flat.contains(&first_words.replace('"', "\\\"")),
        "{name}: {error}"
    );
    let expected: &[ErrorCode] = match status {
        401 => &[ErrorCode::Unauthorized],
        403 => &[ErrorCode::Forbidden],
        404 => &[ErrorCode::NotFound],
        429 => &[ErrorCode::RateLimited],
        500 if name.ends_with("tools_without_jinja.00") => &[ErrorCode::BadRequest],
        500..=599 => &[ErrorCode::ServerError, ErrorCode::Overloaded],
        _ => &[
            ErrorCode::BadRequest,
            ErrorCode::NotFound,
            ErrorCode::ContextWindow,
            ErrorCode::BadGeneration,
            ErrorCode::Unauthorized,
        ],
    };
    assert!(expected.contains(&error.code), "{name}: {status} {error}");
    let full = text.to_ascii_lowercase();
    if full.contains("too many tokens") || full.contains("maximum context length") {
        assert_eq!(error.code, ErrorCode::ContextWindow, "{name}: {error}");
    }
}

#[test]
fn fixtures_of_chunks_decode_too() {
    let Some(recordings) = common::recordings("13 chunk fixtures") else {
        return;
    };
    let mut checked = 0;
    for provider in ["anthropic", "alibaba", "deepseek", "mistral"] {
        for file in common::files(&recordings.join(provider).join("vercel_fixtures")) {
            let name = file.display().to_string();
            let text = std::fs::read_to_string(&file).expect("fixtures are text");
            let api = if provider == "anthropic" {
                agentx_types::Api::Anthropic
            } else {
                agentx_types::Api::OpenaiChat
            };
            let mut events = Vec::new();
            if name.ends_with(".chunks.jsonl") {
                let stream: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
                let (decoded, result) = decode(api, [stream.as_bytes()]);
                result.unwrap_or_else(|error| panic!("{name}: {error}"));
                events = decoded;
            } else {
                decode_body(api, context(), text.as_bytes(), &mut events)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let whole = serde_json::from_str(&text).expect("fixtures are valid");
                golden::check(api, &name, &accumulate(&events), &whole);
            }
            check_shape(&name, &events);
            checked += 1;
        }
    }
    println!("chunk fixtures: {checked}");
    assert!(checked >= 8, "{checked}");
}

/// Folders of recordings that no test of this crate reads, each with the reason.
const UNREAD: [(&str, &str); 13] = [
    (
        "anthropic/models",
        "a list of models, which is not an answer of a model",
    ),
    (
        "deepseek/models",
        "a list of models, which is not an answer of a model",
    ),
    (
        "gemini/models",
        "a list of models, which is not an answer of a model",
    ),
    (
        "groq/models",
        "a list of models, which is not an answer of a model",
    ),
    (
        "mistral/models",
        "a list of models, which is not an answer of a model",
    ),
    ("azure-realtime/ws", "AgentX has no speech in real time"),
    ("gemini-live/ws", "AgentX has no speech in real time"),
    ("openai-realtime/http", "AgentX has no speech in real time"),
    (
        "openai-realtime/spec_examples",
        "AgentX has no speech in real time",
    ),
    ("openai-realtime/ws", "AgentX has no speech in real time"),
    ("xai-realtime/ws", "AgentX has no speech in real time"),
    (
        "cohere/chat",
        "Cohere's own API is not spoken: its Chat Completions are",
    ),
    (
        "mcp/streamable_http",
        "messages of MCP, which the crate `rmcp` reads",
    ),
];

/// Nobody noticed that recordings of three kinds were read by no test.
#[test]
fn every_folder_of_recordings_is_read_or_listed_with_the_reason() {
    const READ: [&str; 7] = [
        "messages",
        "chat_completions",
        "responses",
        "streamGenerateContent",
        "generateContent",
        "interactions",
        // `converse.rs` reads it, and the chunks of Bedrock.
        "converse_stream",
    ];
    const CHUNKS: [&str; 7] = [
        "alibaba",
        "anthropic",
        "bedrock",
        "deepseek",
        "gemini",
        "mistral",
        "openai",
    ];
    let Some(recordings) = common::recordings("the list of folders") else {
        return;
    };
    let called = |path: &std::path::Path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default()
    };
    let mut unread = Vec::new();
    for provider in common::folders(&recordings) {
        for folder in common::folders(&provider) {
            let (provider, folder) = (called(&provider), called(&folder));
            let has_chunks = folder == "vercel_fixtures" && CHUNKS.contains(&&*provider);
            if !READ.contains(&&*folder) && !has_chunks {
                unread.push(format!("{provider}/{folder}"));
            }
        }
    }
    unread.sort();
    let mut listed = UNREAD.map(|(folder, _)| folder);
    listed.sort_unstable();
    assert_eq!(unread, listed, "read the folder, or list it with the reason");
}
