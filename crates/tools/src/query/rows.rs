//! Formats rows for the model: one JSON array with the column names, and one for each row. So a text is never
//! mistaken for a number or for NULL, and line ends in values do not end a row.

use agentx_types::hex;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use serde_json::{Value, json};

use crate::text;

/// The number of bytes of a blob that are shown.
const SHOWN_BLOB: usize = 32;

/// Returns the line with the column names.
pub(super) fn header(statement: &Statement<'_>) -> String {
    let names: Vec<&str> = statement.column_names().collect();
    format!("{}\n", json!(names))
}

/// Returns the line of a row. A value longer than `value_bytes` is cut, with a note.
pub(super) fn line(row: &Row<'_>, columns: usize, value_bytes: usize) -> rusqlite::Result<String> {
    let values = (0..columns).map(|column| Ok(shown(row.get_ref(column)?, value_bytes)));
    let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
    Ok(format!("{}\n", Value::Array(values)))
}

fn shown(value: ValueRef<'_>, value_bytes: usize) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) if number.is_finite() => number.into(),
        ValueRef::Real(number) => number.to_string().into(),
        ValueRef::Text(bytes) => shown_text(bytes, value_bytes).into(),
        ValueRef::Blob(bytes) => {
            let start = hex(bytes.get(..SHOWN_BLOB).unwrap_or(bytes));
            let more = if bytes.len() > SHOWN_BLOB { "…" } else { "" };
            json!({ "blob_bytes": bytes.len(), "hex": format!("{start}{more}") })
        }
    }
}

fn shown_text(bytes: &[u8], most: usize) -> String {
    // A cut inside a character leaves at most 3 bytes of it, which are counted as left out.
    let (start, is_whole) = match bytes.get(..most) {
        Some(start) if bytes.len() > most => (start, false),
        _ => (bytes, true),
    };
    let (read, _) = text::lossy(start);
    if is_whole {
        return read.into_owned();
    }
    let read = read.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let left_out = bytes.len().saturating_sub(read.len());
    format!("{read}… [{left_out} more bytes in this value]")
}
