//! The reason why something that was tried on this machine does not work, and whether it may be gone a moment
//! later.

/// Errors of Linux that may be gone at the next attempt: EINTR, EAGAIN, ENOMEM, ENFILE, EMFILE, ETXTBSY and
/// ENOSPC.
pub(crate) const PASSING_ERRORS: [i32; 7] = [4, 11, 12, 23, 24, 26, 28];

/// The reason why something that was tried does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProbeFailure {
    /// The reason in words.
    pub(crate) why: String,
    /// Whether it may be gone at the next attempt.
    pub(crate) is_passing: bool,
}

impl ProbeFailure {
    /// A reason that lasts.
    pub(crate) fn lasting(why: String) -> Self {
        Self {
            why,
            is_passing: false,
        }
    }

    /// The failure of a part of an attempt.
    pub(crate) fn of_error(what: &str, error: &std::io::Error) -> Self {
        let is_listed = |number| PASSING_ERRORS.contains(&number);
        Self {
            why: format!("{what}: {error}"),
            is_passing: error.raw_os_error().is_some_and(is_listed),
        }
    }
}
