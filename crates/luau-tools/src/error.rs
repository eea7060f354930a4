//! Errors of scripts, with the data that an author needs to fix them: the script, the line, the limit.
//!
//! The author of a script is often a model, so an error names things that a model can act on: the script, the
//! line, the expected value. It contains no trace of the host. A model reads the text of `Display`:
//!
//! ```text
//! weather:12: …                    the script and the line, then what is wrong
//! weather (libs/text.luau):3: …    in a library, by the name by which it was required
//! weather:12: … (limit memory)     a limit, by its name in `ScriptLimits`
//! ```
//!
//! [`ScriptError::code`] is for programs and does not change between versions; the text may.

use std::fmt;

use crate::limits::LimitExceeded;

/// A script that failed. It is an observation for the model, not a failure of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The script as it was named when it was compiled.
    pub script: String,
    /// The library in which it happened, as it was required; `None` for the script itself.
    pub library: Option<String>,
    /// The line, from 1, if one is known.
    pub line: Option<u32>,
    /// The kind of error.
    pub reason: Reason,
}

/// The reason why a script has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The text is not Luau, is too long, or is not text at all.
    Source(String),
    /// The script raised an error or is incorrect.
    Failed(String),
    /// The run went over a limit.
    Limit(LimitExceeded),
    /// The arguments cannot be given to a script.
    Arguments(String),
    /// The script's result is not JSON.
    Result(String),
    /// The script neither has a function `invoke` nor called `rt:output`.
    NoOutput,
    /// Somebody stopped the run.
    Cancelled,
    /// The lane that ran the script is gone, or a VM could not be made.
    Lost(String),
}

impl ScriptError {
    /// Creates an error of the script as a whole. It has no line until a location is attached.
    pub(crate) fn new(script: &str, reason: Reason) -> Self {
        Self {
            script: script.to_owned(),
            library: None,
            line: None,
            reason,
        }
    }

    /// Reads `where:line: ` off an error message of the VM.
    pub(crate) fn located(script: &str, text: &str, reason: impl FnOnce(String) -> Reason) -> Self {
        let (place, message) = ScriptLocation::split(text);
        let mut error = Self::new(script, reason(message.to_owned()));
        error.put(place);
        error
    }

    /// Adds the position of the script, if it was not known.
    pub(crate) fn put(&mut self, place: Option<ScriptLocation>) {
        if let Some(place) = place {
            self.line = Some(place.line);
            self.library = (place.chunk != TOOL).then_some(place.chunk);
        }
    }

    /// The code for programs: `source`, `script_error`, `limit_memory` (and the other limits), `arguments`,
    /// `result`, `no_output`, `cancelled`, `lost`.
    #[must_use]
    pub fn code(&self) -> String {
        match &self.reason {
            Reason::Source(_) => "source".to_owned(),
            Reason::Failed(_) => "script_error".to_owned(),
            Reason::Limit(limit) => format!("limit_{}", limit.name()),
            Reason::Arguments(_) => "arguments".to_owned(),
            Reason::Result(_) => "result".to_owned(),
            Reason::NoOutput => "no_output".to_owned(),
            Reason::Cancelled => "cancelled".to_owned(),
            Reason::Lost(_) => "lost".to_owned(),
        }
    }

    /// The limit that the run went over, if that is the reason.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitExceeded> {
        match &self.reason {
            Reason::Limit(limit) => Some(limit),
            _ => None,
        }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.script)?;
        if let Some(library) = &self.library {
            write!(f, " ({library})")?;
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        match &self.reason {
            Reason::Failed(message) if message.is_empty() => f.write_str("an error without a message"),
            Reason::Source(message) | Reason::Failed(message) => f.write_str(message),
            Reason::Limit(limit) => write!(f, "{limit} (limit {})", limit.name()),
            Reason::Arguments(message) => write!(f, "cannot pass the arguments to the script: {message}"),
            Reason::Result(message) => write!(f, "the result is not JSON: {message}"),
            Reason::NoOutput => f.write_str(
                "there is no result: write `function invoke(ctx, args)`, or call rt:output(result)",
            ),
            Reason::Cancelled => f.write_str("the run was cancelled"),
            Reason::Lost(message) => write!(f, "cannot run the script: {message}"),
        }
    }
}

impl std::error::Error for ScriptError {}

/// An error that is found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptMistake {
    /// The line, counted from 1.
    pub line: u32,
    /// From 1; 1 if the compiler reports only the line.
    pub column: u32,
    /// The compiler's message, without the position.
    pub message: String,
}

impl fmt::Display for ScriptMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ScriptMistake {}

/// The name of the script itself in the VM; libraries have their own names.
pub(crate) const TOOL: &str = "tool";

/// A place in a script.
#[derive(Clone, Debug)]
pub(crate) struct ScriptLocation {
    pub(crate) chunk: String,
    pub(crate) line: u32,
}

impl ScriptLocation {
    /// Splits `chunk:line: message`.
    pub(crate) fn split(text: &str) -> (Option<Self>, &str) {
        let place = || {
            let (chunk, rest) = text.split_once(':')?;
            let (line, message) = rest.split_once(':')?;
            let known = chunk == TOOL || chunk.starts_with("libs/");
            let line = line.parse().ok().filter(|_| known)?;
            let place = Self {
                chunk: chunk.to_owned(),
                line,
            };
            Some((place, message.trim_start()))
        };
        match place() {
            Some((place, message)) => (Some(place), message),
            None => (None, text),
        }
    }
}
