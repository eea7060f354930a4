//! The parts of memory that follow from the settings: the service that gives memories to runs, the one that
//! has models propose some, and two tools.

use std::sync::Arc;

use agentx_config::{MemoryAccept, Settings};
use agentx_memory::{
    AcceptMode, LearnerParts, MEMORY_SOURCE, MemoryContext, MemoryError, MemoryLearner, MemoryStore,
    RecallMemoryTool, RememberTool,
};
use agentx_runtime::{Effector, SessionLog, SystemClock};
use agentx_tools::{DuplicateTool, Toolbox};
use agentx_types::OwnerId;

use crate::local_owner::LOCAL_OWNER;
use crate::node_parts::{ContextServices, LearnerOf};

/// The services of memory.
pub(crate) struct MemoryParts {
    /// The service that gives memories to runs.
    pub(crate) context: ContextServices,
    /// The service that has models propose memories.
    pub(crate) learner: LearnerOf,
}

/// Opens the memories of the person of this machine. The directory and the database are created if they do
/// not exist.
///
/// # Errors
/// Returns an error if the database cannot be opened.
pub fn open_memories(settings: &Settings) -> Result<MemoryStore, MemoryError> {
    MemoryStore::open(&settings.data_dir, OwnerId::new(LOCAL_OWNER))
}

/// Adds the tools of memory, if it is on, and returns its services. A store that cannot be opened leaves
/// sessions without memory.
pub(crate) fn with_memory(
    tools: &mut Toolbox,
    settings: &Settings,
    log: &Arc<dyn SessionLog>,
) -> MemoryParts {
    let opened = settings.memory.enabled.then(|| open_memories(settings));
    let store = match opened {
        Some(Ok(store)) => Arc::new(store),
        Some(Err(error)) => {
            tracing::warn!(%error, "memory is not available");
            return MemoryParts {
                context: services(MemoryContext::unavailable(error.to_string())),
                ..without_memory()
            };
        }
        None => return without_memory(),
    };
    let accept = match settings.memory.accept {
        MemoryAccept::Ask => AcceptMode::Ask,
        MemoryAccept::Always => AcceptMode::Always,
    };
    let person = OwnerId::new(LOCAL_OWNER);
    let remember = RememberTool::new(
        store.clone(),
        log.clone(),
        person.clone(),
        accept,
        Arc::new(SystemClock),
    );
    let recall = RecallMemoryTool::new(store.clone(), log.clone(), person.clone());
    let added = tools.add(remember).and_then(|()| tools.add(recall));
    if let Err(DuplicateTool { name }) = added {
        tracing::warn!(tool = name, "there are two tools of one name");
    }
    MemoryParts {
        context: services(MemoryContext::new(store.clone(), log.clone(), person.clone())),
        learner: learner(store, log.clone(), person, accept),
    }
}

/// Makes the service that has models propose memories of `person`.
fn learner(
    store: Arc<MemoryStore>,
    log: Arc<dyn SessionLog>,
    person: OwnerId,
    accept: AcceptMode,
) -> LearnerOf {
    Box::new(move |models, redactor| {
        Arc::new(MemoryLearner::new(LearnerParts {
            models,
            store,
            log,
            person,
            accept,
            clock: Arc::new(SystemClock),
            redactor,
        }))
    })
}

/// The services while memory is off: agents that ask get no memories and no proposals.
pub(crate) fn without_memory() -> MemoryParts {
    MemoryParts {
        context: services(MemoryContext::off()),
        learner: Box::new(|_, _| Arc::new(MemoryLearner::off())),
    }
}

fn services(memory: MemoryContext) -> ContextServices {
    let memory: Arc<dyn Effector> = Arc::new(memory);
    ContextServices::from([(MEMORY_SOURCE.to_owned(), memory)])
}
