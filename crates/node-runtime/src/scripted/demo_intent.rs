//! The requests that the demo understands: each piece of an input becomes one of these.

/// The highest number that is counted to.
pub(super) const MAX_COUNT: u32 = 20_000;

/// The request in one piece of an input. `Tool` needs a tool of the session; all others are answered with
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DemoIntent {
    Greet,
    Help,
    Identity,
    Connect,
    Thanks,
    Bye,
    /// Repeats these words, without the quotes around them.
    Echo(String),
    /// Counts from 1 to this number, at most [`MAX_COUNT`].
    Count(u32),
    Story,
    /// Shows reasoning about this topic, which is a demonstration only.
    Think(String),
    Tool(ToolWish),
    Unclear,
}

/// Something that needs a tool. The names of the arguments follow from the schema of the tool that is
/// offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolWish {
    /// `glob`: a pattern below the workspace.
    List { pattern: String },
    /// `read`: a file.
    Read { path: String },
    /// `bash`: a command line, passed on as it was typed.
    Run { command: String },
    /// `write`: the content gets a line break at its end.
    Write { path: String, content: String },
    /// `edit`: a text of the file that becomes another one.
    Replace { path: String, old: String, new: String },
    /// `grep`: a regular expression, everywhere or below a path.
    Search { pattern: String, path: Option<String> },
}
