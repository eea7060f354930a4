//! The browser against pages on this machine. Where no Chromium is installed, the tests say so and end well.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]
#![allow(unreachable_pub, reason = "a part of the test binary")]

mod guard;
mod lifetime;
mod support;
mod tasks;
