//! Going back: what a session did to files and what else it did, from its facts alone; what a rewind would undo; how two
//! branches differ. Whoever has the files ([`agentx_runtime::Runtime::restore`]) puts them back; everything here is the same wherever
//! the session is.

mod branches;
mod history;
mod restorings;
mod trail;

pub use branches::{BranchFile, BranchSide, Branches, Turn, branches_of};
pub use history::{Beyond, PastInput, SessionHistory, Undone, history_of};
pub use restorings::{Restoring, latest_restoring};
pub use trail::{FileChange, FileTrail, Image};
