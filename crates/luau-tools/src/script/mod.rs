//! A script that a caller can invoke: its compiled text and libraries, and the lanes that run it.
//!
//! A script and its libraries have one common [`hash`](Script::hash): a flow that was recorded with another
//! text is not replayed with this one.

pub(crate) mod owner;

use std::sync::Arc;

use crate::compile::Compiled;
use crate::compile::libraries::Libraries;
use crate::error::ScriptError;
use crate::lanes::lane_pool::Lanes;
use crate::script::owner::Owner;

/// A script that can be invoked, any number of times at once. Clones refer to the same script.
#[derive(Clone)]
pub struct Script {
    /// The part that all runs share.
    pub(crate) compiled: Arc<Compiled>,
    /// The lanes that compute its runs.
    pub(crate) lanes: Arc<Lanes>,
    /// Clones share it, and it is dropped with the last of them. Runs hold only the compiled code, so they do
    /// not keep it alive.
    _forgets: Arc<UnloadGuard>,
}

/// Notifies the lanes when the last clone of a script is gone, so that no VM keeps it loaded.
struct UnloadGuard {
    script: u64,
    owner: Owner,
}

impl Drop for UnloadGuard {
    fn drop(&mut self) {
        self.owner.lanes().forget(self.owner.id(), self.script);
    }
}

impl Script {
    /// Compiles a script and its libraries with a separate owner: it shares a VM with no other script, see
    /// [`Owner`]. The `require` of a library that is not a script fails with its error. `name` is for errors;
    /// it need not be a file.
    ///
    /// # Errors
    /// Returns an error if the text is longer than [`SOURCE_BYTES`](crate::SOURCE_BYTES) or is bytecode, and
    /// an error with the line if it is not Luau.
    pub fn compile(name: &str, source: &str, libraries: Libraries) -> Result<Self, ScriptError> {
        Owner::new().compile(name, source, libraries)
    }

    /// The same on separate lanes.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Script::compile`].
    pub fn compile_on(
        lanes: Arc<Lanes>,
        name: &str,
        source: &str,
        libraries: Libraries,
    ) -> Result<Self, ScriptError> {
        Owner::on(lanes).compile(name, source, libraries)
    }

    /// Returns the script's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.compiled.name
    }

    /// blake3 over the text and all libraries, as hex: another hash is another script.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.compiled.hash
    }
}

impl Owner {
    /// Compiles a script and its libraries.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Script::compile`].
    pub fn compile(&self, name: &str, source: &str, libraries: Libraries) -> Result<Script, ScriptError> {
        let compiled = Compiled::new(self.id(), name, source, libraries)?;
        let forgets = UnloadGuard {
            script: compiled.id,
            owner: self.clone(),
        };
        Ok(Script {
            compiled: Arc::new(compiled),
            lanes: Arc::clone(self.lanes()),
            _forgets: Arc::new(forgets),
        })
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("name", &self.compiled.name)
            .field("hash", &self.compiled.hash)
            .finish_non_exhaustive()
    }
}
