//! Memories as text.

use agentx::memory::{Memory, MemoryState};

use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;

/// A table of memories.
pub(super) fn rows(memories: &[Memory], width: usize) -> String {
    let mut rows = vec![["NUMBER", "STATE", "WHERE", "MEMORY"].map(str::to_owned).to_vec()];
    rows.extend(memories.iter().map(|memory| {
        vec![
            memory.id.to_string(),
            state(memory),
            place(memory),
            visible(&memory.text),
        ]
    }));
    table(&rows, width)
}

/// A memory in a sentence.
pub(super) fn line(memory: &Memory) -> String {
    format!("{} {}", memory.id, visible(&memory.text))
}

/// Everything about a memory.
pub(super) fn whole(memory: &Memory) -> String {
    let origin = memory.origin.as_ref();
    let origin = origin.map_or_else(|| "you".to_owned(), |origin| visible(&origin.to_string()));
    let now = units::now();
    format!(
        "{}\n\nnumber   {} (version {})\nstate    {}\nwhere    {}\nfrom     {origin}\ncreated  {}\nchanged  {}\n",
        visible(&memory.text),
        memory.id,
        memory.revision,
        state(memory),
        place(memory),
        units::ago(memory.created_at, now),
        units::ago(memory.changed_at, now),
    )
}

fn state(memory: &Memory) -> String {
    match (memory.state, memory.pinned) {
        (MemoryState::Accepted, true) => "pinned".to_owned(),
        (state, _) => state.word().to_owned(),
    }
}

fn place(memory: &Memory) -> String {
    let folder = memory.folder.as_deref();
    folder.map_or_else(|| "everywhere".to_owned(), visible)
}
