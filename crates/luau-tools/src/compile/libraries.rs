//! The libraries that a script may `require`: sources that the caller has read, by name. This module reads
//! nothing from disk.
//!
//! `require` finds a library by its name: `require("text")` finds `text.luau` or `text/init.luau`. A library
//! that is not Luau does not prevent the script from compiling; the `require` of it fails with its error.

use std::collections::BTreeMap;

/// Libraries by their path below `libs/`, such as `text.luau` or `http/init.luau`.
///
/// ```
/// use agentx_luau_tools::Libraries;
///
/// let libraries = Libraries::new()
///     .with("text", "return { shout = function(s) return s:upper() end }")
///     .with("http/init.luau", "return {}");
/// # drop(libraries);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    /// The texts by their paths, in order, so that a hash over them is deterministic.
    sources: BTreeMap<String, String>,
}

impl Libraries {
    /// No libraries: `require` finds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a library. `path` is relative to `libs/`, with `/` between folders; a path that does not end in
    /// `.luau` gets it. Definition files (`.d.luau`) are left out, for they hold no code.
    #[must_use]
    pub fn with(mut self, path: &str, source: impl Into<String>) -> Self {
        if !path.ends_with(".d.luau") {
            let path = match path.strip_suffix(".luau") {
                Some(_) => path.to_owned(),
                None => format!("{path}.luau"),
            };
            self.sources.insert(path, source.into());
        }
        self
    }

    /// Returns the library for `require(name)`: its name in errors and its source.
    ///
    /// # Errors
    /// Returns a message with the reason why the name is refused, or with the names that were tried.
    pub(crate) fn find(&self, name: &str) -> Result<(String, &str), String> {
        if name.is_empty() {
            return Err("require: the name is empty".to_owned());
        }
        let drive = name.as_bytes().get(1) == Some(&b':');
        if name.starts_with(['/', '\\']) || drive || name.contains('\0') {
            return Err(format!(
                "require: {name:?} is not a library name: it must be relative"
            ));
        }
        if name.split(['/', '\\']).any(|part| part == "..") {
            return Err(format!("require: {name:?} may not leave the libraries"));
        }
        let tries = [format!("{name}.luau"), format!("{name}/init.luau")];
        for path in &tries {
            if let Some(source) = self.sources.get(path) {
                return Ok((format!("libs/{path}"), source));
            }
        }
        Err(format!(
            "require: there is no library {name:?} (looked for libs/{} and libs/{})",
            tries[0], tries[1]
        ))
    }

    /// Every path with its source, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources
            .iter()
            .map(|(path, source)| (path.as_str(), source.as_str()))
    }
}
