//! The variable that names another user to whom the data directory may belong.

/// The variable with the id of that user, for containers with a volume. No file can say it: the files may
/// belong to the same user as the directory.
pub(crate) const VARIABLE: &str = "AGENTX_DATA_OWNER";
/// The description of that variable.
pub(crate) const MEANING: &str = "id of another user to whom the data directory may belong";

/// Returns the id in the variable; `None` if it is not set, or is not an id.
pub(crate) fn data_owner(lookup: &dyn Fn(&str) -> Option<String>) -> Option<u32> {
    read(&lookup(VARIABLE)?)
}

/// Reads the id of a user.
pub(crate) fn read(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}
