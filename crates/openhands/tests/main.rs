//! Logs of OpenHands as sessions: the result of each kind of event, damaged logs, and recorded logs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests fail by panicking, read files, and print figures"
)]

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod session;
#[cfg(test)]
mod v0;
#[cfg(test)]
mod v1;
#[cfg(test)]
mod words;
