//! Rewinding: the changes of files and other effects of a session, derived only from its facts; the effect of
//! a rewind; the differences of two branches. The runtime that has the files restores them
//! ([`agentx_runtime::Runtime::restore`]); everything else works wherever the session is stored.

mod branches;
mod file_history;
mod history;
mod latest_restoring;
mod past;
mod restorings;

pub use branches::{BranchFile, BranchSide, BranchTurn, Branches, ChangedFiles, branches_of, changes_of};
pub use file_history::{FileChange, FileHistory, FileVersion};
pub use history::{SessionHistory, history_of};
pub use latest_restoring::{latest_restoring, plan_undo};
pub use past::{IrreversibleEffect, IrreversibleEffects, PastInput};
pub use restorings::Restoring;
