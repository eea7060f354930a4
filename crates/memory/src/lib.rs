//! Memories: short facts about a person and their work that last over sessions.
//!
//! A model proposes a memory with the tool `remember`, or the person adds one. A proposal waits in the
//! person's inbox, and only what the person accepted is ever given to a model. At the start of a run, the
//! service [`MemoryContext`] answers the agent's request for context with the memories that fit the input.
//! The answer is a fact in the session, so a replay needs no store, and a memory that is deleted later
//! changes no old session.
//!
//! | part | file |
//! | --- | --- |
//! | what a memory is, and its bounds: pure | `memory.rs` |
//! | which words of an input are searched, and what a model is given: pure | `query.rs`, `telling_words.rs`, `selection.rs` |
//! | the database `memory.db` in the person's data directory | `store.rs`, `database.rs`, `rows.rs`, `schema.sql` |
//! | the tools `remember` and `recall_memory` | `remember.rs`, `recall_memory.rs` |
//! | the service on the topic `context.build.request` | `context.rs` |
//! | the service on the topic `memories.requests`, and the proposals of a model | `learner.rs`, `proposals.rs` |
//! | whose session it is, and whether text from outside is in it | `sessions.rs` |
//! | the names by which a session knows these parts | `names.rs` |

mod context;
mod database;
mod learner;
mod memory;
mod names;
mod proposals;
mod query;
mod recall_memory;
mod remember;
mod rows;
mod selection;
mod sessions;
mod store;
mod telling_words;

pub use context::MemoryContext;
pub use learner::{LearnerParts, MemoryLearner};
pub use memory::{
    LONGEST_TEXT, MAX_MEMORIES, MAX_WAITING, Memory, MemoryEdit, MemoryError, MemoryFilter, MemoryOrigin,
    MemoryState, NewMemory,
};
pub use names::MEMORY_SOURCE;
pub use recall_memory::RecallMemoryTool;
pub use remember::{AcceptMode, RememberTool};
pub use store::{MEMORY_DATABASE, MemoryStore};
