//! Explains errors of SQLite to the model: the file, the place in the SQL, and what to do instead.

use rusqlite::{Connection, Error, ErrorCode};

use super::authorizer::DatabaseUse;
use super::options::QueryOptions;
use crate::blocking_work::StopFlag;
use crate::failure::ToolFailure;

/// The maximum number of tables that an error lists.
const LISTED_TABLES: usize = 30;

/// The place of an error.
#[derive(Clone, Copy)]
pub(super) struct ErrorPlace<'a> {
    /// The path as the call names it.
    pub(super) name: &'a str,
    pub(super) used_for: DatabaseUse,
    pub(super) stop: &'a StopFlag,
    pub(super) options: &'a QueryOptions,
}

/// An error in words.
pub(super) struct Explained {
    failure: ToolFailure,
    /// Whether a list of the tables would help.
    lacks_table: bool,
}

impl Explained {
    /// Returns the failure. It lists the existing tables if the SQL names a missing one.
    pub(super) fn with_tables(mut self, connection: &Connection) -> ToolFailure {
        if self.lacks_table {
            self.failure.text.push_str(&match tables(connection) {
                Ok(names) if names.is_empty() => " The database has no tables.".to_owned(),
                Ok(names) => format!(" Tables: {}.", names.join(", ")),
                Err(_) => String::new(),
            });
        }
        self.failure
    }
}

impl From<Explained> for ToolFailure {
    fn from(explained: Explained) -> Self {
        explained.failure
    }
}

/// Explains an error. `refusal` is the authorizer's refusal, if any; `sql` is all of the call's SQL.
pub(super) fn explained(
    error: &Error,
    place: ErrorPlace<'_>,
    refusal: Option<String>,
    sql: &str,
) -> Explained {
    let name = place.name;
    if let Some(why) = refusal.filter(|_| is_refusal(error)) {
        return plain(ToolFailure::denied(format!(
            "{name}: the statement is refused: {why}."
        )));
    }
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return plain(stopped(place));
    }
    let (what, at) = match error {
        Error::SqlInputError {
            msg,
            sql: rest,
            offset,
            ..
        } => (msg.clone(), position(sql, rest, *offset)),
        Error::SqliteFailure(_, Some(message)) => (message.clone(), String::new()),
        Error::Utf8Error(..) => (
            "its schema has names that are not UTF-8".to_owned(),
            String::new(),
        ),
        error => (error.to_string(), String::new()),
    };
    Explained {
        failure: ToolFailure::failed(format!("{name}{at}: {what}{}.", hint(error, place))),
        lacks_table: what.starts_with("no such table"),
    }
}

/// Returns whether the authorizer caused an error. For functions, SQLite reveals that only in the message.
fn is_refusal(error: &Error) -> bool {
    let by_code = error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied);
    by_code || matches!(error, Error::SqlInputError { msg, .. } if msg.starts_with("not authorized"))
}

fn plain(failure: ToolFailure) -> Explained {
    Explained {
        failure,
        lacks_table: false,
    }
}

fn stopped(place: ErrorPlace<'_>) -> ToolFailure {
    if !place.stop.timed_out() {
        return ToolFailure::interrupted();
    }
    let undone = match place.used_for {
        DatabaseUse::Write => " Nothing was changed.",
        DatabaseUse::Read => "",
    };
    ToolFailure::failed(format!(
        "{}: the statement took more than {:?}; ask for less, or use an index.{undone}",
        place.name, place.options.timeout
    ))
}

/// Returns advice about an error, as the end of a sentence.
fn hint(error: &Error, place: ErrorPlace<'_>) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => " (the file does not start like a SQLite file, or it is encrypted)".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!(" by another program for {:?}; try again later", place.options.lock_wait)
        }
        Some(ErrorCode::TooBig) => {
            let most = crate::text::size(u64::try_from(place.options.sqlite_value_bytes).unwrap_or(0));
            format!("; a value may have {most}")
        }
        Some(ErrorCode::ReadOnly) if place.used_for == DatabaseUse::Read => {
            "; query opens files for reading only, and this one may have to be repaired by a program that writes".into()
        }
        Some(ErrorCode::CannotOpen) => "; the file or its directory may not be readable".into(),
        _ => String::new(),
    }
}

/// Returns the line and the column of an error. `rest` is the SQL from the failing statement to the end.
fn position(sql: &str, rest: &str, offset: i32) -> String {
    let begins = sql.len().saturating_sub(rest.len());
    let at = begins + usize::try_from(offset).unwrap_or(0);
    let before = crate::text::floor_char(sql, at);
    let before = &sql[..before];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!(", line {line}, column {column} of the SQL")
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name LIMIT ?1";
    let most = i64::try_from(LISTED_TABLES).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([most], |row| row.get(0))?;
    names.collect()
}
