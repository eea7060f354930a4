//! `query` and `query_write`: SQL for SQLite files.
//!
//! `query` only reads, so it needs no approval inside the workspace. `query_write` changes a file and needs
//! the same approval as `write`. SQLite itself confines both to one file, not a check of words in the SQL:
//! the handle of `query` is read-only, and an authorizer refuses everything that leads out of the file
//! ([`authorizer`]).

mod authorizer;
mod explained_error;
mod linear_functions;
mod opened_database;
mod options;
mod parameters;
mod rows;
mod run_statements;

use std::sync::Arc;

use agentx_runtime::{CallSlot, ToolContext, ToolOutcome};
use agentx_types::Access;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::blocking_work::{StopFlag, blocking};
use crate::failure::ToolFailure;
use crate::text;
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::Scope;

use authorizer::DatabaseUse;
use opened_database::OpenedDatabase;
pub use options::{QueryInput, QueryOptions};
use run_statements::{QueryAnswer, run};

/// The tool `query`, which reads SQLite files.
///
/// ```
/// use agentx_runtime::Tool;
/// use agentx_tools::{QueryOptions, QueryTool, Typed};
/// use agentx_types::Access;
///
/// let spec = Typed::new(QueryTool::new(QueryOptions::default())).spec();
/// assert_eq!((spec.name.as_str(), spec.access), ("query", Access::Read));
/// ```
pub struct QueryTool(Database);

/// The tool `query_write`, which changes SQLite files.
pub struct QueryWriteTool(Database);

impl QueryTool {
    /// Creates the tool.
    pub fn new(options: QueryOptions) -> Self {
        Self(Database::new("query", DatabaseUse::Read, options))
    }
}

impl QueryWriteTool {
    /// Creates the tool.
    pub fn new(options: QueryOptions) -> Self {
        Self(Database::new("query_write", DatabaseUse::Write, options))
    }
}

impl TypedTool for QueryTool {
    type Input = QueryInput;

    fn about(&self) -> ToolAbout {
        let description = format!(
            "Reads an SQLite database file with SQL: one or several statements that only read, for example SELECT, EXPLAIN \
             or PRAGMA table_info. `SELECT name, sql FROM sqlite_schema` shows the tables. Each row is a JSON array; at \
             most {} rows are shown unless limit says so, and {} at most.",
            self.0.options.rows, self.0.options.max_rows
        );
        ToolAbout::new(self.0.tool, description, Access::Read)
            .path("path")
            .idempotent()
    }

    async fn run(&self, input: QueryInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        self.0.run(input, context).await
    }
}

impl TypedTool for QueryWriteTool {
    type Input = QueryInput;

    fn about(&self) -> ToolAbout {
        let description = "Changes an SQLite database file with SQL: exactly one statement a call, for example INSERT, \
                           UPDATE, DELETE or CREATE TABLE; it takes effect as a whole or not at all. An empty file is an \
                           empty database.";
        ToolAbout::new(self.0.tool, description, Access::Change)
            .path("path")
            .only_by_name()
    }

    async fn run(&self, input: QueryInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        self.0.run(input, context).await
    }
}

/// The turn of one call: first among those of its person, then among all.
struct QueryTurn {
    _of_person: CallSlot,
    _of_all: Option<OwnedSemaphorePermit>,
}

/// The state that both tools share.
struct Database {
    tool: &'static str,
    used_for: DatabaseUse,
    options: QueryOptions,
    turns: Arc<Semaphore>,
}

impl Database {
    fn new(tool: &'static str, used_for: DatabaseUse, options: QueryOptions) -> Self {
        let turns = options.at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            tool,
            used_for,
            options,
            turns: Arc::new(Semaphore::new(turns)),
        }
    }

    async fn run(&self, input: QueryInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let (most, given) = (self.options.sql_bytes, input.sql.len());
        if given > most {
            let (given, most) = (text::size(given as u64), text::size(most as u64));
            let what = format!("The SQL has {given}, more than the {most} that a call takes.");
            return Err(ToolFailure::invalid(what));
        }
        let turn = self.turn(&context).await?;
        let (scope, options) = (Scope::of(self.tool, &context), self.options.clone());
        let (used_for, stop) = (
            self.used_for,
            StopFlag::new(&context.cancel, Some(options.timeout)),
        );
        // A cancelled call continues until SQLite checks whether to stop; it keeps its turn until then.
        let answer = blocking(&context.cancel, move || {
            let _turn = turn;
            let database = OpenedDatabase::open(&scope, &input.path, used_for, &options, &stop)?;
            run(&database, &input, &options)
        });
        answer.await.map(outcome)
    }

    async fn turn(&self, context: &ToolContext) -> Result<QueryTurn, ToolFailure> {
        let time = self.options.timeout;
        let turn = tokio::time::timeout(time, async {
            QueryTurn {
                _of_person: context.slots.take_slow().await,
                // The semaphore is never closed.
                _of_all: Arc::clone(&self.turns).acquire_owned().await.ok(),
            }
        });
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolFailure::interrupted()),
            turn = turn => turn.map_err(|_| {
                ToolFailure::failed(format!("Other queries were running for {time:?}; start fewer at the same time."))
            }),
        }
    }
}

fn outcome(answer: QueryAnswer) -> ToolOutcome {
    let details = json!({ "rows": answer.rows, "cut": answer.cut, "changed": answer.changed });
    ToolOutcome {
        details: Some(details),
        ..ToolOutcome::success(answer.text)
    }
}
