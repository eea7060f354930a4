//! The tool `query_database`: it reads PostgreSQL databases whose addresses the person configured.
//!
//! PostgreSQL itself restricts a call: it runs in a transaction that is read-only and has a time limit, and a
//! statement is prepared first, which refuses several at once. Statements that return no rows (`COPY`, `DO`,
//! `SET`, `COMMIT`) are not run. Functions of the database can still do anything that the role may do outside
//! a transaction, so use a role that can only read. Each call has its own connection. Errors and logs contain
//! no address and no password.

mod address;
mod connection;
mod options;
mod query_tool;
mod rows;

pub use options::DatabaseQueryOptions;
pub use query_tool::{ConfiguredDatabase, DatabaseQueryInput, DatabaseQueryTool};
