//! Reads the rows of one statement, in a transaction that can change nothing, and writes them as text for the
//! model: a JSON array with the names of the columns, and a JSON array for each row.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::tls::NoTls;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Connection, Error, SimpleQueryMessage, Statement};

use crate::address::{DatabaseAddress, DatabasePlace};
use crate::connection::{BoundedSocket, Encryption};
use crate::options::DatabaseQueryOptions;

/// The result of a call.
pub(crate) struct DatabaseAnswer {
    pub(crate) text: String,
    pub(crate) rows: usize,
    /// Whether there are more rows.
    pub(crate) is_cut: bool,
}

/// Connects, reads the rows, and closes the connection.
///
/// # Errors
/// Returns the reason in words, without the address.
pub(crate) async fn read(
    address: &DatabaseAddress,
    sql: &str,
    limit: usize,
    options: &DatabaseQueryOptions,
) -> Result<DatabaseAnswer, String> {
    let socket = BoundedSocket::dial(&address.place, options.received_bytes).await;
    let socket = socket.map_err(|error| format!("it cannot be reached: {error}"))?;
    let config = &address.config;
    if !address.is_encrypted {
        let (client, connection) = config.connect_raw(socket, NoTls).await.map_err(in_words)?;
        return answer_over(client, connection, sql, limit, options).await;
    }
    let DatabasePlace::Tcp { host, .. } = address.place.clone() else {
        return Err("a socket of this machine has no TLS".to_owned());
    };
    let encryption = tokio::task::spawn_blocking(move || Encryption::with(&host)).await;
    let encryption = encryption.map_err(|error| error.to_string())??;
    let (client, connection) = config.connect_raw(socket, encryption).await.map_err(in_words)?;
    answer_over(client, connection, sql, limit, options).await
}

async fn answer_over<S, T>(
    client: Client,
    connection: Connection<S, T>,
    sql: &str,
    limit: usize,
    options: &DatabaseQueryOptions,
) -> Result<DatabaseAnswer, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    tokio::select! {
        biased;
        answer = answer(&client, sql, limit, options) => answer,
        ended = connection => Err(match ended {
            Err(error) => in_words(error),
            Ok(()) => "it closed the connection".to_owned(),
        }),
    }
}

async fn answer(
    client: &Client,
    sql: &str,
    limit: usize,
    options: &DatabaseQueryOptions,
) -> Result<DatabaseAnswer, String> {
    client
        .batch_execute(&beginning(options.timeout))
        .await
        .map_err(in_words)?;
    // A text with several statements cannot be prepared, so what runs afterwards is this one alone.
    let statement = client.prepare(sql).await.map_err(in_words)?;
    if !statement.params().is_empty() {
        return Err("the statement has parameters such as $1; write the values into it".to_owned());
    }
    if statement.columns().is_empty() {
        return Err(
            "the statement returns no rows, so it is not run; only statements that read are".to_owned(),
        );
    }
    let mut shown = ShownRows::new(&statement, limit, options);
    let messages = client.simple_query_raw(sql).await.map_err(in_words)?;
    let mut messages = pin!(messages);
    while let Some(message) = messages.next().await {
        if let SimpleQueryMessage::Row(row) = message.map_err(in_words)? {
            let values = (0..row.len()).map(|column| row.try_get(column).unwrap_or_default());
            if !shown.add(values) {
                // The server ends the transaction when the connection is gone.
                return Ok(shown.finish(true));
            }
        }
    }
    // The connection ends anyway; this keeps a warning out of the log of the server.
    let _ = client.batch_execute("ROLLBACK").await;
    Ok(shown.finish(false))
}

/// The statements before that of the call.
fn beginning(timeout: Duration) -> String {
    let milliseconds = timeout.as_millis().max(1);
    format!(
        "BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}; SET LOCAL lock_timeout = {milliseconds}"
    )
}

/// The error for the model: what PostgreSQL says, or the innermost reason.
fn in_words(error: Error) -> String {
    if let Some(said) = error.as_db_error() {
        let hint = said.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return format!("{}{hint}", said.message());
    }
    let mut words = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(inner) = next {
        words = inner.to_string();
        next = inner.source();
    }
    words
}

/// The rows that are shown, up to the bounds.
struct ShownRows {
    text: String,
    kinds: Vec<Type>,
    rows: usize,
    limit: usize,
    most_bytes: usize,
    value_bytes: usize,
}

impl ShownRows {
    fn new(statement: &Statement, limit: usize, options: &DatabaseQueryOptions) -> Self {
        let names: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
        let kinds = statement.columns().iter().map(|column| column.type_().clone());
        Self {
            text: format!("{}\n", json!(names)),
            kinds: kinds.collect(),
            rows: 0,
            limit,
            most_bytes: options.shown_bytes,
            value_bytes: options.value_bytes,
        }
    }

    /// Adds a row. Returns whether there was room for it.
    fn add<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) -> bool {
        if self.rows >= self.limit {
            return false;
        }
        let cells = values
            .zip(&self.kinds)
            .map(|(value, kind)| value.map_or(Value::Null, |value| shown(value, kind, self.value_bytes)));
        let line = format!("{}\n", Value::Array(cells.collect()));
        if self.text.len() + line.len() > self.most_bytes {
            return false;
        }
        self.text.push_str(&line);
        self.rows += 1;
        true
    }

    fn finish(mut self, is_cut: bool) -> DatabaseAnswer {
        let rows = match self.rows {
            1 => "1 row".to_owned(),
            rows => format!("{rows} rows"),
        };
        self.text.push_str(&if is_cut {
            format!("[{rows}; there are more: ask for fewer columns, or set limit]\n")
        } else {
            format!("[{rows}]\n")
        });
        DatabaseAnswer {
            text: self.text,
            rows: self.rows,
            is_cut,
        }
    }
}

/// A value as the model reads it. Numbers that JSON cannot hold exactly stay texts.
fn shown(value: &str, kind: &Type, most: usize) -> Value {
    let number = match *kind {
        Type::INT2 | Type::INT4 | Type::INT8 => value.parse::<i64>().ok().map(Value::from),
        Type::FLOAT4 | Type::FLOAT8 => value
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Value::from),
        Type::BOOL => Some(Value::Bool(value == "t")),
        _ => None,
    };
    if let Some(number) = number {
        return number;
    }
    if value.len() <= most {
        return value.into();
    }
    let start = &value[..value.floor_char_boundary(most)];
    format!(
        "{start}… [{} more bytes in this value]",
        value.len() - start.len()
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_kind_of_their_column() {
        for (value, kind, expected) in [
            ("7", Type::INT8, json!(7)),
            ("1.5", Type::FLOAT8, json!(1.5)),
            ("NaN", Type::FLOAT8, json!("NaN")),
            ("t", Type::BOOL, json!(true)),
            ("12.5", Type::NUMERIC, json!("12.5")),
            ("7", Type::TEXT, json!("7")),
            ("ééé", Type::TEXT, json!("éé… [2 more bytes in this value]")),
        ] {
            assert_eq!(shown(value, &kind, 5), expected, "{value}");
        }
    }

    #[test]
    fn a_call_begins_a_transaction_that_reads_and_ends() {
        let begins = beginning(Duration::from_secs(10));
        assert!(begins.starts_with("BEGIN READ ONLY; "), "{begins}");
        assert!(begins.contains("statement_timeout = 10000"), "{begins}");
    }
}
