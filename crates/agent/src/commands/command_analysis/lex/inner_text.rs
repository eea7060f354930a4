//! Texts within a command line that run, or may run: substitutions of every kind.

/// A text that runs, or may run, within a command line.
#[derive(Debug)]
pub(crate) struct InnerText {
    /// The text between the parentheses, braces or backticks.
    pub(crate) text: String,
    /// The position of the command that contains it; `usize::MAX` in a here-document.
    pub(crate) at: usize,
    /// The kind of substitution.
    pub(crate) kind: InnerKind,
}

/// The kinds of substitution, by the source of their input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InnerKind {
    /// `$(…)`, backticks, `<(…)`.
    Command,
    /// `>(…)`, which reads the output of the command.
    ReadsCommand,
    /// `${…}`, which is not a command but may contain some.
    Parameter,
    /// A substitution in a here-document that bash does not expand. Older rules treat it as one that runs.
    Quoted,
}
