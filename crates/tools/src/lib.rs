//! The tools of an agent, and the built-in ones: bash, job, shell, read, write, edit, glob, grep, todo,
//! finish.
//!
//! A tool is one type: an input struct with a derived JSON Schema, and a function ([`TypedTool`]). [`Typed`]
//! turns it into the object-safe [`agentx_runtime::Tool`]: it validates the arguments and explains errors to
//! the model. [`Toolbox`] is the set of an agent's tools; the tool effector of a runtime looks up calls
//! there. These are always available; the built-in tools, and the programs and searches that they need, come
//! with the feature `builtin`. The feature `query` adds `query` and `query_write`, which need SQLite, and
//! `masking` credentials that commands in a sandbox use without seeing them, which need TLS.
//!
//! Rules that every tool here keeps:
//!
//! - A failure is an outcome that the model reads; nothing that a model sends can panic the process.
//! - The model sees a bounded output, with a note about the omitted part and how to read it.
//! - A path whose real target is outside the workspace is refused unless the call was approved for that. This
//!   is the second line: the agent decides approvals from the text of the call alone, and cannot see symbolic
//!   links.
//! - When a call is cancelled, the processes that it started are gone within a second.
#![doc = include_str!("../docs/limits.md")]

mod arguments;
mod background;
#[cfg(feature = "builtin")]
mod bash;
#[cfg(feature = "builtin")]
mod blocking_work;
#[cfg(feature = "builtin")]
mod builtin;
#[cfg(feature = "builtin")]
mod command_changes;
#[cfg(feature = "builtin")]
mod document_reader;
#[cfg(feature = "builtin")]
mod environment;
mod failure;
#[cfg(feature = "builtin")]
mod files;
#[cfg(feature = "builtin")]
mod finish;
#[cfg(feature = "builtin")]
mod host_proxy;
#[cfg(feature = "builtin")]
mod long_result;
#[cfg(feature = "builtin")]
mod options;
#[cfg(feature = "builtin")]
mod page_text;
#[cfg(feature = "query")]
mod query;
#[cfg(feature = "builtin")]
mod restore;
mod schema;
#[cfg(feature = "builtin")]
mod search;
mod session_resources;
#[cfg(feature = "builtin")]
mod temporary;
#[cfg(feature = "builtin")]
mod test_tool;
#[cfg(feature = "builtin")]
mod text;
#[cfg(feature = "builtin")]
mod todo;
#[cfg(feature = "builtin")]
mod tokens;
mod toolbox;
mod typed;
#[cfg(feature = "builtin")]
mod workspace;

pub use background::Background;
#[cfg(feature = "builtin")]
pub use bash::{
    BashOptions, CommandRecords, OutputBudget, PipedCommand, PipedProgram, ProgramPipes, RemainingProcess,
    is_in_a_call, kill_all_commands, own_command_mark, refused_link, refused_reading,
};
#[cfg(feature = "builtin")]
pub use command_changes::CommandRewind;
#[cfg(feature = "builtin")]
pub use document_reader::DocumentReader;
#[cfg(feature = "builtin")]
pub use environment::{ProgramEnvironment, WithheldVariable};
pub use failure::ToolFailure;
#[cfg(feature = "builtin")]
pub use files::{
    LARGEST_NOTEBOOK, LONGEST_PICTURE_SIDE, SavedFiles, is_named_as_notebook, notebook_markdown,
};
#[cfg(feature = "masking")]
pub use host_proxy::MaskedCredential;
#[cfg(feature = "builtin")]
pub use host_proxy::{MaskedCredentials, ProxyByHand, run_beside_proxy};
#[cfg(feature = "builtin")]
pub use long_result::shortened;
#[cfg(feature = "builtin")]
pub use options::{FileOptions, SearchOptions, ToolOptions};
#[cfg(feature = "builtin")]
pub use page_text::{clean_page_text, page_line, quoted_address};
#[cfg(feature = "query")]
pub use query::{QueryInput, QueryOptions, QueryTool, QueryWriteTool};
#[cfg(feature = "builtin")]
pub use restore::{plan_restore, restore};
pub use session_resources::SessionResources;
#[cfg(feature = "builtin")]
pub use test_tool::{TestTool, TestToolInput};
#[cfg(feature = "builtin")]
pub use todo::{TodoItem, TodoStatus};
#[cfg(feature = "builtin")]
pub use tokens::without_tokens;
pub use toolbox::{DuplicateTool, ToolWrapper, Toolbox};
pub use typed::{ToolAbout, Typed, TypedTool};
#[cfg(feature = "builtin")]
pub use workspace::resolve_path;
