//! The tool `query_database`: its arguments, and the databases that it may read.

use std::fmt;

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_tools::{ToolAbout, ToolFailure, TypedTool};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::address::DatabaseAddress;
use crate::options::DatabaseQueryOptions;
use crate::rows::{DatabaseAnswer, read};

/// A database that the person configured. `Debug` shows no address.
#[derive(Clone)]
pub struct ConfiguredDatabase {
    /// The name by which the model names it.
    pub name: String,
    /// The address, with the password; `None` if its variable is not set.
    pub address: Option<String>,
}

impl fmt::Debug for ConfiguredDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredDatabase")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The arguments of `query_database`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseQueryInput {
    /// The name of the database.
    database: String,
    /// One statement that reads.
    sql: String,
    /// Number of rows to show.
    limit: Option<u64>,
}

/// The tool `query_database`.
///
/// ```
/// use agentx_postgres::{ConfiguredDatabase, DatabaseQueryOptions, DatabaseQueryTool};
/// use agentx_runtime::Tool;
/// use agentx_tools::Typed;
/// use agentx_types::Access;
///
/// let shop = ConfiguredDatabase {
///     name: "shop".into(),
///     address: Some("postgres://me:secret@localhost/shop".into()),
/// };
/// let spec = Typed::new(DatabaseQueryTool::new(vec![shop], DatabaseQueryOptions::default())).spec();
/// assert_eq!((spec.name.as_str(), spec.access), ("query_database", Access::Network));
/// assert!(spec.description.contains("shop") && !spec.description.contains("secret"));
/// ```
pub struct DatabaseQueryTool {
    databases: Vec<ConfiguredDatabase>,
    options: DatabaseQueryOptions,
    turns: Semaphore,
}

impl DatabaseQueryTool {
    /// Creates the tool; nothing is connected before its first call.
    pub fn new(databases: Vec<ConfiguredDatabase>, options: DatabaseQueryOptions) -> Self {
        let turns = Semaphore::new(options.at_once.clamp(1, Semaphore::MAX_PERMITS));
        Self {
            databases,
            options,
            turns,
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.databases.iter().map(|known| known.name.as_str()).collect();
        names.join(", ")
    }

    fn address(&self, name: &str) -> Result<DatabaseAddress, ToolFailure> {
        let Some(known) = self.databases.iter().find(|known| known.name == name) else {
            let names = self.names();
            return Err(ToolFailure::invalid(format!(
                "There is no database {name:?}; there are: {names}."
            )));
        };
        let Some(address) = &known.address else {
            return Err(ToolFailure::failed(format!(
                "The address of {name} is not set: the person has to set the variable of `databases.{name}.url`."
            )));
        };
        DatabaseAddress::parse(address).ok_or_else(|| {
            ToolFailure::failed(format!(
                "`databases.{name}.url` is not a PostgreSQL address: the person has to correct it, in the form \
                 postgres://USER:PASSWORD@HOST/DATABASE."
            ))
        })
    }

    /// Reads in turn, within the time of a call.
    async fn read(
        &self,
        input: &DatabaseQueryInput,
        address: &DatabaseAddress,
        context: &ToolContext,
    ) -> Result<DatabaseAnswer, String> {
        let asked = input.limit.map_or(self.options.rows, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let limit = asked.clamp(1, self.options.max_rows);
        let _of_person = context.slots.take_slow().await;
        // It is never closed.
        let _of_all = self.turns.acquire().await.ok();
        read(address, &input.sql, limit, &self.options).await
    }
}

impl TypedTool for DatabaseQueryTool {
    type Input = DatabaseQueryInput;

    fn about(&self) -> ToolAbout {
        let description = format!(
            "Reads a PostgreSQL database with SQL: one statement that only reads, for example SELECT or EXPLAIN, in a \
             read-only transaction. `SELECT table_schema, table_name FROM information_schema.tables` shows the tables. Each \
             row is a JSON array; at most {} rows are shown unless limit says so, and {} at most. Databases: {}.",
            self.options.rows,
            self.options.max_rows,
            self.names()
        );
        ToolAbout::new("query_database", description, Access::Network).idempotent()
    }

    async fn run(&self, input: DatabaseQueryInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        if input.sql.len() > self.options.sql_bytes {
            let most = self.options.sql_bytes;
            return Err(ToolFailure::invalid(format!(
                "The SQL has more than the {most} bytes that a call takes."
            )));
        }
        let address = self.address(&input.database)?;
        let time = self.options.timeout;
        let done = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolFailure::interrupted()),
            done = tokio::time::timeout(time, self.read(&input, &address, &context)) => done,
        };
        let failed = |why: String| ToolFailure::failed(format!("{}: {why}.", input.database));
        let answer = done
            .map_err(|_| failed(format!("no answer within {time:?}")))?
            .map_err(failed)?;
        let details = json!({"rows": answer.rows, "cut": answer.is_cut});
        Ok(ToolOutcome {
            details: Some(details),
            ..ToolOutcome::success(answer.text)
        })
    }
}
