//! Reads environment variables. An empty one is treated as unset.

/// Reads the environment.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The value of a variable that is set and not empty.
pub(crate) fn set(lookup: Lookup<'_>, name: &str) -> Option<String> {
    let value = lookup(name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
