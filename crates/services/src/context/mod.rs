//! The service that builds the contexts of a personal agent.
//!
//! | source | answer |
//! | --- | --- |
//! | `persona` | instructions: who the agent is |
//! | `system` | instructions: facts about the agent from the running system |
//! | `tools` | instructions: the tools and what they touch |
//! | `moment` | text around the input: the time, who speaks, what was spent so far |

mod moment;
pub(crate) mod options;
pub(crate) mod reactor;
pub(crate) mod service;
pub(crate) mod sources;
mod system;
mod template;
mod tools;
