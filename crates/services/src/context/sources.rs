//! The names of the contexts, and the parts that files and persons may change.

use std::io::Read as _;
use std::path::Path;

/// The largest file with the text of a module.
const MOST_BYTES: u64 = 256 << 10;

/// The built-in persona.
pub const DEFAULT_PERSONA: &str = include_str!("persona.md");

/// A context that the service builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextModule {
    /// The nature of the agent.
    Persona,
    /// Facts about the agent from the running system.
    System,
    /// The tools and what they touch.
    Tools,
    /// The time, who speaks, and what was spent so far, around the input.
    Moment,
}

impl ContextModule {
    /// All of them, in the order in which a model reads them.
    pub const ALL: [Self; 4] = [Self::Persona, Self::System, Self::Tools, Self::Moment];

    /// The name of its source in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::System => "system",
            Self::Tools => "tools",
            Self::Moment => "moment",
        }
    }

    /// The module of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|module| module.name() == name)
    }

    /// The text that is used if no file and no person has another; `None` if the module has none.
    pub fn default_text(self) -> Option<&'static str> {
        match self {
            Self::Persona => Some(DEFAULT_PERSONA.trim_ascii_end()),
            Self::System => Some("{facts}"),
            Self::Tools => Some("{tools}"),
            Self::Moment => None,
        }
    }

    /// Returns whether a person may write a text of their own. What the system says about itself is not a
    /// person's to change.
    pub fn is_editable(self) -> bool {
        matches!(self, Self::Persona | Self::Tools)
    }

    /// The text of the module before its names are filled in: a person's own, if they may have one, that of a
    /// file, or the built-in one.
    ///
    /// # Errors
    /// Returns an error with the path if the file cannot be read.
    pub fn template(self, own: Option<&str>, file: Option<&Path>) -> Result<String, String> {
        match (own.filter(|_| self.is_editable()), file) {
            (Some(own), _) => Ok(own.to_owned()),
            (None, Some(file)) => read_text(file).map_err(|what| format!("{}: {what}", file.display())),
            (None, None) => Ok(self.default_text().unwrap_or_default().to_owned()),
        }
    }
}

/// Reads a file of text that is not too large.
fn read_text(file: &Path) -> Result<String, String> {
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = opened.take(MOST_BYTES + 1).read_to_string(&mut text);
    let size = read.map_err(|error| error.to_string())?;
    if u64::try_from(size).is_ok_and(|size| size <= MOST_BYTES) {
        Ok(text)
    } else {
        Err(format!("it has more than {MOST_BYTES} bytes"))
    }
}
