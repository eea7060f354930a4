//! Runs the statements of a call one after another, and keeps the output within the limits.

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::{Batch, Statement};

use super::authorizer::DatabaseUse;
use super::explained_error::{ErrorPlace, explained};
use super::opened_database::OpenedDatabase;
use super::options::{QueryInput, QueryOptions};
use super::{parameters, rows};
use crate::failure::ToolFailure;
use crate::text;

/// The answer to a call.
#[derive(Default)]
pub(super) struct QueryAnswer {
    pub(super) text: String,
    /// The number of shown rows.
    pub(super) rows: u64,
    /// Whether rows are left out.
    pub(super) cut: bool,
    /// The number of changed rows.
    pub(super) changed: u64,
}

/// Runs the SQL of a call.
///
/// # Errors
/// Returns an error with its position in the SQL, or the limit that was reached.
pub(super) fn run(
    database: &OpenedDatabase,
    input: &QueryInput,
    options: &QueryOptions,
) -> Result<QueryAnswer, ToolFailure> {
    let place = ErrorPlace {
        name: &database.name,
        used_for: database.used_for,
        stop: &database.stop,
        options,
    };
    let explain = |error: &rusqlite::Error| {
        explained(error, place, database.refusal.take(), &input.sql).with_tables(&database.connection)
    };
    let values = input.parameters.as_deref().unwrap_or_default();
    let mut batch = Batch::new(&database.connection, &input.sql);
    let mut next = batch.next().map_err(|error| explain(&error))?;
    let mut answer = QueryAnswer::default();
    let mut number = 0;
    while let Some(mut statement) = next {
        number += 1;
        check_statement(database, &statement)?;
        if database.used_for == DatabaseUse::Write || !values.is_empty() {
            // The next statement is compiled before anything runs, so that a call with two statements does
            // nothing.
            next = batch.next().map_err(|error| explain(&error))?;
            check_is_single(database, next.is_some())?;
        } else {
            next = None;
        }
        parameters::bind(&mut statement, values)?;
        if number > 1 {
            answer.text.push('\n');
        }
        let shown = show(&mut statement, &mut answer, input, options);
        shown.map_err(|error| explain(&error))?;
        let changes = statement.is_explain() == 0 && !statement.readonly();
        drop(statement);
        if database.used_for == DatabaseUse::Write {
            note_changes(database, changes, &mut answer);
        } else if next.is_none() {
            next = batch.next().map_err(|error| explain(&error))?;
        }
        if answer.cut && answer.text.len() >= options.shown_bytes && next.is_some() {
            answer
                .text
                .push_str("[the statements after this one were not run: there is no room for their rows]\n");
            break;
        }
    }
    if number == 0 {
        return Err(ToolFailure::invalid("The SQL has no statement."));
    }
    Ok(answer)
}

/// Refuses a statement that writes if the call may only read.
fn check_statement(database: &OpenedDatabase, statement: &Statement<'_>) -> Result<(), ToolFailure> {
    let writes = statement.is_explain() == 0 && !statement.readonly();
    if database.used_for == DatabaseUse::Read && writes {
        return Err(ToolFailure::denied(format!(
            "{}: the statement changes the database, and query only reads; nothing was changed.",
            database.name
        )));
    }
    Ok(())
}

fn check_is_single(database: &OpenedDatabase, has_more: bool) -> Result<(), ToolFailure> {
    match (has_more, database.used_for) {
        (false, _) => Ok(()),
        (true, DatabaseUse::Write) => Err(ToolFailure::invalid(
            "query_write takes one statement a call, and the SQL has more; nothing was changed.",
        )),
        (true, DatabaseUse::Read) => Err(ToolFailure::invalid(
            "parameters belong to a single statement, and the SQL has more; ask for them one by one.",
        )),
    }
}

/// Runs a statement and adds its rows to the answer. A statement that writes runs to its end even if it
/// returns too many rows to show.
fn show(
    statement: &mut Statement<'_>,
    answer: &mut QueryAnswer,
    input: &QueryInput,
    options: &QueryOptions,
) -> rusqlite::Result<()> {
    let limit = input
        .limit
        .map_or(options.rows, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let limit = limit.clamp(1, options.max_rows);
    let columns = statement.column_count();
    let header = if columns > 0 {
        rows::header(statement)
    } else {
        String::new()
    };
    let must_end = !statement.readonly();
    let (mut shown, mut left_out) = (0, None);
    answer.text.push_str(&header);
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        if left_out.is_some() {
            continue;
        }
        let line = rows::line(row, columns, options.value_bytes)?;
        if shown == limit {
            left_out = Some("limit");
        } else if answer.text.len() + line.len() > options.shown_bytes {
            left_out = Some("size");
        } else {
            answer.text.push_str(&line);
            shown += 1;
        }
        if left_out.is_some() && !must_end {
            break;
        }
    }
    answer.rows += shown as u64;
    answer.cut |= left_out.is_some();
    if columns > 0 {
        answer.text.push_str(&note(shown, left_out, limit, options));
    }
    Ok(())
}

fn note(shown: usize, left_out: Option<&str>, limit: usize, options: &QueryOptions) -> String {
    let rows = text::count(shown, "row");
    match left_out {
        None => format!("[{rows}]\n"),
        Some("limit") if limit == options.max_rows => format!(
            "[the first {rows}; there are more, and limit is at most {limit}: use WHERE, OFFSET or an aggregate]\n"
        ),
        Some("limit") => {
            format!("[the first {rows}; there are more: raise limit, or use WHERE, OFFSET or an aggregate]\n")
        }
        Some(_) => format!(
            "[the first {rows}; there are more, but {} are shown at most: select fewer columns or rows]\n",
            text::size(options.shown_bytes as u64)
        ),
    }
}

fn note_changes(database: &OpenedDatabase, changes: bool, answer: &mut QueryAnswer) {
    let changed = if changes {
        database.connection.total_changes()
    } else {
        0
    };
    answer.changed = changed;
    answer.text.push_str(&match changed {
        0 if changes => "Done; no row was changed.\n".to_owned(),
        0 => "Done; nothing was changed.\n".to_owned(),
        1 => "Done; 1 row was changed.\n".to_owned(),
        changed => format!("Done; {changed} rows were changed, those of triggers and cascades included.\n"),
    });
}
