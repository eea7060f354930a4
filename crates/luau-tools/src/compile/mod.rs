//! The part of a script that lanes need: its text and its libraries as bytecode that this process made.
//!
//! Compiling is done once, on the caller's thread, and takes time in proportion to the text. All runs share
//! the result. Bytecode is never taken from outside, because the VM trusts it: a text that looks like
//! bytecode is refused, and compiled code never leaves the process.

pub(crate) mod compiler;
pub(crate) mod libraries;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::compile::compiler::bytecode;
use crate::compile::libraries::Libraries;
use crate::error::ScriptError;

/// The part of a script that lanes need.
pub(crate) struct Compiled {
    /// Identifies the script, even among those with the same text.
    pub(crate) id: u64,
    /// The id of its owner: it shares a VM only with scripts of the same owner.
    pub(crate) owner: u64,
    /// The script's name in errors.
    pub(crate) name: String,
    /// The bytecode of the text.
    pub(crate) main: Vec<u8>,
    /// The sources that `require` finds.
    pub(crate) libraries: Libraries,
    /// Bytecode by the name in errors, `libs/…`; for a library that is not a script, the line and the
    /// error.
    pub(crate) compiled: BTreeMap<String, Result<Vec<u8>, String>>,
    /// The hash over all texts.
    pub(crate) hash: String,
    /// The features to prepare before the script begins.
    pub(crate) wants: RequestedFeatures,
    /// A run of it took much memory once.
    pub(crate) hungry: AtomicBool,
}

/// The features that the text names, which are prepared before the script begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestedFeatures {
    /// The name `state` occurs: the state is requested before the first line runs.
    pub(crate) state: bool,
    /// The name `random` occurs: the seed is requested.
    pub(crate) random: bool,
    /// A global of the older API occurs: the VM gets those.
    pub(crate) older: bool,
    /// Whether the script may await inputs of its agent together with something else.
    pub(crate) awaits_recv: bool,
}

impl Compiled {
    /// Compiles a script of this owner. Its text must compile; a broken library fails in the `require` that
    /// loads it.
    pub(crate) fn new(
        owner: u64,
        name: &str,
        source: &str,
        libraries: Libraries,
    ) -> Result<Self, ScriptError> {
        let main = bytecode(source).map_err(|mistake| mistake.of(name))?;
        let mut compiled = BTreeMap::new();
        for (path, text) in libraries.iter() {
            let chunk = format!("libs/{path}");
            let made = bytecode(text).map_err(|mistake| mistake.at(&chunk));
            compiled.insert(chunk, made);
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            owner,
            name: name.to_owned(),
            main,
            compiled,
            hash: hash(source, &libraries),
            wants: wants(source, &libraries),
            libraries,
            hungry: AtomicBool::new(false),
        })
    }
}

/// Hashes length and text of each part, so that two divisions of the same letters are different scripts.
fn hash(source: &str, libraries: &Libraries) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(source);
    for (path, text) in libraries.iter() {
        part(path);
        part(text);
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the features that a text names, judged by its letters alone: too many rather than too few.
fn wants(source: &str, libraries: &Libraries) -> RequestedFeatures {
    let names = |word: &str| source.contains(word) || libraries.iter().any(|(_, text)| text.contains(word));
    let dense: String = source.chars().filter(|c| !c.is_whitespace()).collect();
    RequestedFeatures {
        state: names("state"),
        random: names("random"),
        older: has_word(source, "rt")
            || libraries.iter().any(|(_, text)| has_word(text, "rt"))
            || names("__builtin"),
        awaits_recv: dense.contains("recv():await") || names("await_any") || names("await_all"),
    }
}

/// Returns whether a name occurs that is not part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    text.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        !part(before) && !part(bytes.get(at + word.len()))
    })
}
