//! The names of the contexts, and the parts that files and persons may change.

/// The built-in persona.
pub const DEFAULT_PERSONA: &str = include_str!("persona.md");

/// A context that the service builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextModule {
    /// Who the agent is.
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
}
