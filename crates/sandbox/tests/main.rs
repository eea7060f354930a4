//! The real helper against attempts to get out, and with everyday work. On a machine where a step does not
//! work (no Landlock, no user namespaces) its tests say so and pass; elsewhere than on Linux there are none.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod escapes;
mod everyday;
mod held;
mod lifetime;
mod limits;
mod probe;
mod proxy;
mod template;
