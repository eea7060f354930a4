//! The Match machine from outside, with the agents that it makes: facts in, what they say and want out, through a harness that
//! plays the session around them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[cfg(test)]
mod choices;
#[cfg(test)]
mod family;
#[cfg(test)]
mod flows;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod tree;
