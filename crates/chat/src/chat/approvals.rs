//! How questions about calls are answered here: which answers count, whose the keys are, and whether `--yes` answers.

use super::attention::Attention;
use crate::render::answers::Answers;

/// How questions about calls are answered here.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    /// Whose the keys are when a question comes.
    pub(super) attention: Attention,
    /// The answers to the first question that count.
    pub(super) answers: Answers,
    /// Whether questions are answered with yes, as `--yes` wants it.
    pub(super) says_yes: bool,
}
