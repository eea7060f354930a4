//! Binds the values of a call to the parameters of its statement.

use rusqlite::Statement;
use rusqlite::types::Value as SqlValue;
use serde_json::Value;

use crate::failure::ToolFailure;
use crate::text;

/// Binds the values. Their number must be that of the parameters.
///
/// # Errors
/// Returns `Invalid` if the number differs, or a value is a list or an object.
pub(super) fn bind(statement: &mut Statement<'_>, values: &[Value]) -> Result<(), ToolFailure> {
    let wanted = statement.parameter_count();
    if wanted != values.len() {
        return Err(ToolFailure::invalid(format!(
            "The statement has {}, and the call gives {}.",
            text::count(wanted, "parameter"),
            text::count(values.len(), "value")
        )));
    }
    for (index, value) in values.iter().enumerate() {
        let number = index + 1;
        let value = sql_value(value).ok_or_else(|| {
            ToolFailure::invalid(format!(
                "parameters[{index}] is a list, an object or a number beyond 64 bits; give a text, a number, true, false or null."
            ))
        })?;
        statement.raw_bind_parameter(number, value).map_err(|error| {
            ToolFailure::failed(format!("The value of parameter {number} does not fit: {error}."))
        })?;
    }
    Ok(())
}

fn sql_value(value: &Value) -> Option<SqlValue> {
    match value {
        Value::Null => Some(SqlValue::Null),
        Value::Bool(value) => Some(SqlValue::Integer(i64::from(*value))),
        Value::String(value) => Some(SqlValue::Text(value.clone())),
        Value::Number(value) if value.is_u64() || value.is_i64() => value.as_i64().map(SqlValue::Integer),
        Value::Number(value) => value.as_f64().map(SqlValue::Real),
        Value::Array(_) | Value::Object(_) => None,
    }
}
