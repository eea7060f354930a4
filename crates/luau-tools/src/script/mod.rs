//! A compiled script: its text and its libraries as bytecode that this process made.
//!
//! Compiling is done once, on the caller's thread, and takes time in proportion to the text. All runs share
//! the result. Bytecode is never taken from outside, because the VM trusts it: a text that looks like
//! bytecode is refused, and compiled code never leaves the process.
//!
//! A script and its libraries have one common [`hash`](Script::hash): a flow that was recorded with another
//! text is not replayed with this one.

pub(crate) mod libraries;
pub(crate) mod owner;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mlua::chunk::Compiler;

use crate::error::{Reason, ScriptError, ScriptMistake};
use crate::lanes::lane_pool::Lanes;
use crate::limits::{Bytes, SOURCE_BYTES};
use crate::script::libraries::Libraries;
use crate::script::owner::Owner;

/// A script that can be invoked, any number of times at once. Clones refer to the same script.
#[derive(Clone)]
pub struct Script {
    /// The part that all runs share.
    pub(crate) compiled: Arc<Compiled>,
    /// The lanes that compute its runs.
    pub(crate) lanes: Arc<Lanes>,
    /// Clones share it, and it is dropped with the last of them. Runs hold only the compiled code, so they do
    /// not keep it alive.
    _forgets: Arc<UnloadGuard>,
}

/// Notifies the lanes when the last clone of a script is gone, so that no VM keeps it loaded.
struct UnloadGuard {
    script: u64,
    owner: Owner,
}

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

impl Drop for UnloadGuard {
    fn drop(&mut self) {
        self.owner.lanes().forget(self.owner.id(), self.script);
    }
}

impl Script {
    /// Compiles a script and its libraries with a separate owner: it shares a VM with no other script, see
    /// [`Owner`]. The `require` of a library that is not a script fails with its error. `name` is for errors;
    /// it need not be a file.
    ///
    /// # Errors
    /// Returns an error if the text is longer than [`SOURCE_BYTES`] or is bytecode, and an error with the
    /// line if it is not Luau.
    pub fn compile(name: &str, source: &str, libraries: Libraries) -> Result<Self, ScriptError> {
        Owner::new().compile(name, source, libraries)
    }

    /// The same on separate lanes.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Script::compile`].
    pub fn compile_on(
        lanes: Arc<Lanes>,
        name: &str,
        source: &str,
        libraries: Libraries,
    ) -> Result<Self, ScriptError> {
        Owner::on(lanes).compile(name, source, libraries)
    }

    /// Compiles the script for an owner. Its text must compile; a broken library fails in the `require` that
    /// loads it.
    pub(crate) fn compile_for(
        owner: &Owner,
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
        let compiled = Compiled {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            owner: owner.id(),
            name: name.to_owned(),
            main,
            compiled,
            hash: hash(source, &libraries),
            wants: wants(source, &libraries),
            libraries,
            hungry: AtomicBool::new(false),
        };
        let forgets = UnloadGuard {
            script: compiled.id,
            owner: owner.clone(),
        };
        Ok(Self {
            compiled: Arc::new(compiled),
            lanes: Arc::clone(owner.lanes()),
            _forgets: Arc::new(forgets),
        })
    }

    /// Returns the script's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.compiled.name
    }

    /// blake3 over the text and all libraries, as hex: another hash is another script.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.compiled.hash
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("name", &self.compiled.name)
            .field("hash", &self.compiled.hash)
            .finish_non_exhaustive()
    }
}

/// Finds the first error in a script without running it.
///
/// # Errors
/// Returns the error with its place in the source.
pub fn check(name: &str, source: &str) -> Result<(), ScriptMistake> {
    match bytecode(source) {
        Ok(_) => Ok(()),
        Err(mistake) => Err(ScriptMistake {
            line: mistake.line.unwrap_or(1),
            column: mistake
                .line
                .map_or(1, |line| column(source, line, &mistake.message)),
            message: if mistake.line.is_some() {
                mistake.message
            } else {
                format!("{name}: {}", mistake.message)
            },
        }),
    }
}

struct SyntaxMistake {
    line: Option<u32>,
    message: String,
}

impl SyntaxMistake {
    /// The error in the form of an error of the script.
    fn of(self, name: &str) -> ScriptError {
        let mut error = ScriptError::new(name, Reason::Source(self.message));
        error.line = self.line;
        error
    }

    /// The problem as an error of the `require`.
    fn at(self, library: &str) -> String {
        match self.line {
            Some(line) => format!("{library}:{line}: {}", self.message),
            None => format!("{library}: {}", self.message),
        }
    }
}

/// Returns the column of an error in its line. The compiler reports no column: it is that of the word that
/// the message quotes, or of the line's first word.
fn column(source: &str, line: u32, message: &str) -> u32 {
    let index = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    let text = source.lines().nth(index).unwrap_or_default();
    let got = message
        .split_once("got '")
        .and_then(|(_, rest)| rest.split('\'').next());
    let found = got
        .filter(|word| !word.is_empty())
        .and_then(|word| text.rfind(word));
    let at = found.unwrap_or(text.len() - text.trim_start().len());
    let before = text.get(..at).unwrap_or_default();
    u32::try_from(before.chars().count() + 1).unwrap_or(1)
}

/// Checks a text and compiles it. The checks reject texts that could harm the compiler.
fn bytecode(source: &str) -> Result<Vec<u8>, SyntaxMistake> {
    if source.len() > SOURCE_BYTES {
        return Err(SyntaxMistake {
            line: None,
            message: format!("the text has more than {}", Bytes(SOURCE_BYTES)),
        });
    }
    if source.bytes().any(|byte| byte == 0 || byte == 0x1b) {
        return Err(SyntaxMistake {
            line: None,
            message: "not source text: bytecode is not accepted".to_owned(),
        });
    }
    if deepest(source) > DEEPEST {
        return Err(SyntaxMistake {
            line: None,
            message: format!("the text nests deeper than {DEEPEST} brackets"),
        });
    }
    crate::vm::prelude::flags();
    compiler().compile(source).map_err(|error| mistake(&error))
}

/// The sandbox replaces `setmetatable` and `tonumber`; as builtins they would be called past the
/// replacements.
pub(crate) fn compiler() -> Compiler {
    Compiler::new()
        .set_optimization_level(1)
        .set_debug_level(1)
        .set_disabled_builtins(["setmetatable", "tonumber"])
}

/// The maximum nesting depth of brackets. The compiler has a limit too, but may exhaust its stack, whose size
/// is unknown here, before reaching it.
const DEEPEST: usize = 256;

/// Returns an upper bound of the nesting depth of brackets; those in strings and comments count too.
fn deepest(source: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0usize);
    for byte in source.bytes() {
        match byte {
            b'(' | b'{' | b'[' => {
                depth += 1;
                most = most.max(depth);
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Takes the line out of `:12: message`.
fn mistake(error: &mlua::Error) -> SyntaxMistake {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let text = text.strip_prefix("syntax error: ").unwrap_or(&text);
    let located = text
        .trim_start_matches(':')
        .split_once(':')
        .and_then(|(line, rest)| Some((line.trim().parse().ok()?, rest)));
    match located {
        Some((line, rest)) => SyntaxMistake {
            line: Some(line),
            message: rest.trim().to_owned(),
        },
        None => SyntaxMistake {
            line: None,
            message: text.to_owned(),
        },
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
