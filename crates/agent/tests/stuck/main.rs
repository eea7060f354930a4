//! The stuck detector: OpenHands' verdicts, planted loops, and false alarms over recorded sessions.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests fail by panicking, read files, and print figures"
)]

#[cfg(test)]
mod data;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod v0;
