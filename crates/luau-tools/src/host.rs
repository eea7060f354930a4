//! The interface between a script and the world: everything that a script sees or does is one [`HostEffect`]
//! in and one JSON value out.
//!
//! A program that runs scripts implements [`Host`]. A host that records the effects and their outcomes can
//! run the same script again later and return the recorded outcomes: the script then does the same, effect by
//! effect.
//!
//! # The contract of a host
//!
//! - Effects of a run come in the order of their steps, from 1, without a gap. The same script with the same
//!   arguments and the same outcomes begins the same effects, because nothing else that a script can see
//!   differs between two runs. Replays depend on that.
//! - Outcomes may come in any order. A script that awaits one of several gets the first one through
//!   [`Host::observe`], so that this order is recorded too.
//! - A host is never called after its run has ended; futures in progress are dropped.
//!
//! # Errors
//!
//! An outcome with an [`EffectError`] is an error in the script, with the code in front: `denied: the host
//! example.com is not allowed`. A script may catch it with `pcall` and continue. Only limits and cancelling
//! end a script from outside, and cannot be caught.
//!
//! # After a crash
//!
//! An interrupted run has no result. A host with a record can run the script again with the recorded
//! outcomes: only an effect that had begun but has no outcome is repeated, or refused if repeating it could
//! do harm. [`ScriptLimits::spent`](crate::ScriptLimits::spent) has the time that was already used.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// A future that can be kept and moved to another thread.
pub use futures_util::future::BoxFuture;

/// The outcome of an effect: a value of the shape that its kind defines, or an error.
pub type Outcome = Result<Value, EffectError>;

/// An effect that a script requests.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEffect {
    /// The place of this effect in its run, from 1, in the order in which the script began its effects.
    pub step: u64,
    /// The kind of the effect.
    pub kind: EffectKind,
    /// The arguments; their shape depends on the kind, see [`EffectKind`].
    pub request: Value,
    /// The position of the script, for people; `None` if it is unknown, or the kind is not
    /// [`EffectKind::Invoke`].
    pub place: Option<EffectPlace>,
}

/// The position of a script that begins an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectPlace {
    /// The library; `None` in the script itself.
    pub library: Option<String>,
    /// The line in the script, from 1.
    pub line: u32,
}

/// Performs the effects of one run.
///
/// Capabilities (which hosts, models, tools, environment names, key spaces) are checked here: a refusal is an
/// [`EffectError`] with code `denied`, which the script sees as an error that it may catch.
///
/// A host with two effects:
///
/// ```
/// use std::sync::Arc;
///
/// use agentx_luau_tools::{
///     BoxFuture, EffectError, EffectKind, Host, HostEffect, Libraries, Outcome, Script, ScriptLimits,
/// };
/// use serde_json::{Value, json};
///
/// struct Clock;
///
/// impl Host for Clock {
///     fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
///         Box::pin(async move {
///             match effect.kind {
///                 EffectKind::Now => Ok(json!(86_400.0)),
///                 other => Err(EffectError::new("denied", format!("{other} is not allowed"))),
///             }
///         })
///     }
/// }
///
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # tokio.block_on(async {
/// let script = Script::compile("days", "function invoke(ctx, args) return ctx.now() / 86400 end", Libraries::new())?;
/// let result = script
///     .invoke(json!({}), Arc::new(Clock), ScriptLimits::default(), Default::default())
///     .await?;
/// assert_eq!(result, json!(1));
/// # Ok::<(), agentx_luau_tools::ScriptError>(())
/// # }).unwrap();
/// ```
pub trait Host: Send + Sync + 'static {
    /// Performs one effect. It is called in the order of the steps and must not block; work that needs this
    /// order is queued here, before the future is first polled. Futures of one run are polled at the same
    /// time. When the run ends or is cancelled they are dropped.
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome>;

    /// Settles an effect whose outcome depends only on the order of events of this run: [`EffectKind::Any`]
    /// and [`EffectKind::Ready`].
    ///
    /// `seen` returns the live outcome. A host that records awaits and records it; a host that replays
    /// returns the recorded one and drops `seen`.
    fn observe(&self, effect: HostEffect, seen: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        drop(effect);
        Box::pin(async move { Ok(seen.await) })
    }

    /// Returns the total time for which effects have waited for a person. It does not count into
    /// [`ScriptLimits::wall`](crate::ScriptLimits::wall). It never falls.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }

    /// Ends when no effect waits for a person.
    fn resumed(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The reason why an effect has no value. The script sees it as an error `code: message`, and may catch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectError {
    /// The code for programs, in snake_case: `denied`, `not_found`, `timeout`, `unavailable`, `invalid`,
    /// `failed`, …
    pub code: String,
    /// For people: the attempted action, its target, and the reason of the failure.
    pub message: String,
}

impl EffectError {
    /// An error with a code and a message. Codes are snake_case and stay; words may change.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }

    /// The form to record: `{"code": …, "message": …}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({"code": self.code, "message": self.message})
    }

    /// Parses a value that [`EffectError::to_value`] recorded; `None` for another shape.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        Some(Self {
            code: text("code")?,
            message: text("message")?,
        })
    }
}

