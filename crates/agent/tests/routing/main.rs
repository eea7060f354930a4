//! Agents that create agents, tested from outside, above all routers: facts in, outputs and actions out,
//! through a harness that plays the session around them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[cfg(test)]
mod acts;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod built_in;
#[cfg(test)]
mod choices;
#[cfg(test)]
mod family;
#[cfg(test)]
mod flows;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod room;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod tree;
