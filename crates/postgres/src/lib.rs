//! The tool `query_database`: it reads PostgreSQL databases whose addresses the person configured.
//!
//! PostgreSQL itself holds a call: it runs in a transaction that is read-only and ends after a time, and a statement is
//! prepared first, which refuses several at once. What returns no rows (`COPY`, `DO`, `SET`, `COMMIT`) is not run. Functions
//! of the database can still do what the role of the address may do outside of a transaction, so that role should be one
//! that only reads. Each call has a connection of its own. No address, and no password of one, is in an error or a log.

mod address;
mod connection;
mod query_tool;
mod rows;

pub use query_tool::{ConfiguredDatabase, DatabaseQueryInput, DatabaseQueryOptions, DatabaseQueryTool};
