//! The location of the recordings, their delivery in pieces, and the contents of golden files. Shared by the
//! tests of this crate.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each test file uses its part"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read files and print"
)]

pub mod frames;
pub mod golden;

use std::fs;
use std::path::{Path, PathBuf};

use agentx_llm::{Accumulated, AnswerRecorder, StreamContext, StreamDecoder, StreamError};
use agentx_types::{Api, EnvironmentEvent};
use serde_json::Value;

/// The folder of recordings; `None` if it is missing. In CI, a missing folder panics.
pub fn recordings(cases: &str) -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let recordings = root.join("recordings");
    if recordings.is_dir() {
        return Some(recordings);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the recordings: set AGENTX_TEST_DATA"
    );
    println!("not run: {cases} (no recordings at {})", recordings.display());
    None
}

/// A recorded exchange.
pub struct Recording {
    /// The folder above the API's: the provider.
    pub provider: String,
    pub api: Api,
    /// The path without its last extension.
    pub stem: PathBuf,
}

impl Recording {
    pub fn name(&self) -> String {
        let file = self
            .stem
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        format!("{}/{file}", self.provider)
    }

    pub fn file(&self, extension: &str) -> PathBuf {
        PathBuf::from(format!("{}.{extension}", self.stem.display()))
    }

    pub fn bytes(&self, extension: &str) -> Option<Vec<u8>> {
        fs::read(self.file(extension)).ok()
    }

    pub fn json(&self, extension: &str) -> Option<Value> {
        Some(serde_json::from_slice(&self.bytes(extension)?).expect("recordings are valid"))
    }

    pub fn status(&self) -> u16 {
        let meta = self.json("meta.json").expect("every recording has a meta file");
        meta["status"].as_u64().unwrap_or(200) as u16
    }
}

/// A model of the catalog; one of OpenAI's with Chat Completions, as in a session that began with it.
pub fn model_by_chat(name: &str) -> agentx_types::ModelSpec {
    let mut model = agentx_llm::Catalog::builtin()
        .resolve(name)
        .expect("a known model");
    if model.api == Api::OpenaiResponses {
        model.api = Api::OpenaiChat;
    }
    model
}

/// Every exchange of the five APIs, in order of path.
pub fn all(recordings: &Path) -> Vec<Recording> {
    let mut found = Vec::new();
    for provider in folders(recordings) {
        for (folder, api) in [
            ("messages", Api::Anthropic),
            ("chat_completions", Api::OpenaiChat),
            ("responses", Api::OpenaiResponses),
            ("streamGenerateContent", Api::Gemini),
            ("generateContent", Api::Gemini),
            ("interactions", Api::GeminiInteractions),
        ] {
            for file in files(&provider.join(folder)) {
                if let Some(stem) = file.to_string_lossy().strip_suffix(".meta.json") {
                    let provider = provider
                        .file_name()
                        .map(|name| name.to_string_lossy().into_owned());
                    let provider = provider.unwrap_or_default();
                    found.push(Recording {
                        provider,
                        api,
                        stem: PathBuf::from(stem),
                    });
                }
            }
        }
    }
    found
}

pub fn folders(path: &Path) -> Vec<PathBuf> {
    entries(path).into_iter().filter(|entry| entry.is_dir()).collect()
}

pub fn files(path: &Path) -> Vec<PathBuf> {
    entries(path)
        .into_iter()
        .filter(|entry| entry.is_file())
        .collect()
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut entries: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
}

pub fn context() -> StreamContext {
    StreamContext::new("msg_fallback", 1)
}

/// Decodes a stream delivered in these pieces.
pub fn decode<'p>(
    api: Api,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<EnvironmentEvent>, Result<(), StreamError>) {
    let mut decoder = StreamDecoder::new(api, context());
    let mut out = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut out) {
            return (out, Err(error));
        }
    }
    let result = decoder.finish(&mut out);
    (out, result)
}

pub fn accumulate(events: &[EnvironmentEvent]) -> Accumulated {
    let mut accumulator = AnswerRecorder::default();
    for event in events {
        accumulator.push(event);
    }
    accumulator.finish().expect("an answer that began")
}

/// Pieces of random length, the same for the same seed.
pub fn random_pieces(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let length = 1 + (state % 97) as usize;
        let (piece, later) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = later;
    }
    pieces
}

/// A JSON value without nulls, empty lists and empty strings: SDKs add them to the received data.
pub fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), without_nothing(value)))
            .filter(|(_, value)| !is_nothing(value))
            .collect(),
        Value::Array(items) => items.iter().map(without_nothing).collect(),
        value => value.clone(),
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value == ""
}
