//! The program of a server that runs, with what it wrote to its standard error.

use std::sync::Arc;

use agentx_tools::PipedProgram;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::stdio::ProgramOutput;

/// The program of a server.
pub(crate) struct ServerProcess {
    pub(crate) program: Mutex<Option<PipedProgram>>,
    pub(crate) said: Arc<ProgramOutput>,
    pub(crate) stderr: JoinHandle<()>,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stderr.abort();
    }
}
