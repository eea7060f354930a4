//! The pure parts of Match from outside: the results of answers, inputs that need no model, and the rules
//! that others wrote.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests fail by panicking, and read files"
)]

#[cfg(test)]
mod answers;
#[cfg(test)]
mod data;
#[cfg(test)]
mod fast;
#[cfg(test)]
mod rules;
