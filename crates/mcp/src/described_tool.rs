//! Data that follows from the description of a tool, computed once for each list of tools: every start of the
//! program offers the tools several times, and most starts call none of them.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::known_servers::KnownServer;
use crate::server_tool::ServerTool;

/// A tool with the values that are computed from its description.
#[derive(Debug)]
pub(crate) struct DescribedTool {
    pub(crate) tool: Arc<ServerTool>,
    /// The hash, once it was asked for.
    hash: OnceLock<String>,
    /// The difference to the accepted description, as a question shows it; `None` if there is none.
    pub(crate) changed: Option<String>,
}

impl DescribedTool {
    /// Returns the hash of its description and of its server, which has this identity.
    pub(crate) fn hash(&self, identity: &str) -> &str {
        self.hash.get_or_init(|| self.tool.hash(identity))
    }
}

/// The tools of a server, from their first use until the server describes others.
#[derive(Debug, Default)]
pub(crate) struct DescribedTools(Mutex<Option<Arc<[DescribedTool]>>>);

impl DescribedTools {
    /// Returns the tools of `known`, which has not changed since the last [`forget`](Self::forget).
    pub(crate) fn of(&self, known: &KnownServer) -> Arc<[DescribedTool]> {
        let described = |tool: &ServerTool| DescribedTool {
            hash: OnceLock::new(),
            changed: known.change(tool),
            tool: Arc::new(tool.clone()),
        };
        let mut kept = self.lock();
        let tools = kept.get_or_insert_with(|| known.tools.iter().map(described).collect());
        tools.clone()
    }

    /// Forgets them, because the description of the server has changed.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<[DescribedTool]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
