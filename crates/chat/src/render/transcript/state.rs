//! The state of a transcript beside the calls: the choices of its front end, the answer in progress, and the
//! problems of the run.

use agentx::config::ThinkingDisplay;

use super::super::clean::Cleaner;
use super::retries::{FailedAttempts, ShownFailure};

/// The choices of the front end that owns the transcript.
#[derive(Debug, Default)]
pub(super) struct RenderOptions {
    /// Whether a call is printed when it has ended; while it runs it is shown by who asks for
    /// [`TranscriptRenderer::running`](super::TranscriptRenderer::running).
    pub(super) holds_calls: bool,
    /// The display of reasoning, if one is set; else reasoning is shown as it comes, if it can be
    /// distinguished.
    pub(super) thinking: Option<ThinkingDisplay>,
    /// Whether the reader only watches and has no commands.
    pub(super) looks_on: bool,
    /// Whether the caller itself reports the failure of the run.
    pub(super) silent_end: bool,
    /// Whether the cost of the last run is reported after it.
    pub(super) costs: bool,
    /// Whether calls are refused because there is no person to ask.
    pub(super) is_alone: bool,
}

/// The answer in progress, or the last one until the run ends.
#[derive(Debug, Default)]
pub(super) struct AnswerProgress {
    pub(super) cleaner: Cleaner,
    pub(super) open_line: Option<OpenLine>,
    /// Whether text of an unfinished answer has arrived.
    pub(super) has_text: bool,
    /// Whether an answer has begun without any text or call so far.
    pub(super) is_wordless: bool,
    /// The missing part of an answer that ended. It is reported when the run ends with that answer: a
    /// router's answer has no words, and its run continues.
    pub(super) lacks: Option<&'static str>,
}

/// The problems of the run that were, or may be, reported.
#[derive(Debug, Default)]
pub(super) struct RunProblems {
    /// The error that may end the run. It is reported once, at the end of the run or before the next output.
    pub(super) failure: Option<ShownFailure>,
    /// The latest note about an attempt that will be repeated.
    pub(super) attempt: String,
    /// The attempts of a model call that failed, on a screen that counts them in a live row.
    pub(super) attempts: Option<FailedAttempts>,
    /// The number of attempts that failed before the request was sent in another form.
    pub(super) failed_in_other_forms: u32,
    /// Whether this run has already reported that nothing was condensed.
    pub(super) not_condensed: bool,
}

/// The kind of the unfinished line on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenLine {
    Answer,
    Thinking,
}
