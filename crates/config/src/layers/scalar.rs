//! Reads a single value of a YAML file as the kind that its key takes.

use crate::layers::value::{Value, ValueKind, from_words, money, price};
use crate::yaml::Yaml;

/// Reads a scalar value.
///
/// # Errors
/// Returns the problem, and the nearest valid word if there is one.
pub fn scalar(kind: ValueKind, value: &Yaml) -> Result<Value, (String, Option<String>)> {
    let wrong = |near| {
        Err((
            format!("expected {}, found {}", kind.expects(), value.found()),
            near,
        ))
    };
    match (kind, value) {
        (_, Yaml::Text(words)) => from_words(kind, words),
        (ValueKind::OrNone(inner), value) => scalar(*inner, value).or_else(|(_, near)| wrong(near)),
        (ValueKind::Money, number) => amount(number)
            .and_then(money)
            .map_or_else(|| wrong(None), |usd| Ok(Value::Money(usd))),
        (ValueKind::Price, number) => amount(number)
            .and_then(price)
            .map_or_else(|| wrong(None), |usd| Ok(Value::Money(usd))),
        (ValueKind::Count, Yaml::Int(count)) if *count >= 0 => Ok(Value::Count(count.unsigned_abs())),
        (ValueKind::Temperature, number) => {
            match amount(number).filter(|n| *n <= crate::layers::value::MOST_TEMPERATURE) {
                Some(number) => Ok(Value::Number(number)),
                None => wrong(None),
            }
        }
        (ValueKind::Duration, Yaml::Int(seconds)) if *seconds >= 0 => wrong(Some(format!("{seconds}s"))),
        (ValueKind::Text, Yaml::Int(number)) => wrong(Some(format!("\"{number}\""))),
        // YAML reads a bare `off` as false; here it means the word.
        (ValueKind::Choice(words), Yaml::Bool(false)) if words.contains(&"off") => {
            Ok(Value::Text("off".into()))
        }
        (ValueKind::Choice(words), Yaml::Bool(yes)) if words.contains(&"true") => {
            Ok(Value::Text(yes.to_string()))
        }
        _ => wrong(None),
    }
}

fn amount(value: &Yaml) -> Option<f64> {
    let number = match value {
        Yaml::Int(number) => *number as f64,
        Yaml::Float(number) => *number,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}
