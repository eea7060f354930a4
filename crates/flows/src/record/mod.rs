//! Records the effects of a run, and returns the recorded outcomes when the run is repeated.
//!
//! # What is in the log
//!
//! Step 0 is `script` with the hash of the script: the record of one script is not used for another. Every
//! effect is a step with its kind and its request. If a person is asked whether another tool may be called,
//! `inner_call_asked` comes before the step, and a refused step never begins. A step that reaches out
//! (`generate`, `http`, `invoke`, an input for an agent, a long sleep) is announced by `effect_started`
//! before it begins; every effect that ends has an `effect_ended`.
//!
//! # What a run gives up
//!
//! A model call, or a call of a tool that may call one, belongs to the record and not to the run: if the run
//! ends first, the call is stopped, and its end is recorded with its cost so far, before the call of the tool
//! ends.
//!
//! # When a run is run again
//!
//! The request of each step must equal the recorded one; otherwise the run ends with a divergence that names
//! the step and both requests. A step with a recorded outcome gets that outcome, without doing anything. An
//! announced step without an outcome is repeated if that is harmless: `generate`, `generate_json`,
//! `generate_stream`, `http` with GET or HEAD, `sleep` (for the rest of it), an input for an agent (which is
//! not given twice), `invoke` of a tool that may be called twice. Any other (`http` with POST, PUT, PATCH or
//! DELETE, `invoke` of any other tool) ends with the error `unknown_outcome`, because it may have had its
//! effect; the script may catch it, check, and continue.

mod divergence;
mod host;
mod long_sleep;
mod owned_effects;
mod performer;
mod record_mode;
mod refusal;
mod writer;

pub use divergence::Divergence;
pub use host::{RecorderHandle, RecordingHost};
pub use performer::{EffectPerformer, PerformedEffect};
pub(crate) use record_mode::milliseconds;
pub(crate) use refusal::REFUSED;
pub use writer::RecordFinish;
