//! Going back: what a session did to files and what else it did, from its facts alone; what a rewind would
//! undo; how two branches differ. Whoever has the files ([`agentx_runtime::Runtime::restore`]) puts them
//! back; everything here is the same wherever the session is.

mod branches;
mod file_history;
mod history;
mod restorings;

pub use branches::{BranchFile, BranchSide, BranchTurn, Branches, branches_of};
pub use file_history::{FileChange, FileTrail, FileVersion};
pub use history::{IrreversibleEffect, PastInput, SessionHistory, Undone, history_of};
pub use restorings::{Restoring, latest_restoring};
