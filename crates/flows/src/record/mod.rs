//! Puts what a run does on record, and hands back what is on record of it.
//!
//! # What is in the log
//!
//! Step 0 is `script` with the hash of the script: another script is not run on the record of the first. Every effect is a
//! step with its kind and its request. Where a person is asked whether a call of another tool may be made, `inner_call_asked` comes
//! before the step, and what is refused never begins. One that reaches out (`generate`, `http`, `invoke`, an input for an agent, a long
//! sleep) is announced by `effect_started` before it begins; every effect that ends has an `effect_ended`.
//!
//! # When a run is run again
//!
//! Each step must ask what is on record for it; else the run ends with a divergence that names the step and both sides.
//! What has an outcome is handed that outcome, and nothing is done. What was announced and has none is done again if that
//! is harmless: `generate`, `generate_json`, `generate_stream`, `http` with GET or HEAD, `sleep` (for what is left of it),
//! an input for an agent (which is not given twice), `invoke` of a tool that may be called twice. Any other (`http` with POST,
//! PUT, PATCH or DELETE, `invoke` of any other tool) ends with the error `unknown_outcome`, for nobody knows whether it had
//! its effect; the script may catch it, look, and continue.

mod divergence;
mod host;
mod record_mode;
pub(crate) use record_mode::milliseconds;
mod performer;
mod writer;

pub use writer::RecordFinish;

pub use divergence::Divergence;
pub use host::{RecorderHandle, RecordingHost};
pub use performer::{PerformedEffect, World};
