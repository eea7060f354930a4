//! The tool `query_database`, for the databases that the person configured, if this program has the feature
//! `postgres`.
//!
//! | `databases` | feature `postgres` | tool |
//! | --- | --- | --- |
//! | empty | either | none |
//! | set | on | `query_database`, which names the databases to the model, and no address |
//! | set | off | none; a warning says that this build has no PostgreSQL |
//!
//! An address is a reference to a variable (`${NAME}`). It is read once, here, and appears in no error or
//! event.

use agentx_config::Settings;
use agentx_tools::Toolbox;

/// Adds the tool if there are databases.
#[cfg(feature = "postgres")]
pub(crate) fn with_databases(mut tools: Toolbox, settings: &Settings) -> Toolbox {
    use agentx_postgres::{ConfiguredDatabase, DatabaseQueryOptions, DatabaseQueryTool};

    if settings.databases.is_empty() {
        return tools;
    }
    let databases = settings.databases.iter().map(|database| ConfiguredDatabase {
        name: database.name.clone(),
        address: database.url.value().map(|url| url.expose().to_owned()),
    });
    let tool = DatabaseQueryTool::new(databases.collect(), DatabaseQueryOptions::default());
    // No built-in tool has this name, so there is nothing to replace.
    if let Err(taken) = tools.add(tool) {
        tracing::warn!(tool = taken.name, "there are two tools of one name");
    }
    tools
}

/// Says that the databases count for nothing.
#[cfg(not(feature = "postgres"))]
pub(crate) fn with_databases(tools: Toolbox, settings: &Settings) -> Toolbox {
    if !settings.databases.is_empty() {
        tracing::warn!("`databases` has no effect: this program was built without the feature `postgres`");
    }
    tools
}