impl fmt::Display for EffectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for EffectError {}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kinds of effects, with the shapes of their requests and outcomes.
        ///
        /// The names are written into logs: they stay.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EffectKind { $($(#[$doc])* $variant,)* }

        impl EffectKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in logs, snake_case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// `{model, prompt}` → the text.
    Generate = "generate",
    /// `{model, prompt, schema?}` → the JSON value, checked against the schema.
    GenerateJson = "generate_json",
    /// `{model, system?, messages?, prompt?}` → `{stream}`: a stream of chunks to read with
    /// [`EffectKind::StreamRecv`].
    GenerateStream = "generate_stream",
    /// `{method, url, query?, headers?, body?, json?, timeout_ms?}` → `{status, headers, body}`; `body` is
    /// text.
    Http = "http",
    /// `{name, config}` → `{agent}`: the id of the child.
    AgentCreate = "agent_create",
    /// `{agent, input}` → null, as soon as the child has it.
    AgentInput = "agent_input",
    /// `{agent}` → `{chunk, restarted?}`, or null if the child's turn has ended. With `restarted` the message
    /// began again, as after a crash: the chunk is the whole message until now, and replaces the earlier
    /// chunks.
    AgentNext = "agent_next",
    /// `{agent}` → the whole text of the child's turn.
    AgentCollect = "agent_collect",
    /// `{agent}` → null.
    AgentInterrupt = "agent_interrupt",
    /// `{agent}` → null.
    AgentClose = "agent_close",
    /// `{}` → the whole state as an object. Asked once, before a script that names `state` begins.
    StateGet = "state_get",
    /// `{key, value}` → null; a null value removes the key.
    StateSet = "state_set",
    /// `{chunk}` → null. A chunk is a string or an object as the script wrote it.
    Emit = "emit",
    /// `{level, message}` → null; level is `debug`, `info`, `warn` or `error`.
    Log = "log",
    /// `{tool, args}` → the tool's result.
    Invoke = "invoke",
    /// `{ms}` → null, when the time is over.
    Sleep = "sleep",
    /// `{}` → seconds since 1970, with a fraction.
    Now = "now",
    /// `{}` → an integer from 0 to 2^53 - 1: the seed of the run's random numbers. At most once in a run.
    Random = "random",
    /// `{}` → a UUID as text.
    Uuid = "uuid",
    /// `{key}` → the value, or null.
    KvGet = "kv_get",
    /// `{key, value}` → null.
    KvSet = "kv_set",
    /// `{key}` → null.
    KvDelete = "kv_delete",
    /// `{prefix}` → the keys, sorted.
    KvList = "kv_list",
    /// `{key}` → the value, or null.
    CacheGet = "cache_get",
    /// `{key, value, ttl?}` → null; the time to live is in seconds.
    CacheSet = "cache_set",
    /// `{key}` → null.
    CacheDelete = "cache_delete",
    /// `{name}` → the text, or null if it is not set.
    Env = "env",
    /// `{transformer, config}` → the implementation: `{tool}`, which is invoked with `{text}` for each text;
    /// `{model, system?}`, which is called for each text; or `{stream}`, for which the host itself takes and
    /// returns chunks.
    StreamOpen = "stream_open",
    /// `{stream, chunk}` → null.
    StreamSend = "stream_send",
    /// `{stream}` → null: nothing more will be sent.
    StreamCloseSend = "stream_close_send",
    /// `{stream}` → `{chunk, restarted?}`, or null at the end.
    StreamRecv = "stream_recv",
    /// `{stream}` → null.
    StreamClose = "stream_close",
    /// `{}` → `{chunk}`, or null at the end: the inputs of the script's own agent.
    Recv = "recv",
    /// `{message: {role, content}}` → null.
    HistoryAppend = "history_append",
    /// `{n}` → the last messages, oldest first.
    HistoryRecent = "history_recent",
    /// `{}` → null: removes the last user message and everything after it.
    HistoryRevert = "history_revert",
    /// `{}` → the summary as text, or null.
    MemoryGet = "memory_get",
    /// `{summary}` → null.
    MemorySet = "memory_set",
    /// `{of: [steps]}` → the step that was ready first. Goes through [`Host::observe`].
    Any = "any",
    /// `{of: step}` → true or false. Goes through [`Host::observe`].
    Ready = "ready",
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
