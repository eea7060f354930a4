//! Receptors: what an EnvironmentEvent means to the system. Each is a pure fold over the facts of one session; each
//! RuntimeEvent has exactly one emitter among them and the bridge.

use agentx_types::{EnvironmentEvent, Envelope, RuntimeEvent};

/// A pure function from facts to meaning, with the little memory that meaning needs.
pub trait Receptor {
    /// Takes the next fact of the session and pushes what it means onto `out`.
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>);
}
