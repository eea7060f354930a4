//! Access control: every HTTP route and every frame of a client, for every kind of person, with the answer
//! that each has to get from a real server. A person who may not know of a session gets the same answer as if
//! it did not exist, and no answer contains another person's ids, titles or words.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "owners/acts.rs"]
mod acts;
#[path = "owners/frames.rs"]
mod frames;
#[path = "owners/routes.rs"]
mod routes;
#[path = "owners/signatures.rs"]
mod signatures;
#[path = "owners/stage.rs"]
mod stage;
#[path = "owners/trust.rs"]
mod trust;
