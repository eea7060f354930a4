//! Numbers of the command line, refused in words that say what was wanted.

/// How many of something: one at least.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number from 1".into()),
        Ok(count) => Ok(count),
    }
}

/// The number of an event. Which there are is for the session to say.
pub(crate) fn event(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an event: they are counted from 1".into())
}
