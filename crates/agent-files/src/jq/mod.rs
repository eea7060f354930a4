//! jq for the files of agents and tools: compiled when a file is checked, run when a tool is. The language
//! comes from jaq; functions that reach outside of it (environment, clock, process, modules) are removed, and
//! each run is bounded in steps, time, depth of calls, and number and size of outputs.

mod guard;
mod input_paths;
mod program;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub(crate) use input_paths::InputPath;
use program::Program;

/// The longest filter that is read, in bytes.
pub const MAX_FILTER_BYTES: usize = 16 << 10;

/// The largest nesting of brackets in a filter.
const MAX_NESTING: usize = 64;

/// The largest number of tokens of a filter.
const MAX_TOKENS: usize = 2_000;

/// The number of tokens that are compiled on the caller's own stack; a recursive parser needs more room for
/// more.
const PLAIN_TOKENS: usize = 64;

/// A filter that is ready to run, as often and on as many threads as one likes.
#[derive(Clone)]
pub struct JqFilter {
    text: Arc<str>,
    program: Arc<Program>,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JqLimits {
    /// The longest time.
    pub time: Duration,
    /// Steps: calls of definitions, elements of arrays, results of arithmetic.
    pub steps: u64,
    /// The number of values that may come out.
    pub outputs: usize,
    /// The largest number of values in all outputs, including those in lists and objects.
    pub nodes: usize,
    /// The largest number of bytes of text in all outputs; no intermediate text is longer.
    pub bytes: usize,
}

impl Default for JqLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1),
            steps: 2_000_000,
            outputs: 10_000,
            nodes: 1_000_000,
            bytes: 8 << 20,
        }
    }
}

/// An error in a filter, or in a run of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JqError {
    /// The description of the error.
    pub message: String,
    /// The byte offset in the text of the filter; `None` if only a run shows the error.
    pub offset: Option<usize>,
}

impl JqError {
    fn at(offset: usize, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            offset: Some(offset),
        }
    }

    fn running(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            offset: None,
        }
    }
}

impl fmt::Display for JqError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JqError {}

impl fmt::Debug for JqFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Filter").field(&self.text).finish()
    }
}

impl JqFilter {
    /// Compiles a filter.
    ///
    /// ```
    /// use agentx_agent_files::jq::JqFilter;
    /// use serde_json::json;
    /// let filter = JqFilter::compile("{q: .input.city}")?;
    /// assert_eq!(filter.run(&json!({"input": {"city": "北京"}}))?, json!({"q": "北京"}));
    /// assert_eq!(JqFilter::compile(".a | nonsense").unwrap_err().offset, Some(5));
    /// # Ok::<(), agentx_agent_files::jq::JqError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if it is not jq, uses an unknown function, or is too large.
    pub fn compile(text: &str) -> Result<Self, JqError> {
        let tokens = within_bounds(text)?;
        let program = if tokens > PLAIN_TOKENS {
            program::compile_with_room(text)?
        } else {
            Program::compile(text)?
        };
        Ok(Self {
            text: text.into(),
            program: Arc::new(program),
        })
    }

    /// Returns the text of the filter.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the paths of plain keys that it reads of its input, as far as its text shows.
    pub(crate) fn reads(&self) -> &[InputPath] {
        &self.program.reads
    }

    /// Runs it within the default limits. One output is the result; no output is null; several are an error,
    /// because a filter for a list has to be `[…]`.
    ///
    /// # Errors
    /// Returns an error if the filter fails, or a limit is reached.
    pub fn run(&self, input: &Value) -> Result<Value, JqError> {
        let mut outputs = self.run_all(input, JqLimits::default())?;
        match outputs.len() {
            0 => Ok(Value::Null),
            1 => Ok(outputs.remove(0)),
            count => Err(JqError::running(format!(
                "the filter gives {count} values, expected one; wrap it in `[…]` for a list"
            ))),
        }
    }

    /// Runs it and gives all its outputs. The calling thread waits, at most for the time of the limits and a
    /// little more.
    ///
    /// # Errors
    /// Returns an error if the filter fails, or a limit is reached.
    pub fn run_all(&self, input: &Value, limits: JqLimits) -> Result<Vec<Value>, JqError> {
        program::run(self.program.clone(), input.clone(), limits)
    }
}

/// Counts tokens, and refuses a filter that is too deep for a recursive parser.
fn within_bounds(text: &str) -> Result<usize, JqError> {
    if text.len() > MAX_FILTER_BYTES {
        return Err(JqError::at(
            0,
            format!(
                "the filter has {} bytes; at most {MAX_FILTER_BYTES} are read",
                text.len()
            ),
        ));
    }
    let (mut depth, mut tokens, mut in_word) = (0usize, 0usize, false);
    for (offset, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let word = c.is_alphanumeric() || c == '_' || c == '$';
        tokens += usize::from(!(c.is_whitespace() || word && in_word));
        in_word = word;
        if depth > MAX_NESTING {
            return Err(JqError::at(
                offset,
                format!("brackets are nested more than {MAX_NESTING} deep"),
            ));
        }
        if tokens > MAX_TOKENS {
            return Err(JqError::at(
                offset,
                format!("the filter has more than {MAX_TOKENS} tokens"),
            ));
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests;
