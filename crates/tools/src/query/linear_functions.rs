//! SQL functions whose time grows with the length of their arguments. They replace SQLite's own, whose time
//! grows with the product of two lengths: a single call of `instr` on two values of some megabytes takes a
//! minute, and nothing can stop it, because SQLite checks a time limit only between its instructions.
//!
//! The results follow <https://www.sqlite.org/lang_corefunc.html>, except that a number with a fraction is
//! written as in Rust.

use std::borrow::Cow;
use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// The functions depend only on their arguments, and may be used in a schema.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Registers the functions. `longest` is the maximum length of a value in bytes.
pub(super) fn register(connection: &Connection, longest: usize) -> Result<()> {
    connection.create_scalar_function("instr", 2, FLAGS, position)?;
    connection.create_scalar_function("replace", 3, FLAGS, move |context| replaced(context, longest))?;
    for (name, at_start, at_end) in [
        ("trim", true, true),
        ("ltrim", true, false),
        ("rtrim", false, true),
    ] {
        connection
            .create_scalar_function(name, 2, FLAGS, move |context| trimmed(context, at_start, at_end))?;
    }
    Ok(())
}

/// `instr(X, Y)`: the position of Y in X from 1, in bytes for two blobs, otherwise in characters; 0 if Y does
/// not occur.
fn position(context: &Context<'_>) -> Result<Option<i64>> {
    let (whole, part) = (context.get_raw(0), context.get_raw(1));
    if let (ValueRef::Blob(whole), ValueRef::Blob(part)) = (whole, part) {
        let found = memchr::memmem::find(whole, part);
        return Ok(Some(found.map_or(0, |at| count(at) + 1)));
    }
    let (Some(whole), Some(part)) = (text(whole), text(part)) else {
        return Ok(None);
    };
    let found = memchr::memmem::find(whole.as_bytes(), part.as_bytes());
    Ok(Some(found.map_or(0, |at| count(whole[..at].chars().count()) + 1)))
}

/// `replace(X, Y, Z)`: X with Z for each Y.
fn replaced(context: &Context<'_>, longest: usize) -> Result<Option<String>> {
    let arguments = (
        text(context.get_raw(0)),
        text(context.get_raw(1)),
        text(context.get_raw(2)),
    );
    let (Some(whole), Some(part), Some(with)) = arguments else {
        return Ok(None);
    };
    if part.is_empty() {
        return Ok(Some(whole.into_owned()));
    }
    let (mut result, mut done) = (String::new(), 0);
    for at in memchr::memmem::find_iter(whole.as_bytes(), part.as_bytes()) {
        result.push_str(&whole[done..at]);
        result.push_str(&with);
        done = at + part.len();
        if result.len() > longest {
            return Err(Error::UserFunctionError("string or blob too big".into()));
        }
    }
    result.push_str(&whole[done..]);
    Ok(Some(result))
}

/// `trim(X, Y)`, `ltrim(X, Y)` and `rtrim(X, Y)`: X without the characters of Y at its ends.
fn trimmed(context: &Context<'_>, at_start: bool, at_end: bool) -> Result<Option<String>> {
    let (Some(whole), Some(set)) = (text(context.get_raw(0)), text(context.get_raw(1))) else {
        return Ok(None);
    };
    let set: HashSet<char> = set.chars().collect();
    let mut rest = &*whole;
    if at_start {
        rest = rest.trim_start_matches(|c| set.contains(&c));
    }
    if at_end {
        rest = rest.trim_end_matches(|c| set.contains(&c));
    }
    Ok(Some(rest.to_owned()))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the text of a value; `None` for NULL.
fn text(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into()),
        ValueRef::Real(number) => Some(format!("{number:?}").into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}
