//! Chooses between several ways to read an input, without a model.
//!
//! A reading with words where another has a variable, and otherwise equal, is narrower: an author who wrote
//! `play something by [artist]` besides `play [title] by [artist]` has defined `something`. Nothing else
//! counts as narrower: not `play [title] by [artist]` besides `play [title]`, because a title may contain a
//! `by`.

use agentx_types::VarKind;

use super::intent::Intent;

/// The places of the variables in a text, from and to, in bytes.
pub(super) type Spans = Vec<(usize, usize)>;

pub(super) struct InputReading {
    /// The meaning of the input in this reading.
    pub(super) intent: Intent,
    /// The places of the variables in the compared text, from and to, in bytes.
    pub(super) spans: Spans,
    /// The kind of each variable.
    pub(super) kinds: Vec<VarKind>,
}

impl InputReading {
    /// Returns whether this has words where the other has a variable, and is otherwise equal.
    ///
    /// Each variable of this reading is one of the other's; the other's further variables are covered by
    /// words between them.
    fn is_narrower(&self, other: &Self) -> bool {
        let own = |(span, kind): (&(usize, usize), &VarKind)| {
            let is_it = |(of, has): (&(usize, usize), &VarKind)| of == span && has == kind;
            other.spans.iter().zip(&other.kinds).any(is_it)
        };
        let is_apart = |of: &(usize, usize)| {
            let apart = |span: &(usize, usize)| span == of || span.1 <= of.0 || of.1 <= span.0;
            self.spans.iter().all(apart)
        };
        self.spans.len() < other.spans.len()
            && self.spans.iter().zip(&self.kinds).all(own)
            && other.spans.iter().all(is_apart)
    }
}

/// Returns the reading on which all agree, or the one that is narrower than every other. `None` if a model
/// has to decide, or if `readings` is empty.
pub(super) fn decide(readings: Vec<InputReading>) -> Option<InputReading> {
    let wins = |one: &InputReading| {
        let loses = |other: &InputReading| other.intent == one.intent || one.is_narrower(other);
        readings.iter().all(loses)
    };
    let best = readings.iter().position(wins)?;
    readings.into_iter().nth(best)
}
